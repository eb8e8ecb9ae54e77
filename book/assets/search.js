/* The search page: below each page that Sphinx found, the sections that hold the words, with an excerpt. The texts are
   scripts beside the index (press/search_text.py), so all works from the disk. */
(function () {
  "use strict";
  const LENGTH = 180, MOST = 4; // letters of an excerpt, sections of a page
  const stems = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/[\s,.;:!?()"'«»]+/)
    .filter((word) => word.length > 1).map((word) => new Stemmer().stemWord(word));
  const waiting = new Map(); // page → the list items that show its sections

  const places = (text) => stems.map((stem) => text.toLowerCase().indexOf(stem));

  function excerpt(text) {
    const first = Math.max(0, Math.min(...places(text).filter((at) => at >= 0)) - LENGTH / 3);
    const start = first && text.indexOf(" ", first) + 1, line = document.createElement("p");
    line.className = "context";
    const shown = text.slice(start, start + LENGTH), words = new RegExp(`(\\S*(?:${stems.map(escape).join("|")})\\S*)`, "i");
    line.append(start ? "… " : "");
    shown.split(words).forEach((part, k) => {
      const node = document.createElement(k % 2 ? "mark" : "span");
      node.textContent = part;
      line.append(node);
    });
    line.append(start + LENGTH < text.length ? " …" : "");
    return line;
  }

  const escape = (text) => text.replace(/[.*+\-?^${}()|[\]\\]/g, "\\$&");

  window.iclFound = function (page, sections) {
    for (const item of waiting.get(page) || []) {
      const link = item.querySelector("a"), only = link.hash.slice(1), list = document.createElement("ul");
      const score = ([, title, text]) => places(`${title} ${text}`).filter((at) => at >= 0).length;
      const there = sections.filter((section) => section[0] === only), held = there.length ? there : sections.filter(score);
      for (const [anchor, title, text] of held.sort((a, b) => score(b) - score(a)).slice(0, MOST)) {
        const line = document.createElement("li"), to = document.createElement("a");
        to.href = `${link.getAttribute("href").split(/[?#]/)[0]}#${anchor}`;
        to.textContent = title;
        line.append(...(there.length ? [] : [to]), ...(places(text).some((at) => at >= 0) ? [excerpt(text)] : []));
        list.append(line);
      }
      item.append(list);
    }
  };

  function found(item) {
    const link = item.querySelector("a");
    if (!link || item.dataset.seen || item.closest("ul.search") !== item.parentElement) return;
    item.dataset.seen = "yes";
    const page = link.getAttribute("href").split(/[?#]/)[0].replace(/\.html$/, "");
    if (waiting.has(page)) return waiting.get(page).push(item);
    waiting.set(page, [item]);
    const script = document.createElement("script");
    script.src = `_static/search/${page.replaceAll("/", "-")}.js`;
    document.head.append(script);
  }

  const results = document.getElementById("search-results");
  const look = () => results.querySelectorAll("ul.search > li").forEach(found);
  new MutationObserver(look).observe(results, { childList: true, subtree: true });
  look();
})();
