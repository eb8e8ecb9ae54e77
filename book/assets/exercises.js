// A link to a folded solution or proof unfolds it; the fold's own script has run by then.
"use strict";
function unfoldTarget() {
  const target = iclTarget();
  if (!target || !target.classList.contains("toggle-hidden")) return;
  target.querySelector(":scope > .admonition-title > .toggle-button").click();
  target.scrollIntoView();
}
window.addEventListener("load", unfoldTarget);
window.addEventListener("hashchange", unfoldTarget);
