/* The front page's picture of all claims: what the mark under the pointer or the focus says stands below it; arrow keys
   go from mark to mark, Enter follows. Its links work without this. */
(function () {
  "use strict";
  const box = document.querySelector(".icl-all-claims"), line = box.querySelector("p");
  const marks = [...box.querySelectorAll("a")], first = "Point at a mark, or go through them with the arrow keys: each leads to its claim.";
  const left = new Map(marks.map((mark) => [mark, mark.getBBox().x]));
  marks.sort((a, b) => left.get(a) - left.get(b));
  const say = (event) => { line.textContent = event?.target.closest("a")?.getAttribute("aria-label") || first; };
  for (const event of ["pointerover", "focusin"]) box.querySelector("svg").addEventListener(event, say);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
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
