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
  const columns = [
    { title: "Feature", value: (i) => data.features[i] },
    { title: "Effect", numeric: true, value: (i) => known(own().effect[i]), text: (i) => digits(own().effect[i], 3) },
    { title: "", bar: true, node: (i) => signedBar((own().effect[i] || 0) / own().largest) },
    { title: "Change of probability", more: true, numeric: true, value: (i) => known(own().probability[i]),
      text: (i) => digits(own().probability[i], 3) },
    ...["first", "third"].map((which) => ({
      title: which === "first" ? "First quartile" : "Third quartile", more: true, numeric: true,
      value: (i) => known(data[which][i]),
      text: (i) => (data[which][i] === null ? "\u2013" : String(data[which][i]).replace("-", "\u2212")),
    })),
  ];
  if (data.assessed) {
    columns.push(
      { title: data.spread, more: true, numeric: true, value: (i) => known(own().sd[i]), text: (i) => digits(own().sd[i], 3) },
      { title: "Selected (%)", numeric: true, value: (i) => known(own().selected[i]),
        text: (i) => digits(own().selected[i], 0) },
      { title: "Clear", value: (i) => (own().clear[i] ? "yes" : "no") },
    );
  }
  const table = paged(host, {
    name: "effects", kind: "compact", label: "Effects of features", caption: data.caption, columns, controls,
    // Those that are not part of the model have no effect, and come last.
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
