/* ---- tables of any length: drawn from data, one page at a time ---- */
const ROWS_A_PAGE = 25;

/** Bar around a zero line: `share` of half the width, to the right if it is positive. */
function signedBar(share) {
  const track = make("span", { class: "track", "aria-hidden": "true" });
  const bar = make("i", { class: share < 0 ? "negative" : "positive" });
  bar.style.width = `${Math.min(50, Math.abs(50 * share)).toFixed(1)}%`;
  track.append(bar);
  return track;
}

/** A table with search, sorting, pages and download.

    Columns have `title`, `value(i)` (for sorting and saving; "" if unknown), and optionally
    `text(i)`, `node(i)`, `numeric`, `bar` and `shown` (drawn, not saved), `saved` (not drawn) and `more` (hidden on a phone).
    `kind` is the class of the table, `rows()` gives the indices of all rows; `onRow(i)` makes rows selectable. */
function paged(host, { name, label, caption, columns, rows, searched, onRow, kind = "", controls = [] }) {
  const bar = make("div", { class: "tools" });
  const input = searchBox(bar, "Search");
  const count = make("span", { class: "muted count", role: "status" });
  const button = make("button", { type: "button" }, "Download CSV");
  bar.append(...controls, count, button);
  const region = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label });
  const table = make("table", { class: `paged ${kind}`, role: "table" });
  const head = make("tr", { role: "row" });
  const lines = make("tbody", { role: "rowgroup" });
  const top = make("thead", { role: "rowgroup" });
  top.append(head);
  table.append(make("caption", {}, caption), top, lines);
  region.append(table);
  const pager = make("div", { class: "pager" });
  const [back, on] = ["Previous", "Next"].map((text) => make("button", { type: "button" }, text));
  const where = make("span", { class: "muted", role: "status" });
  pager.append(back, where, on);
  host.append(bar, region, pager);
  const drawn = columns.filter((column) => !column.saved);
  let [page, sorted, down, found, chosen] = [0, null, false, [], null];

  function order() {
    const wanted = input.value.trim().toLowerCase();
    found = rows().filter((i) => !wanted || searched(i).toLowerCase().includes(wanted));
    if (!sorted) return;
    const keys = new Map(found.map((i) => [i, sorted.value(i)]));
    found.sort((a, b) => {
      const [one, other] = [keys.get(a), keys.get(b)];
      // Unknown values come last in either order.
      if (one === "" || other === "") return (one === "") - (other === "");
      const apart = sorted.numeric ? one - other
        : String(one).localeCompare(String(other), "en", { numeric: true });
      return down ? -apart : apart;
    });
  }
  function cellOfColumn(column, i, first) {
    const cell = make(first ? "th" : "td", first ? { scope: "row", role: "rowheader" }
      : { role: "cell", ...(column.title ? { "data-label": column.title } : {}) });
    if (column.numeric) cell.classList.add("num");
    if (column.bar) cell.classList.add("bar");
    if (column.more) cell.classList.add("more");
    if (column.bar) cell.setAttribute("aria-hidden", "true");
    if (column.node) cell.append(column.node(i));
    else breakable(cell, column.text ? column.text(i) : column.value(i));
    return cell;
  }
  function render() {
    const pages = Math.max(1, Math.ceil(found.length / ROWS_A_PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const shown = found.slice(page * ROWS_A_PAGE, (page + 1) * ROWS_A_PAGE);
    lines.replaceChildren(...shown.map((i) => {
      const row = make("tr", { role: "row", "data-row": i });
      drawn.forEach((column, place) => row.append(cellOfColumn(column, i, place === 0)));
      if (i === chosen) row.classList.add("chosen");
      if (onRow) {
        const pick = make("button", { type: "button", class: "pick", "aria-pressed": String(i === chosen) });
        pick.append(...row.firstChild.childNodes);
        row.firstChild.append(pick);
        row.addEventListener("click", () => onRow(i));
      }
      return row;
    }));
    const all = rows().length;
    count.textContent = found.length === all ? `${all} rows` : `${found.length} of ${all} rows`;
    where.textContent = `Page ${page + 1} of ${pages}`;
    [back.disabled, on.disabled, pager.hidden] = [page === 0, page === pages - 1, pages === 1];
  }
  function refresh() { page = 0; order(); render(); }
  drawn.forEach((column) => {
    if (column.bar) {
      head.append(make("td", { class: "bar", role: "cell", "aria-hidden": "true" }));
      return;
    }
    const heading = make("th", { scope: "col", role: "columnheader" });
    if (column.numeric) heading.classList.add("num");
    if (column.more) heading.classList.add("more");
    const sort = make("button", { type: "button", class: "sort" }, column.title);
    heading.append(sort);
    head.append(heading);
    sort.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      // Readers mostly look for large numbers, so sort them first.
      down = now ? now === "ascending" : Boolean(column.numeric);
      for (const other of head.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      sorted = column;
      refresh();
    });
  });
  input.addEventListener("input", refresh);
  back.addEventListener("click", () => { page -= 1; render(); });
  on.addEventListener("click", () => { page += 1; render(); });
  button.addEventListener("click", () => {
    const kept = columns.filter((column) => !column.bar && !column.shown);
    const text = [kept.map((column) => column.title), ...found.map((i) => kept.map((one) => one.value(i)))];
    save(`${name}.csv`, `${text.map(csvLine).join("\r\n")}\r\n`);
  });
  refresh();
  return {
    refresh,
    /** Mark a row, and turn to its page. */
    choose(i) {
      chosen = i;
      const place = found.indexOf(i);
      if (place >= 0) page = Math.floor(place / ROWS_A_PAGE);
      render();
    },
  };
}
