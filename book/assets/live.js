/* The front page's first screen: points that are dragged, and the lines that three models draw through them.

   The page's boxes, words and the picture at the start are written by press/pages/live.py, which draws with `still`
   below, in node; here they come alive. Each frame in which something moved runs the models once (live_model.js) and
   sets the attributes of a few SVG elements. Nothing is kept but the points. */
(function (root) {
  "use strict";
  const START = [[-1.75, -1.35], [-1.2, -0.25], [-0.55, -0.6], [0.15, 0.75], [0.85, 0.9], [1.6, 2.3]];
  const ASKED = { point: 5, to: -0.5 }; // the point of the question, and the height that it moves to
  const REACH = 2, TOP = 4, MOST = 12;
  const GRID = Array.from({ length: 17 }, (_, i) => -REACH + (i * REACH) / 8), PLACES = [-2, -1, 0, 1, 2];
  const COLOURS = { one: "#7b5fe0", model: "#c98200", bayes: "#0072b2" }; // icl.figures.COLOURS, a test compares them
  const NAMES = { one: "one layer", model: "the transformer", bayes: "Bayes" };
  const STILL = { width: 760, height: 420 };
  const PAUSE = 500, GLIDE = 1100; // ms: before the numbers are read out; of the answer to the question

  const clamp = (v, most) => Math.min(Math.max(v, -most), most);
  const shown = (v) => (Math.abs(v) < 0.005 ? "0" : v.toFixed(2)).replace("-", "−");

  /* What the three say at the places `at`: heights by name, and the layers' in `layers`. */
  function ask(model, points, at) {
    const us = points.map((p) => p[0]), ys = points.map((p) => p[1]), layers = model.answers(us, ys, at);
    const straight = ([height, slope]) => at.map((u) => height + slope * u);
    return { one: straight(model.oneLayer(us, ys)), bayes: straight(model.bayes(us, ys)), model: layers.at(-1), layers };
  }

  // ---- drawing: markup from numbers, the same in node and in the page ----------------------------------------------

  function frame({ width, height }) {
    const wide = width >= 560, left = 22, right = width - (wide ? 136 : 16), top = 8, bottom = height - 22;
    const X = (u) => left + ((u + REACH) / (2 * REACH)) * (right - left), Y = (y) => bottom - ((y + TOP) / (2 * TOP)) * (bottom - top);
    const U = (x) => clamp(((x - left) / (right - left)) * 2 * REACH - REACH, REACH);
    const V = (y) => clamp(((bottom - y) / (bottom - top)) * 2 * TOP - TOP, TOP);
    return { width, height, wide, left, right, top, bottom, X, Y, U, V };
  }

  function ground({ left, right, top, bottom, X, Y, height }) {
    const ticks = PLACES.map((u) => `<text x="${X(u)}" y="${height - 5}" text-anchor="middle">${u ? `${u}`.replace("-", "−") : "u = 0"}</text>`);
    return `<rect class="sheet" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" rx="6" fill="none"/>`
      + `<path class="zero" d="M${left} ${Y(0)}H${right}M${X(0)} ${top}V${bottom}" stroke="currentColor" stroke-opacity="0.22" fill="none"/>`
      + ticks.join("");
  }

  const path = ({ X, Y }, heights) => GRID.map((u, i) =>
    `${i ? "L" : "M"}${X(u).toFixed(1)} ${Y(clamp(heights[i], 3 * TOP)).toFixed(1)}`).join("");
  const straight = ({ X, Y }, heights) => [0, GRID.length - 1].map((i) =>
    `${i ? "L" : "M"}${X(GRID[i]).toFixed(1)} ${Y(clamp(heights[i], 3 * TOP)).toFixed(1)}`).join("");

  /* Words beside the ends of lines, moved apart until no two touch, in the order of the lines. */
  function apart(wanted, gap, top, bottom) {
    const order = wanted.map((y, i) => i).sort((a, b) => wanted[a] - wanted[b]), found = [...wanted];
    let least = top;
    for (const i of order) least = (found[i] = Math.max(wanted[i], least)) + gap;
    let most = bottom;
    for (const i of [...order].reverse()) most = (found[i] = Math.min(found[i], most)) - gap;
    return found;
  }

  function words(g, said, layers) {
    const ends = Object.keys(NAMES).map((name) => [NAMES[name], said[name].at(-1), COLOURS[name], name]);
    const at = apart(ends.map(([, y]) => g.Y(clamp(y, TOP))), 17, g.top + 12, g.bottom - 6);
    let found = "";
    if (g.wide) ends.forEach(([text, y, colour, name], i) => {
      found += `<path d="M${g.right + 1} ${g.Y(clamp(y, TOP)).toFixed(1)}L${g.right + 15} ${at[i].toFixed(1)}" stroke="${colour}" fill="none"/>`
        + `<text class="name ${name}" x="${g.right + 19}" y="${(at[i] + 4).toFixed(1)}" fill="${colour}">${text}</text>`;
    });
    if (!layers) return found;
    const early = said.layers.slice(0, -1), places = apart(early.map((ys) => g.Y(clamp(ys[0], TOP))), 14, g.top + 6, g.bottom - 2);
    places.forEach((y, k) => {
      found += `<text class="name model" x="${g.left - 6}" y="${(y + 4).toFixed(1)}" text-anchor="end" fill="${COLOURS.model}">${k + 1}</text>`;
    });
    return found;
  }

  function curves(g, said, points, layers) {
    const line = (d, name, more) => `<path class="${name}" d="${d}" stroke="${COLOURS[name]}" fill="none" ${more}/>`;
    const sticks = points.map(([u, y], i) => `M${g.X(u).toFixed(1)} ${g.Y(y).toFixed(1)}V${g.Y(said.at[i]).toFixed(1)}`).join("");
    const early = layers ? said.layers.slice(0, -1).map((ys, k, all) =>
      line(path(g, ys), "model", `stroke-width="1.6" stroke-opacity="${0.35 + (0.5 * (k + 1)) / all.length}"`)) : [];
    return line(sticks, "model", 'stroke-width="1.5" stroke-opacity="0.35"') + early.join("")
      + line(straight(g, said.one), "one", 'stroke-width="2.4"')
      + line(path(g, said.model), "model", 'stroke-width="5" stroke-linecap="round"')
      + line(straight(g, said.bayes), "bayes", 'stroke-width="2.2" stroke-dasharray="7 6"');
  }

  const dot = (g, [u, y], more = "") => `<g class="dot" transform="translate(${g.X(u).toFixed(1)} ${g.Y(y).toFixed(1)})"${more}>`
    + '<circle class="hit" r="21" fill="transparent"/><circle class="core" r="8"/></g>';

  function consult(model, points) { // the answers along the picture, and at the points themselves
    const all = ask(model, points, [...GRID, ...points.map((p) => p[0])]), count = GRID.length;
    const cut = (ys) => ys.slice(0, count);
    return { one: cut(all.one), bayes: cut(all.bayes), model: cut(all.model), layers: all.layers.map(cut), at: all.model.slice(count) };
  }

  /* The rows of the table of the same numbers. */
  function rows(model, points) {
    const said = ask(model, points, PLACES), cells = (ys) => ys.map((v) => `<td>${shown(v)}</td>`).join("");
    const row = (name, ys) => `<tr><th scope="row">${name}</th>${cells(ys)}</tr>`;
    const early = said.layers.slice(0, -1).map((ys, k) => row(`the transformer, after layer ${k + 1}`, ys));
    return [...Object.keys(NAMES).map((name) => row(NAMES[name], said[name])), ...early].join("");
  }

  const listed = (points) => points.map(([u, y]) => `(${shown(u)}, ${shown(y)})`).join(", ");

  function still(model) {
    const g = frame(STILL), said = consult(model, START);
    const picture = ground(g) + curves(g, said, START, false) + words(g, said, false) + START.map((p) => dot(g, p)).join("");
    return { viewBox: `0 0 ${g.width} ${g.height}`, picture, rows: rows(model, START), points: listed(START) };
  }

  const drawing = { still, ask, apart, START, COLOURS, PLACES };
  if (typeof module !== "undefined") module.exports = drawing;
  if (typeof document === "undefined") return;

  // ---- the page ----------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  function layer(svg, name) {
    const g = document.createElementNS(SVG, "g");
    g.setAttribute("class", name);
    svg.append(g);
    return g;
  }

  function start(box, model) {
    const find = (selector) => box.querySelector(selector), svg = find("svg.stage");
    const state = { points: START.map((p) => [...p]), chosen: ASKED.point, layers: false, asking: true, ring: true, guess: 0 };
    let g, waiting = false, timer, said;
    const times = [];

    svg.replaceChildren();
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", "Points in the plane, each moved by the arrow keys, and three lines through them");
    const [back, lines, names, quiz, dots] = ["ground", "lines", "names", "quiz", "dots"].map((name) => layer(svg, name));
    for (const part of [back, lines, names]) part.setAttribute("aria-hidden", "true");

    function measure() {
      const { width, height } = svg.getBoundingClientRect();
      g = frame({ width: Math.round(width), height: Math.round(height) });
      svg.setAttribute("viewBox", `0 0 ${g.width} ${g.height}`);
      back.innerHTML = ground(g);
    }

    /* One frame: the models, then their lines. */
    function step() {
      const began = performance.now();
      waiting = false;
      said = consult(model, state.points);
      lines.innerHTML = curves(g, said, state.points, state.layers);
      names.innerHTML = words(g, said, state.layers);
      [...dots.children].forEach((node, i) => place(node, state.points[i]));
      if (state.ring) placeRing();
      if (find("details.numbers").open) table();
      times.push(performance.now() - began);
      if (times.length > 600) times.shift();
    }
    function redraw() {
      if (!waiting) requestAnimationFrame(step);
      waiting = true;
    }
    function table() {
      find("tbody").innerHTML = rows(model, state.points);
      find("[data-points]").textContent = listed(state.points);
    }

    function place(node, [u, y]) {
      node.setAttribute("transform", `translate(${g.X(u).toFixed(1)} ${g.Y(y).toFixed(1)})`);
      node.setAttribute("aria-valuenow", y.toFixed(2));
      node.setAttribute("aria-valuetext", `u ${shown(u)}, y ${shown(y)}`);
    }

    // ---- points ----

    function rebuild(focus) {
      dots.innerHTML = state.points.map((p, i) => dot(g, p, ` tabindex="0" role="slider" aria-label="Point ${i + 1} of `
        + `${state.points.length}" aria-roledescription="point" aria-valuemin="${-TOP}" aria-valuemax="${TOP}"`)).join("");
      state.chosen = Math.min(state.chosen, state.points.length - 1);
      choose(state.chosen);
      find("[data-add]").disabled = state.points.length >= MOST;
      find("[data-remove]").disabled = state.points.length <= 1;
      if (focus) dots.children[state.chosen].focus({ preventScroll: true });
      redraw();
    }
    function choose(i) {
      state.chosen = i;
      [...dots.children].forEach((node, k) => node.classList.toggle("chosen", k === i));
    }
    function move(i, u, y) {
      if (state.asking) dismiss();
      state.points[i] = [clamp(u, REACH), clamp(y, TOP)];
      redraw();
      report();
    }
    function add(u, y) {
      if (state.asking) dismiss();
      if (state.points.length >= MOST) return;
      state.points.push([u, y]);
      state.chosen = state.points.length - 1;
      rebuild(true);
      report();
    }
    function remove(i) {
      if (state.asking) dismiss();
      if (state.points.length <= 1) return;
      state.points.splice(i, 1);
      rebuild(true);
      report();
    }
    function addSomewhere() { // where the points leave the widest gap, at no height
      const us = [-REACH, ...state.points.map((p) => p[0]).sort((a, b) => a - b), REACH];
      const gaps = us.slice(1).map((u, i) => u - us[i]), widest = gaps.indexOf(Math.max(...gaps));
      add((us[widest] + us[widest + 1]) / 2, 0);
    }

    function report() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const [u, y] = state.points[state.chosen], there = ask(model, state.points, [u]);
        find("[role=status]").textContent = `Point ${state.chosen + 1} at u ${shown(u)}, y ${shown(y)}. There the transformer `
          + `says ${shown(there.model[0])}, Bayes ${shown(there.bayes[0])}, one layer ${shown(there.one[0])}.`;
      }, PAUSE);
    }

    const inside = (event) => {
      const { left, top } = svg.getBoundingClientRect();
      return [g.U(event.clientX - left), g.V(event.clientY - top)];
    };
    function under(event) { // what may be dragged there; of points whose surroundings overlap, the nearest
      const node = event.target.closest(".dot, .ring");
      if (!node || node.matches(".ring")) return node;
      const { left, top } = svg.getBoundingClientRect(), [x, y] = [event.clientX - left, event.clientY - top];
      const far = state.points.map((p) => Math.hypot(g.X(p[0]) - x, g.Y(p[1]) - y));
      return dots.children[far.indexOf(Math.min(...far))];
    }
    let dragged = null, moved = false;
    svg.addEventListener("pointerdown", (event) => {
      const node = under(event);
      moved = false;
      if (!node || event.button) return;
      dragged = node;
      node.setPointerCapture(event.pointerId);
      node.focus({ preventScroll: true });
      if (node.matches(".dot")) choose([...dots.children].indexOf(node));
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (!dragged) return;
      moved = true;
      const [u, y] = inside(event);
      if (dragged.matches(".ring")) guess(y);
      else move([...dots.children].indexOf(dragged), u, y);
    });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { dragged = null; });
    svg.addEventListener("click", (event) => {
      if (!moved && !event.target.closest(".dot, .ring")) add(...inside(event));
    });
    svg.addEventListener("dblclick", (event) => {
      const node = under(event);
      if (node && node.matches(".dot")) remove([...dots.children].indexOf(node));
    });
    const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1], PageUp: [0, 1], PageDown: [0, -1] };
    svg.addEventListener("keydown", (event) => {
      const node = event.target.closest(".dot, .ring"), by = steps[event.key];
      if (!node) return;
      if (by && node.matches(".ring")) guess(state.guess + by[0] + by[1]);
      else if (by) move(state.chosen, state.points[state.chosen][0] + by[0], state.points[state.chosen][1] + by[1]);
      else if (node.matches(".dot") && ["Delete", "Backspace"].includes(event.key)) remove(state.chosen);
      else if (node.matches(".ring") && event.key === "Enter") answer();
      else return;
      event.preventDefault();
    });
    svg.addEventListener("focusin", (event) => {
      if (event.target.matches(".dot")) choose([...dots.children].indexOf(event.target));
    });

    // ---- the question ----

    function question() {
      Object.assign(state, { asking: true, ring: true });
      quiz.innerHTML = '<path class="way" fill="none"/><path class="head" fill="none"/><circle class="goal" r="9" fill="none"/>'
        + '<g class="ring" tabindex="0" role="slider" aria-label="Your guess: the height of the right end of the transformer’s '
        + `line, once point ${ASKED.point + 1} has dropped from y ${shown(START[ASKED.point][1])} to y ${shown(ASKED.to)}" aria-valuemin="${-TOP}" aria-valuemax="${TOP}">`
        + '<circle class="hit" r="22" fill="transparent"/><path d="M-14 0H14"/><circle r="7"/></g>'
        + '<text class="yours" text-anchor="end">your guess</text>';
      state.guess = ask(model, START, [REACH]).model[0];
      find("[data-words]").textContent = find("[data-words]").dataset.words;
      box.dataset.stage = "asking";
      redraw();
    }
    function placeRing() {
      const [u, y] = START[ASKED.point], x = g.X(u), at = g.Y(state.guess), ring = quiz.querySelector(".ring");
      const down = g.Y(ASKED.to) > g.Y(y) ? 1 : -1;
      quiz.querySelector(".way").setAttribute("d", `M${x} ${g.Y(y) + 14 * down}V${g.Y(ASKED.to) - 12 * down}`);
      quiz.querySelector(".head").setAttribute("d", `M${x - 5} ${g.Y(ASKED.to) - 20 * down}l5 ${8 * down}l5 ${-8 * down}`);
      quiz.querySelector(".goal").setAttribute("transform", `translate(${x} ${g.Y(ASKED.to)})`);
      ring.setAttribute("transform", `translate(${g.right} ${at})`);
      ring.setAttribute("aria-valuenow", state.guess.toFixed(2));
      ring.setAttribute("aria-valuetext", `y ${shown(state.guess)}`);
      const text = quiz.querySelector(".yours");
      text.setAttribute("x", g.right + 10);
      text.setAttribute("y", at - 17);
    }
    function guess(y) {
      if (!state.asking) return;
      state.guess = clamp(y, TOP);
      redraw();
    }
    function answer() {
      if (!state.asking) return;
      state.asking = false;
      box.dataset.stage = "moving";
      const from = START[ASKED.point][1], began = performance.now();
      const still = root.matchMedia("(prefers-reduced-motion: reduce)").matches;
      (function glide(now) {
        const part = still ? 1 : Math.min(1, Math.max(0, now - began) / GLIDE), eased = part * part * (3 - 2 * part);
        if (box.dataset.stage !== "moving") return;
        state.points[ASKED.point] = [START[ASKED.point][0], from + eased * (ASKED.to - from)];
        redraw();
        if (part < 1) requestAnimationFrame(glide);
        else verdict();
      })(began);
    }
    function verdict() {
      const there = ask(model, state.points, [REACH]), [t, b, o] = [there.model, there.bayes, there.one].map((ys) => ys[0]);
      const off = t - state.guess, followed = off > 0 ? "less" : "more"; // the point drops
      const near = Math.abs(off) < 0.2 ? "Well guessed." : `It follows one point ${followed} than you thought.`;
      find("[data-words]").textContent = `You said ${shown(state.guess)}. The transformer’s line ends at ${shown(t)}, Bayes at `
        + `${shown(b)}, one layer at ${shown(o)}. ${near} Now drag any point.`;
      quiz.querySelector(".ring").removeAttribute("tabindex");
      box.dataset.stage = "answered";
    }
    function dismiss() {
      Object.assign(state, { asking: false, ring: false });
      quiz.replaceChildren();
      find("[data-words]").textContent = find("[data-words]").dataset.after;
      box.dataset.stage = "free";
    }
    function free() { // the first move after the answer takes the guess away
      if (box.dataset.stage === "answered" || box.dataset.stage === "moving") dismiss();
    }

    find("[data-answer]").addEventListener("click", answer);
    find("[data-skip]").addEventListener("click", dismiss);
    find("[data-add]").addEventListener("click", () => { free(); addSomewhere(); });
    find("[data-remove]").addEventListener("click", () => { free(); remove(state.chosen); });
    find("[data-reset]").addEventListener("click", () => {
      state.points = START.map((p) => [...p]);
      state.chosen = ASKED.point;
      rebuild();
      question();
    });
    svg.addEventListener("pointerdown", free, true);
    svg.addEventListener("keydown", (event) => { if (event.key !== "Tab") free(); }, true);
    find("[data-layers]").addEventListener("change", (event) => { state.layers = event.target.checked; redraw(); });
    find("details.numbers").addEventListener("toggle", table);
    new ResizeObserver(() => { measure(); redraw(); }).observe(svg);

    measure();
    rebuild();
    question();
    step(); // at once: ready means drawn
    box.dataset.ready = "yes";
    root.iclLive = { times, state, step, consult: () => consult(model, state.points) }; // for the tests
  }

  const begin = () => document.querySelectorAll(".icl-live").forEach((box) => start(box, root.iclLiveModel(root.iclLiveWeights)));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})(typeof globalThis === "undefined" ? this : globalThis);
