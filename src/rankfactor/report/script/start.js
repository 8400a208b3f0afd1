/** A link to a folded table unfolds it. */
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
}

themes();
hints();
document.querySelectorAll("[data-tools]").forEach(tools);
const scores = embedded("scores-data");
if (scores) {
  explorer(document.getElementById("explorer"), scores);
  details(document.getElementById("sample"), scores, embedded("contributions-data"));
  samplesTable(document.getElementById("samples-table"), scores);
}
const effectsData = embedded("effects-data");
if (effectsData) effects(document.getElementById("effects-table"), effectsData);
addEventListener("hashchange", unfold);
// Clicking the same link again does not change the address.
document.addEventListener("click", (event) => {
  if (event.target.closest?.('a[href^="#"]')) setTimeout(unfold);
});
unfold();
