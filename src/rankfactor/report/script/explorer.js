/* ---- the score explorer: two factors of the reader's choice ---- */
const EDGE = { left: 52, right: 14, top: 12, bottom: 44 };
const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "M0 -5L4.6 3.6L-4.6 3.6Z", "M-3.7 -3.7h7.4v7.4h-7.4Z",
  "M0 -5.2L5.2 0L0 5.2L-5.2 0Z", "M0 5L4.6 -3.6L-4.6 -3.6Z",
  "M-1.6 -4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2Z",
  "M-4.4 -2.4L-2.4 -4.4L0 -2L2.4 -4.4L4.4 -2.4L2 0L4.4 2.4L2.4 4.4L0 2L-2.4 4.4L-4.4 2.4L-2 0Z",
];
/** Shape and colour of a class; ranges of a number go from pale to dark. */
const lookOf = (code, ordered) => (code < 0 ? [SHAPES[0], "unknown"]
  : ordered ? [SHAPES[0], `q${code % 5}`] : [SHAPES[(code + Math.floor(code / 7)) % 7], `k${code % 7}`]);
function choice(host, title, options, chosen) {
  const select = make("select");
  options.forEach((text, i) => select.append(make("option", { value: i }, text)));
  select.value = chosen;
  return labelled(host, title, select);
}
/** Round numbers between two ends, about five of them, and as text. */
function ticks(low, high) {
  const raw = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find((k) => k * unit >= raw);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) found.push(i * step);
  return found.map((v) => [v, written(v, digits)]);
}

