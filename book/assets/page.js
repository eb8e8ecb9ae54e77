/* Loaded in the head of every page. The text is read at once, its formulas as MathML; in their place come those that
   MathJax sets, all together, and what the reader looks at stays where it is. Only a page that is opened at one of its
   elements is not shown until then: nobody knows before how far down that is. */
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
  // At a first visit the theme's own script says so at the end of the page: till then all its colours, and the borders
  // drawn in them, would be missing.
  if (!/^(light|dark)$/.test(root.dataset.theme)) root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const aimed = location.hash.length > 1 && !location.hash.includes("=");
  root.classList.toggle("icl-typesetting", aimed);
  root.classList.add("icl-faces"); // of the text: they come from the disk, and with another face its lines are others
  Promise.allSettled(["", "bold ", "italic "].map((face) => document.fonts.load(`${face}1em "CMU Serif"`)))
    .then(() => root.classList.remove("icl-faces"));
  if (window.MathJax) {
    window.MathJax.startup = { pageReady() { hold(); return window.MathJax.startup.defaultPageReady(); } };
  }

  const SMALLEST = 0.7; // of an equation's letters
  let held = null, top = 0; // what the reader looks at, and where it is

  /* The TeX in the place of the MathML, unseen, for MathJax measures around it; nothing is drawn before show(). */
  function hold() {
    const seen = scrollY > 0 && document.elementFromPoint(innerWidth / 2, innerHeight / 3);
    held = seen && seen.closest("article :is(p, li, h1, h2, h3, figure, pre, td, dd, svg, .math)");
    top = held && held.getBoundingClientRect().top;
    root.classList.add("icl-typesetting");
    stack();
  }

  /* On a phone a line of code, and what code printed, goes on in the next line, unless it stands in columns. */
  function wrap() {
    const indented = (line) => /^ */.exec(line.replace(/<[^>]*>/g, ""))[0].length;
    if (innerWidth <= 640) for (const code of document.querySelectorAll("div[class*=highlight-] pre:not(.cell_output *)")) {
      const lines = code.innerHTML.replace(/\n$/, "").split("\n");
      code.innerHTML = lines.map((line) => `<span class="icl-line" style="--in: ${indented(line)}">${line}\n</span>`).join("");
    }
    for (const printed of document.querySelectorAll(".cell_output pre")) {
      if (!/\S {3,}\S+ {3,}\S/.test(printed.textContent)) printed.classList.add("icl-lines");
    }
  }

  /* Names of modules and files go on in the next line between their parts, not inside a word; options stay whole. */
  function part() {
    for (const code of document.querySelectorAll("article :not(pre) > code, article :not(pre) > code .pre")) {
      if (code.closest("table") && innerWidth > 640) continue; // there a table has room for whole names
      if (/^--?\w/.test(code.textContent) && !code.firstElementChild) code.classList.add("icl-together");
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

  /* On a phone formulas that stand side by side stand below each other. */
  function stack() {
    const count = (part, sign) => part.split(sign).length;
    const whole = (part) => [["{", "}"], ["\\begin", "\\end"], ["\\left", "\\right"]].every(([a, b]) => count(part, a) === count(part, b));
    if (innerWidth <= 640) for (const tex of document.querySelectorAll("div.math > .icl-tex")) {
      const set = tex.textContent.slice(2, -2), split = /^\s*\\begin\{split\}(.*)\\end\{split\}\s*$/s.exec(set);
      const own = split && split[1].replace(/\\begin\{(\w+\*?)\}.*?\\end\{\1\}/gs, ""); // without what stands in matrices
      const parts = (own && !/&|\\\\/.test(own) ? split[1] : set).split("\\qquad");
      if (parts.length > 1 && parts.every(whole)) tex.textContent = `\\[\\begin{gathered}${parts.join("\\\\[0.4em]")}\\end{gathered}\\]`;
    }
  }

  /* An equation in a sentence does not break: one that is wider than its paragraph, as on a phone, scrolls inside it.
     One on a line of its own is set somewhat smaller, if then it fits. Only what scrolls is a stop of the keyboard. */
  function fit() {
    const wide = [], displayed = [...document.querySelectorAll('article mjx-container[display="true"]')];
    for (const equation of displayed) equation.style.fontSize = "";
    const scrolls = (equation) => equation.scrollWidth > equation.clientWidth;
    for (const equation of displayed.filter(scrolls)) {
      const start = Math.min(equation.clientWidth / equation.scrollWidth, 0.97); // browsers round: it may take a little less
      for (let size = start; size > SMALLEST && scrolls(equation); size -= 0.03) equation.style.fontSize = `${100 * size}%`;
      if (scrolls(equation)) equation.style.fontSize = "";
    }
    const scrolled = displayed.filter(scrolls);
    for (const equation of displayed) equation.removeAttribute("tabindex");
    for (const equation of scrolled) equation.tabIndex = 0;
    for (const equation of document.querySelectorAll('article mjx-container:not([display="true"])')) {
      equation.classList.remove("icl-wide");
      equation.style.fontSize = "";
      equation.removeAttribute("tabindex");
      let block = equation.parentElement;
      while (/^(inline|contents)/.test(getComputedStyle(block).display)) block = block.parentElement;
      if (block.clientWidth && equation.offsetWidth > block.clientWidth) wide.push([equation, block.clientWidth / equation.offsetWidth - 0.02]);
    }
    for (const [equation, size] of wide) {
      if (size > 0.85) { // a little smaller it fits
        equation.style.fontSize = `${100 * size}%`;
        continue;
      }
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
    const typeset = document.querySelector("mjx-container");
    if (typeset) for (const plain of document.querySelectorAll(".icl-plain")) plain.remove();
    if (typeset) root.classList.add("icl-typeset");
    join();
    fit();
    const target = aimed && iclTarget();
    if (target) target.scrollIntoView({ behavior: "instant" }); // where it is now that the equations have their sizes
    else if (held) scrollBy({ top: held.getBoundingClientRect().top - top, behavior: "instant" });
    root.classList.remove("icl-typesetting");
    root.classList.add("icl-settled");
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
