/* The claims page: shows the cards that match paper, chapter, verdict and words. The state is in the address, so a
   filtered list can be sent; a link to a card shows that card whatever is filtered. */
(function () {
  "use strict";
  const form = document.querySelector(".icl-filter");
  if (!form) return;
  const cards = [...document.querySelectorAll(".icl-card")];
  const names = ["paper", "chapter", "verdict", "q"];
  const text = new Map(cards.map((card) => [card, card.textContent.replaceAll("\u2060", "").toLowerCase()]));

  function matches(card, state) {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    return (!state.paper || card.dataset.paper.split(" ").includes(state.paper))
      && (!state.chapter || card.dataset.chapter === state.chapter)
      && (!state.verdict || card.dataset.verdict === state.verdict)
      && words.every((word) => text.get(card).includes(word));
  }

  function show() {
    const state = Object.fromEntries(names.map((name) => [name, form.elements[name].value.trim()]));
    let shown = 0;
    for (const card of cards) {
      card.hidden = !matches(card, state);
      shown += !card.hidden;
    }
    for (const list of document.querySelectorAll(".icl-cards")) {
      list.closest("section").hidden = !list.querySelector(".icl-card:not([hidden])");
    }
    form.querySelector("output").textContent =
      shown ? `${shown} of ${cards.length} claims` : "No claim matches; take back a choice or show all.";
    return state;
  }

  function remember() {
    const address = new URL(location.href);
    const state = show();
    for (const name of names) {
      if (state[name]) address.searchParams.set(name, state[name]);
      else address.searchParams.delete(name);
    }
    address.hash = "";
    history.replaceState(null, "", address.href.replace(/#$/, ""));
  }

  function reveal() {
    const card = iclTarget();
    if (!card || !card.hidden) return;
    form.reset();
    show();
    card.scrollIntoView();
  }

  function restore() {
    const given = new URLSearchParams(location.search);
    for (const name of names) {
      form.elements[name].value = given.get(name) || "";
      if (form.elements[name].selectedIndex === -1) form.elements[name].value = ""; // an option that is not there
    }
    show();
    reveal();
  }

  form.addEventListener("input", remember);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(remember)); // after the fields are empty
  addEventListener("popstate", restore);
  addEventListener("hashchange", reveal);
  restore();
})();