function explorer(host, data) {
  const controls = make("div", { class: "tools" });
  // Labels first, then covariates.
  const colourings = [...data.tasks, ...data.covariates];
  const colour = colourings.length
    ? choice(controls, "Colour by", colourings.map((one) => one.name), 0) : null;
  const [across, up] = ["Across", "Up"].map((title, i) =>
    choice(controls, title, data.factors, data.start[0][i]));
  const find = searchBox(controls, "Find a sample");
  const legend = make("div", { class: "legend", role: "group", "aria-label": "Classes shown" });
  const frame = make("div", { class: "drawing plot", tabindex: "0", role: "application",
    "aria-label": "Scatter of the samples; arrow keys go from sample to sample, Enter selects one" });
  const spoken = make("p", { class: "hidden", role: "status" });
  host.prepend(controls, legend, frame, spoken);
  let [hiddenClasses, points, marked] = [new Set(), [], null];
  let [wide, high] = [0, 0];

  const classOf = (i) => (colour ? colourings[colour.value].codes[i] : 0);
  const look = (code) => lookOf(code, colour && colourings[colour.value].ordered);
  function describe(i) {
    const factors = [...new Set([across.value, up.value])];
    return [
      data.samples[i],
      ...colourings.map(({ name, classes, codes }) => `${name}: ${classes[codes[i]] ?? "unknown"}`),
      ...factors.map((k) => `${data.factors[k]}: ${written(data.scores[k][i])}`),
    ].join("\n");
  }
  function mark(point) {
    if (marked) marked.shape.classList.remove("marked");
    marked = point;
    if (!point) return hideHint();
    point.shape.classList.add("marked");
    const box = frame.querySelector("svg").getBoundingClientRect();
    const scale = box.width / wide;
    showHint(describe(point.i), box.left + point.x * scale, box.top + point.y * scale);
    return undefined;
  }
  function axis(values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = 0.05 * (high - low) || 1;
    return [low - room, high + room];
  }
  function show() {
    mark(null);
    // Drawn at the size of the page, so that letters stay readable on a phone.
    wide = Math.max(300, Math.min(760, frame.clientWidth || 640));
    high = Math.round(Math.max(280, 0.68 * wide));
    const [x, y] = [data.scores[across.value], data.scores[up.value]];
    const [x0, x1] = axis(x);
    const [y0, y1] = axis(y);
    const px = (v) => EDGE.left + ((v - x0) / (x1 - x0)) * (wide - EDGE.left - EDGE.right);
    const py = (v) => high - EDGE.bottom - ((v - y0) / (y1 - y0)) * (high - EDGE.top - EDGE.bottom);
    const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label":
      `${data.samples.length} samples: ${data.factors[across.value]} across, ${data.factors[up.value]} up.` });
    const [bottom, right] = [high - EDGE.bottom, wide - EDGE.right];
    const middle = (EDGE.top + bottom) / 2;
    const write = (text, x, y, anchor = "middle", more = {}) =>
      draw("text", { x, y, "text-anchor": anchor, ...more }, svg, text);
    for (const [v, text] of ticks(x0, x1)) {
      draw("path", { d: `M${px(v)} ${EDGE.top}V${bottom}`, class: "rule" }, svg);
      write(text, px(v), bottom + 16);
    }
    for (const [v, text] of ticks(y0, y1)) {
      draw("path", { d: `M${EDGE.left} ${py(v)}H${right}`, class: "rule" }, svg);
      write(text, EDGE.left - 7, py(v) + 4, "end");
    }
    write(data.factors[across.value], (EDGE.left + right) / 2, high - 6);
    write(data.factors[up.value], 14, middle, "middle", { transform: `rotate(-90 14 ${middle})` });
    const wanted = find.value.trim().toLowerCase();
    points = [];
    for (const [i, name] of data.samples.entries()) {
      const code = classOf(i);
      if (hiddenClasses.has(code)) continue;
      const found = wanted && name.toLowerCase().includes(wanted);
      const [d, kind] = look(code);
      const shape = draw("path", { d,
        transform: `translate(${px(x[i]).toFixed(1)} ${py(y[i]).toFixed(1)})`,
        class: `point ${kind}${found ? " found" : ""}${wanted && !found ? " faded" : ""}`
          + `${selection.chosen === i ? " selected" : ""}` }, svg);
      points.push({ i, x: px(x[i]), y: py(y[i]), shape });
    }
    svg.append(...svg.querySelectorAll(".found, .selected"));
    frame.replaceChildren(svg);
  }
  function showLegend() {
    hiddenClasses = new Set();
    const task = colour ? colourings[colour.value] : null;
    const codes = task ? [...task.classes.keys(), ...(task.codes.includes(-1) ? [-1] : [])] : [];
    legend.replaceChildren(...codes.map((code) => {
      const n = task.codes.filter((other) => other === code).length;
      const button = make("button", { type: "button", "aria-pressed": "true" });
      const swatch = draw("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12,
        "aria-hidden": "true" }, button);
      const [d, kind] = look(code);
      draw("path", { d, class: kind }, swatch);
      button.append(` ${task.classes[code] ?? "unknown"} (${n})`);
      button.addEventListener("click", () => {
        const off = !hiddenClasses.delete(code);
        if (off) hiddenClasses.add(code);
        button.setAttribute("aria-pressed", String(!off));
        show();
      });
      return button;
    }));
  }
  frame.addEventListener("pointermove", (event) => {
    const box = frame.querySelector("svg").getBoundingClientRect();
    const scale = box.width / wide;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    let best = null;
    let least = (12 / scale) ** 2;
    for (const point of points) {
      const apart = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (apart < least) [best, least] = [point, apart];
    }
    mark(best);
  });
  frame.addEventListener("click", () => { if (marked) selection.set(marked.i); });
  for (const left of ["pointerleave", "blur"]) frame.addEventListener(left, () => mark(null));
  frame.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && marked) selection.set(marked.i);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !points.length) return;
    event.preventDefault();
    const order = [...points].sort((a, b) => a.x - b.x || a.i - b.i);
    const next = marked ? order.indexOf(marked) + step : step > 0 ? 0 : order.length - 1;
    mark(order[(next + order.length) % order.length]);
    spoken.textContent = describe(marked.i);
  });
  colour?.addEventListener("change", () => {
    if (data.start[colour.value]) [across.value, up.value] = data.start[colour.value];
    showLegend();
    show();
  });
  for (const select of [across, up]) select.addEventListener("change", show);
  find.addEventListener("input", show);
  let before = 0;
  addEventListener("resize", () => {
    if (frame.clientWidth !== before) show();
    before = frame.clientWidth;
  });
  selection.listeners.push((i) => {
    show();
    if (document.activeElement === frame) mark(points.find((point) => point.i === i) ?? null);
  });
  showLegend();
  show();
}
