/* ---- hints beside the pointer ---- */
const hint = make("div", { class: "hint", role: "tooltip", hidden: "" });
function showHint(text, x, y) {
  hint.textContent = text;
  hint.hidden = false;
  const { width, height } = hint.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
  hint.style.left = `${Math.max(4, left)}px`;
  hint.style.top = `${Math.max(4, top)}px`;
}
const hideHint = () => { hint.hidden = true; };

/** Row and column of a heat map under the pointer, in words. */
function cellOf(image, grid, event) {
  const box = image.getBoundingClientRect();
  const row = Math.floor(((event.clientY - box.top) / box.height) * grid.rows.length);
  const column = Math.floor(((event.clientX - box.left) / box.width) * grid.columns.length);
  const values = grid.values[row];
  if (!values || values[column] === undefined) return "";
  return `${grid.rows[row]}\n${grid.columns[column]}: ${written(values[column])}`;
}
function hints() {
  document.body.append(hint);
  const grids = embedded("grids") || {};
  const look = (event) => {
    if (event.target.closest?.(".plot")) return;
    const image = event.target.closest?.("image");
    const text = image && grids[image.id]
      ? cellOf(image, grids[image.id], event)
      : event.target.closest?.("[data-tip]")?.dataset.tip;
    if (text) showHint(text, event.clientX, event.clientY);
    else hideHint();
  };
  for (const moved of ["pointermove", "pointerdown"]) document.addEventListener(moved, look);
  document.addEventListener("scroll", hideHint, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideHint(); });
}
