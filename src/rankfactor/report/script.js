/* What moves in the report: light and dark, hints, tables that sort and filter, the score explorer.
   Without it the page is complete but still. It asks for nothing outside the page. */
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const page = document.documentElement;

  /** Element with attributes; text goes in as text, never as markup. */
  function filled(element, attributes, text) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  }
  const make = (tag, attributes = {}, text = "") => filled(document.createElement(tag), attributes, text);
  function draw(tag, attributes, parent, text = "") {
    const element = filled(document.createElementNS(SVG, tag), attributes, text);
    parent?.append(element);
    return element;
  }
  /** Control that is appended to a host, with its name before it. */
  function labelled(host, title, control) {
    const label = make("label", {}, `${title} `);
    label.append(control);
    host.append(label);
    return control;
  }
  const searchBox = (host, title) =>
    labelled(host, title, make("input", { type: "search", autocomplete: "off", spellcheck: "false" }));
  function embedded(id) {
    const block = document.getElementById(id);
    return block ? JSON.parse(block.textContent) : null;
  }
  /** Number as the page writes it. */
  const written = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");

  /* ---- light and dark: the reader's system decides until the button is pressed ---- */
  function themes() {
    const button = make("button", { type: "button", class: "theme" });
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
    const show = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
    // A browser may refuse storage to a file; the choice then holds for this visit.
    try { page.dataset.theme = localStorage.getItem("rankfactor-theme") || ""; } catch { /* none */ }
    if (!page.dataset.theme) delete page.dataset.theme;
    button.addEventListener("click", () => {
      page.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("rankfactor-theme", page.dataset.theme); } catch { /* none */ }
      show();
    });
    system.addEventListener("change", show);
    show();
    document.querySelector("header").prepend(button);
  }

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

  /* ---- tables ---- */
  const body = (table) => [...table.querySelectorAll("tbody tr")];
  const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();

  function sortable(table) {
    const headings = [...table.querySelectorAll("thead th")];
    for (const heading of headings) {
      const button = make("button", { type: "button", class: "sort" }, heading.textContent);
      heading.textContent = "";
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = body(table);
        const keys = new Map(rows.map((row) => [row, valueOf(row.cells[heading.cellIndex])]));
        const numeric = heading.matches(".num, .range");
        rows.sort((a, b) => {
          const [one, other] = [keys.get(a), keys.get(b)];
          // What is not known comes last either way.
          if (one === "" || other === "") return (one === "") - (other === "");
          // Of an interval, the lower end counts.
          const order = numeric
            ? Number.parseFloat(one) - Number.parseFloat(other)
            : one.localeCompare(other, "en", { numeric: true });
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      });
    }
  }

  /** Text with an apostrophe before it where a spreadsheet would run it; numbers as they are. */
  function safe(text) {
    const runs = /^'*[=+\-@\t\r]/.test(text);
    return runs && !/^'*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;
  }
  /** Comma-separated text of the rows that are shown; `group` heads the column of the tables' names.
      A cell that holds an interval is two columns of numbers. */
  function csvOf(tables, group) {
    const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const cell = (text) => quoted(safe(text));
    const lines = [];
    for (const table of tables) {
      const kept = [...table.tHead.rows[0].cells].filter((cell) => cell.tagName === "TH");
      if (!lines.length) {
        const head = kept.flatMap((one) => one.dataset.ends?.split("|") ?? [one.textContent.trim()]);
        lines.push((group ? [group, ...head] : head).map(cell).join(","));
      }
      for (const row of body(table)) {
        if (row.hidden) continue;
        const cells = kept.flatMap((one) => {
          const value = valueOf(row.cells[one.cellIndex]);
          return one.dataset.ends ? value.split("|") : [value];
        });
        lines.push((group ? [table.dataset.group, ...cells] : cells).map(cell).join(","));
      }
    }
    return `${lines.join("\r\n")}\r\n`;
  }
  function save(name, text) {
    // The mark at the beginning tells spreadsheets that this is UTF-8.
    const address = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    const link = make("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  /** Search box, count and download for the tables of one container. */
  function tools(host) {
    const tables = [...host.querySelectorAll("table")];
    tables.forEach(sortable);
    const bar = make("div", { class: "tools" });
    const input = searchBox(bar, "Search");
    const count = make("span", { class: "muted count", role: "status" });
    const button = make("button", { type: "button" }, "Download CSV");
    bar.append(count, button);
    host.prepend(bar);
    const folds = [...host.querySelectorAll("details")];
    const opened = new Map(folds.map((fold) => [fold, fold.open]));
    function filter() {
      const wanted = input.value.trim().toLowerCase().replace(/\s+/g, " ");
      let [shown, all] = [0, 0];
      for (const table of tables) {
        const rows = body(table);
        for (const row of rows) {
          const cells = [...row.cells].map((cell) => cell.textContent.trim());
          const text = [table.dataset.group || "", ...cells].join(" ");
          row.hidden = !text.toLowerCase().includes(wanted);
        }
        const here = rows.filter((row) => !row.hidden).length;
        [shown, all] = [shown + here, all + rows.length];
        const fold = table.closest("details");
        if (fold && host.contains(fold)) {
          fold.hidden = here === 0;
          // A search opens what it finds, and its end restores what was open before.
          fold.open = wanted ? here > 0 : opened.get(fold);
        }
      }
      count.textContent = wanted ? `${shown} of ${all} rows` : `${all} rows`;
    }
    input.addEventListener("input", filter);
    for (const fold of folds) {
      fold.addEventListener("toggle", () => { if (!input.value.trim()) opened.set(fold, fold.open); });
    }
    button.addEventListener("click", () => {
      save(`${host.dataset.tools}.csv`, csvOf(tables, host.dataset.group || ""));
    });
    filter();
  }

  /* ---- the score explorer: two factors of the reader's choice ---- */
  const EDGE = { left: 52, right: 14, top: 12, bottom: 44 };
  const SHAPES = [
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "M0 -5L4.6 3.6L-4.6 3.6Z", "M-3.7 -3.7h7.4v7.4h-7.4Z",
    "M0 -5.2L5.2 0L0 5.2L-5.2 0Z", "M0 5L4.6 -3.6L-4.6 -3.6Z",
    "M-1.6 -4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2Z",
    "M-4.4 -2.4L-2.4 -4.4L0 -2L2.4 -4.4L4.4 -2.4L2 0L4.4 2.4L2.4 4.4L0 2L-2.4 4.4L-4.4 2.4L-2 0Z",
  ];
  /** Shape and colour of a class. */
  const lookOf = (code) => (code < 0 ? [SHAPES[0], "unknown"]
    : [SHAPES[(code + Math.floor(code / 7)) % 7], `k${code % 7}`]);
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
    const colour = data.tasks.length
      ? choice(controls, "Colour by", data.tasks.map((task) => task.name), 0) : null;
    const [across, up] = ["Across", "Up"].map((title, i) =>
      choice(controls, title, data.factors, data.start[0][i]));
    const find = searchBox(controls, "Find a sample");
    const legend = make("div", { class: "legend", role: "group", "aria-label": "Classes shown" });
    const frame = make("div", { class: "drawing plot", tabindex: "0", role: "application",
      "aria-label": "Scatter of the samples; arrow keys go from sample to sample" });
    const spoken = make("p", { class: "hidden", role: "status" });
    host.prepend(controls, legend, frame, spoken);
    let [hiddenClasses, points, marked] = [new Set(), [], null];
    let [wide, high] = [0, 0];

    const classOf = (i) => (colour ? data.tasks[colour.value].codes[i] : 0);
    function describe(i) {
      const factors = [...new Set([across.value, up.value])];
      return [
        data.samples[i],
        ...data.tasks.map(({ name, classes, codes }) => `${name}: ${classes[codes[i]] ?? "unknown"}`),
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
      // Drawn at the size of the page, so that letters are as large on a phone.
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
        const [d, kind] = lookOf(code);
        const shape = draw("path", { d,
          transform: `translate(${px(x[i]).toFixed(1)} ${py(y[i]).toFixed(1)})`,
          class: `point ${kind}${found ? " found" : ""}${wanted && !found ? " faded" : ""}` }, svg);
        points.push({ i, x: px(x[i]), y: py(y[i]), shape });
      }
      svg.append(...svg.querySelectorAll(".found"));
      frame.replaceChildren(svg);
    }
    function showLegend() {
      hiddenClasses = new Set();
      const task = colour ? data.tasks[colour.value] : null;
      const codes = task ? [...task.classes.keys(), ...(task.codes.includes(-1) ? [-1] : [])] : [];
      legend.replaceChildren(...codes.map((code) => {
        const n = task.codes.filter((other) => other === code).length;
        const button = make("button", { type: "button", "aria-pressed": "true" });
        const swatch = draw("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12,
          "aria-hidden": "true" }, button);
        const [d, kind] = lookOf(code);
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
    for (const left of ["pointerleave", "blur"]) frame.addEventListener(left, () => mark(null));
    frame.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !points.length) return;
      event.preventDefault();
      const order = [...points].sort((a, b) => a.x - b.x || a.i - b.i);
      const next = marked ? order.indexOf(marked) + step : step > 0 ? 0 : order.length - 1;
      mark(order[(next + order.length) % order.length]);
      spoken.textContent = describe(marked.i);
    });
    colour?.addEventListener("change", () => {
      [across.value, up.value] = data.start[colour.value];
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
    showLegend();
    show();
  }

  /** A link to a folded table unfolds it. */
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  }

  themes();
  hints();
  document.querySelectorAll("[data-tools]").forEach(tools);
  const scores = embedded("scores-data");
  if (scores) explorer(document.getElementById("explorer"), scores);
  addEventListener("hashchange", unfold);
  // The same link once more changes no address.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href^="#"]')) setTimeout(unfold);
  });
  unfold();
})();
