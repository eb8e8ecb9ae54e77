/* A question that is guessed before it is answered, at the top of a chapter's page; press/pages/opening.py writes it.
   Until the answer is shown, or an explorable is moved, the explorable's numbers are veiled: they would give it away. */
(function () {
  "use strict";
  const box = document.querySelector(".icl-guess");
  if (!box) return;
  const [input, shown, button, status, answer] = ["input", "output", "button", "[role=status]", "details"].map((name) => box.querySelector(name));
  const { truth, least, step } = Object.fromEntries(Object.entries(box.dataset).map(([key, value]) => [key, Number(value)]));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const PAUSE = 400; // ms without a move before a screen reader is told

  const guess = () => least + Number(input.value) * step;
  const written = (v) => v.toFixed(decimals).replace("-", "−");

  /* How far off a guess is, in words. */
  function verdict(v) {
    const off = Math.abs(v - truth), side = v > truth ? "too high" : "too low", ratio = v / truth;
    if (off <= 0.5001 * step) return "right on the spot";
    if (truth <= 0 || ratio <= 0.02 || ratio >= 50) return `${side} by ${Number(off.toPrecision(2))}`;
    if (ratio > 2) return `${ratio.toFixed(1)} times too high`;
    if (ratio < 0.5) return `too low by a factor of ${(1 / ratio).toFixed(1)}`;
    const percent = Math.max(Math.round(100 * Math.abs(ratio - 1)), 1);
    return `${percent <= 5 ? "close, " : ""}${percent} % ${side}`;
  }

  let timer;
  function redraw() {
    shown.textContent = written(guess());
    input.style.setProperty("--icl-at", input.value / input.max);
    box.style.setProperty("--icl-at", input.value / input.max);
    input.setAttribute("aria-valuetext", shown.textContent);
    clearTimeout(timer);
    if (answer.open) timer = setTimeout(tell, PAUSE);
  }
  function tell() {
    const said = document.createElement("span"); // what is seen below is said as well
    said.className = "said";
    said.textContent = ` ${box.querySelector(".found").textContent}`;
    status.replaceChildren(`Your guess, ${written(guess())}, is ${verdict(guess())}.`, said);
  }
  function show(open) {
    answer.open = open;
    box.toggleAttribute("data-shown", open);
    button.textContent = open ? "Guess again" : "Show";
    button.ariaExpanded = open;
    box.toggleAttribute("data-asks", !open);
    if (open) tell();
    else status.replaceChildren();
  }

  input.addEventListener("input", redraw);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") show(true); });
  button.addEventListener("click", () => show(!answer.open));
  redraw();
  show(false);
  if (location.hash.includes("=")) box.removeAttribute("data-asks"); // a shared state of the sliders is there to be seen
  document.addEventListener("input", (event) => { if (event.target.closest("[data-explorable]")) box.removeAttribute("data-asks"); });
})();
