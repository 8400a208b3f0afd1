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
        // Unknown values come last in either order.
        if (one === "" || other === "") return (one === "") - (other === "");
        // Intervals are sorted by their lower end.
        const order = numeric
          ? Number.parseFloat(one) - Number.parseFloat(other)
          : one.localeCompare(other, "en", { numeric: true });
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  }
}

/** Prefix text that a spreadsheet would run as a formula with an apostrophe; keep numbers. */
function safe(text) {
  const runs = /^'*[=+\-@\t\r]/.test(text);
  return runs && !/^'*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;
}
/** One line of comma-separated text. */
function csvLine(cells) {
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return cells.map((text) => quoted(safe(String(text)))).join(",");
}
/** Comma-separated text of the visible rows; `group` is the heading of the column of table names.
    A cell with an interval becomes two columns of numbers. */
function csvOf(tables, group) {
  const lines = [];
  for (const table of tables) {
    const kept = [...table.tHead.rows[0].cells].filter((cell) => cell.tagName === "TH");
    if (!lines.length) {
      const head = kept.flatMap((one) => one.dataset.ends?.split("|") ?? [one.textContent.trim()]);
      lines.push(csvLine(group ? [group, ...head] : head));
    }
    for (const row of body(table)) {
      if (row.hidden) continue;
      const cells = kept.flatMap((one) => {
        const value = valueOf(row.cells[one.cellIndex]);
        return one.dataset.ends ? value.split("|") : [value];
      });
      lines.push(csvLine(group ? [table.dataset.group, ...cells] : cells));
    }
  }
  return `${lines.join("\r\n")}\r\n`;
}
function save(name, text) {
  // The byte order mark lets spreadsheets detect UTF-8.
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
        // A search unfolds its matches; clearing it restores the previous state.
        fold.open = wanted ? here > 0 : opened.get(fold);
      }
    }
    const rows = all === 1 ? "row" : "rows";
    count.textContent = wanted ? `${shown} of ${all} ${rows}` : `${all} ${rows}`;
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
