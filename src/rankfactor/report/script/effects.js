/* ---- effects of all features on a decision ---- */
function effects(host, data) {
  const controls = [];
  const choose = make("select");
  data.rows.forEach((row, i) => choose.append(make("option", { value: i }, row.name)));
  if (data.rows.length > 1) {
    const label = make("label", {}, "Decision ");
    label.append(choose);
    controls.push(label);
  }
  const sides = make("p", { class: "sides muted" });
  const own = () => data.rows[choose.value || 0];
  const known = (value) => value ?? "";
  const digits = (value, n) => (value === null || value === undefined ? "\u2013" : written(value, n));
  const plainly = (value) => (value === null ? "\u2013" : String(value).replace("-", "\u2212"));
  const columns = [
    { title: "Feature", value: (i) => data.features[i] },
    { title: "Effect", numeric: true, value: (i) => known(own().effect[i]), text: (i) => digits(own().effect[i], 3) },
    { title: "", bar: true, node: (i) => signedBar((own().effect[i] || 0) / own().largest) },
    { title: "Change of probability", more: true, numeric: true, value: (i) => known(own().probability[i]),
      text: (i) => digits(own().probability[i], 3) },
    { title: "Quartiles", more: true, shown: true, numeric: true, value: (i) => known(data.first[i]),
      text: (i) => `${plainly(data.first[i])} to ${plainly(data.third[i])}` },
    { title: "First quartile", saved: true, value: (i) => known(data.first[i]) },
    { title: "Third quartile", saved: true, value: (i) => known(data.third[i]) },
  ];
  if (data.assessed) {
    columns.push(
      { title: data.spread, more: true, numeric: true, value: (i) => known(own().sd[i]), text: (i) => digits(own().sd[i], 3) },
      ...(data.selected ? [{ title: "Selected (%)", numeric: true, value: (i) => known(own().selected[i]),
        text: (i) => digits(own().selected[i], 0) }] : []),
      { title: "Clear", value: (i) => (own().clear[i] ? "yes" : "no") },
    );
  }
  const table = paged(host, {
    name: "effects", kind: "compact", label: "Effects of features", caption: data.caption, columns, controls,
    // Features that are not part of the model have no effect and come last.
    rows: () => own().order,
    searched: (i) => data.features[i],
  });
  function name() {
    sides.textContent = `Negative effects favour ${own().left}, positive ones ${own().right}.`;
  }
  host.prepend(sides);
  name();
  choose.addEventListener("change", () => { name(); table.refresh(); });
}
