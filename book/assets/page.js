/* Loaded in the head of every page. Equations are typeset after the text is there and have other sizes than their
   sources: until they are done the text is laid out but not shown, so that nothing jumps under the reader's eyes.
   Without scripts, or without equations, nothing is hidden. */
// The element that the address points at, or null: the state of an explorable is no element's name, and need not decode.
function iclTarget() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null;
  }
}

(function () {
  "use strict";
  const root = document.documentElement;
  root.classList.add("icl-typesetting");

  /* What code printed goes on in the next line on a phone, unless it stands in columns. */
  function wrap() {
    for (const printed of document.querySelectorAll(".cell_output pre")) {
      if (!/\S {3,}\S+ {3,}\S/.test(printed.textContent)) printed.classList.add("icl-lines");
    }
  }

  /* Names of modules and files go on in the next line between their parts, not inside a word. */
  function part() {
    for (const code of document.querySelectorAll("article :not(pre) > code, article :not(pre) > code .pre")) {
      if (code.closest("table") && innerWidth > 640) continue; // there a table has room for whole names
      if (!code.firstElementChild) code.innerHTML = code.innerHTML.replace(/[._/](?=[a-z])/gi, "$&<wbr>");
    }
  }

  /* Browsers may break a line on either side of an equation, and so put a comma, or the number that it equals, at the
     start of the next. */
  function join() {
    for (const equation of document.querySelectorAll("article span.math")) {
      const [before, after] = [equation.previousSibling, equation.nextSibling];
      const opening = before && before.nodeType === Node.TEXT_NODE ? /[(«“]$/.test(before.data) : false;
      const closing = after && after.nodeType === Node.TEXT_NODE ? /^(?:[,.;:!?)»”…]+|-\w+)/.exec(after.data) : null;
      const number = after && after.data === " " && /[=≈≤≥<>]$/.test(equation.querySelector("mjx-assistive-mml")?.textContent.trim()) ? after.nextSibling : null;
      if (!opening && !closing && !number) continue;
      const together = document.createElement("span");
      together.className = "icl-together";
      equation.before(together);
      if (opening) together.append(before.splitText(before.length - 1));
      together.append(equation);
      if (closing) {
        after.splitText(closing[0].length);
        together.append(after);
      }
      if (number) together.append(after, number);
    }
  }

  /* An equation in a sentence does not break: one that is wider than its paragraph, as on a phone, scrolls inside it.
     Only what scrolls is a stop of the keyboard. */
  function fit() {
    const wide = [], displayed = [...document.querySelectorAll('article mjx-container[display="true"]')];
    const scrolled = displayed.filter((equation) => equation.scrollWidth > equation.clientWidth);
    for (const equation of displayed) equation.removeAttribute("tabindex");
    for (const equation of scrolled) equation.tabIndex = 0;
    for (const equation of document.querySelectorAll('article mjx-container:not([display="true"])')) {
      equation.classList.remove("icl-wide");
      equation.removeAttribute("tabindex");
      let block = equation.parentElement;
      while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
      if (block.clientWidth && equation.offsetWidth > block.clientWidth) wide.push(equation);
    }
    for (const equation of wide) {
      equation.classList.add("icl-wide");
      equation.tabIndex = 0;
    }
  }

  /* What folds is called by what it shows, and the first sliders are two tabs away. */
  function name() {
    for (const fold of document.querySelectorAll("details.hide > summary")) {
      const heading = fold.closest("section:has(> :is(h1, h2, h3))").querySelector(":is(h1, h2, h3)").textContent;
      fold.ariaLabel = `Code of “${heading.replace(/#$/, "").trim()}”`;
    }
    for (const button of document.querySelectorAll(".admonition-title > .toggle-button")) {
      button.ariaLabel = button.parentElement.textContent.trim();
    }
    const slider = document.querySelector(".icl-explorable :is(input, select)"), skip = document.getElementById("pst-skip-link");
    if (!slider || !skip) return;
    const link = document.createElement("a");
    link.href = `#${slider.id}`;
    link.textContent = "Skip to the sliders";
    skip.append(link);
  }

  function show() {
    join();
    fit();
    root.classList.remove("icl-typesetting");
    const target = iclTarget();
    if (target) target.scrollIntoView({ behavior: "instant" }); // where it is now that the equations have their sizes
  }

  function goOn() { // what stood here stands elsewhere now: press/pages/moved.py
    const target = iclTarget();
    if (target && target.dataset.moved) location.replace(target.dataset.moved);
  }
  window.addEventListener("hashchange", goOn);

  document.addEventListener("DOMContentLoaded", () => {
    goOn();
    part();
    wrap();
    // docutils calls the bibliography a list, but its entries are none of a list's items
    for (const box of document.querySelectorAll(".pst-scrollable-table-container")) box.tabIndex = 0; // scrolled by keys
    for (const list of document.querySelectorAll(".citation-list[role=list]")) list.removeAttribute("role");
    const startup = window.MathJax && window.MathJax.startup; // its deferred script has run, or could not be loaded
    if (startup && startup.promise) startup.promise.then(show, show);
    else show();
  });
  window.addEventListener("load", name); // folds have their buttons by then
  document.addEventListener("click", (event) => { // an unfolded proof is narrower than a folded one
    if (event.target.closest(".dropdown")) requestAnimationFrame(fit);
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => { // a phone turned round; its address bar changes the height only
    if (width !== (width = window.innerWidth)) fit();
  });
})();
