/* ---- samples: a table, linked with the scatter, and the contributions to each decision ---- */
/** One sample is selected at a time, wherever it was clicked. */
const selection = { listeners: [], chosen: null,
  set(i) { this.chosen = i; this.listeners.forEach((listen) => listen(i)); } };

/** Contributions of the largest features to a decision, from the base value to the decision. */
function waterfall(data, shared, row, i) {
  const part = data.rows[row];
  const n = data.count;
  const steps = [["Base value", null, part.base[i]]];
  let sum = part.base[i];
  for (let j = i * n; j < (i + 1) * n; j += 1) {
    const place = part.feature[j];
    if (place < 0) continue;
    const given = part.given[j];
    steps.push([data.features[place], given === null ? "missing" : given, part.value[j]]);
    sum += part.value[j];
  }
  steps.push([`All other features (${data.total - steps.length + 1})`, null, part.decision[i] - sum]);
  let [at, low, high] = [0, 0, 0];
  const spans = steps.map(([, , value]) => {
    const from = at;
    at += value;
    [low, high] = [Math.min(low, at), Math.max(high, at)];
    return [from, at];
  });
  spans.push([0, at]);
  steps.push(["Decision", null, at]);
  const wide = high - low || 1;
  const place = (v) => `${(100 * (v - low) / wide).toFixed(2)}%`;
  const table = make("table", { class: "waterfall", role: "table" });
  const head = make("tr", { role: "row" });
  const ends = make("td", { class: "bar", role: "cell", "aria-hidden": "true" });
  ends.append(make("span", {}, `\u2190 ${part.left}`), make("span", {}, `${part.right} \u2192`));
  head.append(make("th", { scope: "col", role: "columnheader" }, "Feature"), ends,
    make("th", { scope: "col", role: "columnheader", class: "num" }, "Contribution"));
  const top = make("thead", { role: "rowgroup" });
  top.append(head);
  const lines = make("tbody", { role: "rowgroup" });
  steps.forEach(([name, given, value], k) => {
    const line = make("tr", { role: "row", ...(k === 0 || k === steps.length - 1 ? { class: "total" } : {}) });
    const heading = breakable(make("th", { scope: "row", role: "rowheader" }), name);
    if (given !== null) heading.append(" ", make("span", { class: "muted" }, `= ${String(given).replace("-", "\u2212")}`));
    const cell = make("td", { class: "bar", role: "cell", "aria-hidden": "true" });
    const track = make("span", { class: "fall" });
    const zero = make("b");
    zero.style.left = place(0);
    const bar = make("i", { class: value < 0 ? "negative" : "positive" });
    bar.style.left = place(Math.min(...spans[k]));
    bar.style.width = `${(100 * Math.abs(spans[k][1] - spans[k][0]) / wide).toFixed(2)}%`;
    track.append(zero, bar);
    cell.append(track);
    const signed = `${value > 0 ? "+" : ""}${written(value, 3)}`;
    line.append(heading, cell, make("td", { class: "num", role: "cell", "data-value": value }, signed));
    lines.append(line);
  });
  table.append(make("caption", {}, `Contributions to ${part.name} relative to the training mean, largest first. `
    + "Base value and contributions add up to the decision of the model fitted to all samples."), top, lines);
  return table;
}

/** Classes, predictions and contributions of the selected sample. */
function details(host, data, parts) {
  const choose = make("select");
  if (parts) parts.rows.forEach((row, k) => choose.append(make("option", { value: k }, row.name)));
  function show(i) {
    if (i === null) return;
    const facts = data.tasks.map((task) => {
      const truth = task.classes[task.codes[i]] ?? "unknown";
      const said = task.predicted && task.predicted[i] >= 0
        ? `, predicted ${task.classes[task.predicted[i]]} when held out` : "";
      const chance = task.probability && task.probability[i] !== null
        ? ` (${task.of}: ${written(task.probability[i])})` : "";
      return `${task.name}: ${truth}${said}${chance}`;
    });
    const list = make("ul");
    list.append(...facts.map((text) => breakable(make("li"), text)));
    host.replaceChildren(breakable(make("h3", { tabindex: "-1" }), `Sample ${data.samples[i]}`), list);
    if (parts) {
      if (parts.rows.length > 1) {
        const bar = make("div", { class: "tools" });
        labelled(bar, "Decision", choose);
        host.append(bar);
      }
      const region = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Contributions" });
      region.append(waterfall(parts, data, Number(choose.value || 0), i));
      host.append(region);
    } else host.append(make("p", { class: "muted" }, host.dataset.without));
    host.hidden = false;
  }
  choose.addEventListener("change", () => { show(selection.chosen); choose.focus(); });
  selection.listeners.push(show);
}

function samplesTable(host, data) {
  const wrong = (task, i) => task.predicted && task.codes[i] >= 0 && task.predicted[i] >= 0
    && task.predicted[i] !== task.codes[i];
  const held = data.tasks.some((task) => task.predicted);
  const only = make("input", { type: "checkbox" });
  const controls = [];
  if (held) {
    const label = make("label");
    label.append(only, " Misclassified only");
    controls.push(label);
  }
  const columns = [{ title: "Sample", value: (i) => data.samples[i] }];
  for (const task of data.tasks) {
    columns.push({ title: task.name, value: (i) => task.classes[task.codes[i]] ?? "" ,
      text: (i) => task.classes[task.codes[i]] ?? "unknown" });
    if (!task.predicted) continue;
    columns.push({ title: task.said, value: (i) => task.classes[task.predicted[i]] ?? "",
      node: (i) => {
        const node = make("span", wrong(task, i) ? { class: "wrong" } : {});
        if (wrong(task, i)) node.append(make("span", { "aria-hidden": "true" }, "\u2717 "), make("span", { class: "hidden" }, "misclassified: "));
        breakable(node, task.classes[task.predicted[i]] ?? "\u2013");
        return node;
      } });
    if (task.probability) {
      columns.push({ title: task.of, numeric: true, value: (i) => task.probability[i] ?? "",
        text: (i) => (task.probability[i] === null ? "\u2013" : written(task.probability[i])) });
    }
  }
  const table = paged(host, {
    name: "samples", kind: "stacked", label: "Samples", caption: host.dataset.caption, columns, controls,
    rows: () => [...data.samples.keys()].filter((i) => !only.checked || data.tasks.some((task) => wrong(task, i))),
    searched: (i) => [data.samples[i], ...data.tasks.map((task) => task.classes[task.codes[i]] ?? "unknown")].join(" "),
    onRow: (i) => selection.set(i),
  });
  only.addEventListener("change", () => table.refresh());
  selection.listeners.push((i) => table.choose(i));
}
