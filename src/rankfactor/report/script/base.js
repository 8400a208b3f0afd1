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
/** Text with line breaks allowed after an underscore or a point of a long word, as in text.py. */
const BREAKS = /(?<=.{4}[_/|])(?=\S{3})|(?<=.{4}[.:,;])(?=[^\s\d].{2})/;
function breakable(element, text) {
  String(text).split(" ").forEach((word, place) => {
    if (place) element.append(" ");
    if (word.includes("-") && word.length <= 20) {
      element.append(make("span", { class: "whole" }, word));
      return;
    }
    (word.length < 10 ? [word] : word.split(BREAKS)).forEach((piece, i) => {
      if (i) element.append(make("wbr"));
      element.append(piece);
    });
  });
  return element;
}
/** Append a control to a host, with its label before it. */
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
  // A browser may deny storage to a local file; the choice then lasts for this visit.
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
