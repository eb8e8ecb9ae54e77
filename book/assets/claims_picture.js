/* The front page's picture of all claims: what the mark under the pointer or the focus says stands below it; arrow keys
   go from mark to mark, Enter follows. Its links work without this. */
(function () {
  "use strict";
  const box = document.querySelector(".icl-all-claims"), line = box.querySelector("p");
  const drawings = [...box.querySelectorAll("svg.icl-figure")], first = "Point at a mark, or go through them with the arrow keys: each leads to its claim.";
  const left = (mark) => mark.getBoundingClientRect().left;
  const say = (event) => { line.textContent = event?.target.closest("a")?.getAttribute("aria-label") || first; };
  for (const event of ["pointerover", "focusin"]) drawings.forEach((svg) => svg.addEventListener(event, say));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const shown = event.target.closest("svg"), marks = shown ? [...shown.querySelectorAll("a")].sort((a, b) => left(a) - left(b)) : [];
    const here = marks.indexOf(document.activeElement), next = marks[here + step];
    if (!step || here < 0) return;
    event.preventDefault();
    if (!next) return;
    marks[here].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });
  say();
})();
