/* Explorables: sliders that move curves on a static page. No library, no network, no kernel; works from the disk.

   The page holds the controls, the empty panels and the empty numbers as HTML, written by
   icl/explorables.py, so that every box has its size before a script runs. A chapter's file
   assets/<name>.js says what to draw:

     (function (root) {
       const maths = { optimum: (p) => ... };                    // pure functions, compared with Python by the tests
       function draw(p, view) {                                  // p: the controls' values by name, e.g. p.n
         const plot = view.panel(0, {                            // the first panel: its title and its two axes
           title: "risk of one step",
           x: { label: "step", from: 0, to: 2 },                 // log: true for a logarithmic axis (from > 0)
           y: { label: "", from: 0, to: 1 },
         });
         plot.line(xs, ys, { colour: "gd", label: "risk" });     // also dashed, thin, pale; the label sits at x = `at` or
                                                                 // at the curve's end, above it or at its `place`:
                                                                 // "below", "left", "right"; NaN and what leaves the
                                                                 // frame are cut
         plot.band(xs, low, high, { colour: "bayes" });          // the area between two curves
         plot.point(x, y, { colour: "ink", label: "you",         // a point with `drag` is dragged, by mouse or finger:
           drag: (x, y) => ({ n: x }) });                        // from where it is taken to, the controls' values
         plot.rule({ y: 1 }, { label: "predicting zero" });      // a straight line at y or at x
         view.number("risk", 1.44);                              // fills a declared number; a text is taken as it is
       }
       if (typeof module !== "undefined") module.exports = maths;
       (root.iclExplorables = root.iclExplorables || []).push({ name: "<name>", maths, draw });
     })(typeof globalThis === "undefined" ? this : globalThis);

   Colours are the names of icl.figures.COLOURS, or "ink". `view.data` is what Python's `data=` held, `view.format` the
   number format (four significant digits). draw is called once at the start and after every move of a control; it
   keeps nothing between calls. All the rest is done here: reading the controls, their keyboard and touch, the state in
   the address (#name.control=value&..., only what differs from the start; several explorables share it), Reset,
   Copy link, and telling screen readers the new numbers once the reader pauses. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  if (root.iclExplorables && !Array.isArray(root.iclExplorables)) return; // loaded before

  const WIDTH = 340, HEIGHT = 240, EDGE = { left: 44, right: 14, top: 26, bottom: 38 };
  const FRAME = { left: EDGE.left, right: WIDTH - EDGE.right, top: EDGE.top, bottom: HEIGHT - EDGE.bottom };
  const PAUSE = 400; // ms without a move before the address is rewritten and the numbers are read out
  const FRAME_TIME = 350; // ms for one step of a film, shorter than PAUSE: numbers are read out at its end
  const REACH = 20; // how far from a point it is still taken hold of, in units of the panel

  // ---- numbers -----------------------------------------------------------------------------------------------------

  const superscript = (k) => [...String(k)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");

  function format(v, digits = 4) {
    if (!Number.isFinite(v)) return Number.isNaN(v) ? "–" : v > 0 ? "∞" : "−∞";
    if (v === 0) return "0";
    const size = Math.abs(v);
    let text;
    if (size >= 1e5 || size < 1e-3) {
      const [mantissa, exponent] = v.toExponential(digits - 1).split("e");
      const factor = Number(mantissa);
      text = (factor === 1 ? "" : `${factor} · `) + "10" + superscript(Number(exponent));
    } else {
      text = size >= 1000 ? String(Math.round(v)) : v.toPrecision(digits);
    }
    return text.replace("-", "−");
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  function svg(name, attributes, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function ticks(axis) {
    const found = [];
    if (axis.log) {
      const low = Math.floor(Math.log10(axis.from) + 1e-9), high = Math.ceil(Math.log10(axis.to) - 1e-9);
      const stride = Math.max(1, Math.ceil((high - low) / 5)), factors = high - low <= 2 ? [1, 2, 5] : [1];
      for (let k = low; k <= high; k += stride) for (const f of factors) found.push(f * 10 ** k);
    } else {
      const raw = (axis.to - axis.from) / 4, unit = 10 ** Math.floor(Math.log10(raw));
      const step = unit * [1, 2, 5, 10].find((f) => f * unit >= raw * 0.999);
      for (let k = Math.ceil(axis.from / step - 1e-9); k * step <= axis.to + 1e-9 * step; k++) found.push(k * step);
    }
    const slack = 1e-9 * Math.abs(axis.to);
    return found.filter((v) => v >= axis.from - slack && v <= axis.to + slack);
  }

  function tickLabel(v) {
    const size = Math.abs(v);
    if (size < 1e4 && (size >= 1e-2 || size === 0)) return String(Number(v.toPrecision(3))).replace("-", "−");
    const [mantissa, exponent] = v.toExponential(1).split("e").map(Number);
    return `${mantissa === 1 ? "" : `${mantissa}·`}10${superscript(exponent)}`.replace("-", "−");
  }

  const scale = (axis, low, high) => {
    const f = axis.log ? Math.log10 : (v) => v;
    return (v) => low + ((f(v) - f(axis.from)) / (f(axis.to) - f(axis.from))) * (high - low);
  };

  function back(axis, low, high) { // from a place, held within the frame, to the number there
    const f = axis.log ? Math.log10 : (v) => v, inverse = axis.log ? (v) => 10 ** v : (v) => v;
    return (place) => {
      const share = Math.min(Math.max((place - low) / (high - low), 0), 1);
      return inverse(f(axis.from) + share * (f(axis.to) - f(axis.from)));
    };
  }

  /* How much of some curves lies in a box: their points in cells of two units, summed from the corner. */
  const CELL = 2, ACROSS = WIDTH / CELL, DOWN = HEIGHT / CELL;
  function inkMap(curves) {
    const cells = new Uint8Array(ACROSS * DOWN), sums = new Uint32Array((ACROSS + 1) * (DOWN + 1));
    for (const points of curves) {
      points.forEach((p, i) => {
        const before = p && points[i - 1];
        if (!before) return;
        const top = (v) => Math.min(Math.max(v, FRAME.top - 9), FRAME.bottom + 9), [y0, y1] = [before[1], p[1]].map(top);
        const steps = Math.max(1, Math.ceil(Math.hypot(p[0] - before[0], y1 - y0)));
        for (let s = 0; s <= steps; s++) {
          const column = Math.floor((before[0] + ((p[0] - before[0]) * s) / steps) / CELL), row = Math.floor((y0 + ((y1 - y0) * s) / steps) / CELL);
          if (column >= 0 && column < ACROSS && row >= 0 && row < DOWN) cells[row * ACROSS + column] = 1;
        }
      });
    }
    for (let row = 0; row < DOWN; row++) {
      for (let column = 0, sum = 0; column < ACROSS; column++) {
        sum += cells[row * ACROSS + column];
        sums[(row + 1) * (ACROSS + 1) + column + 1] = sums[row * (ACROSS + 1) + column + 1] + sum;
      }
    }
    const to = (v, most) => Math.min(Math.max(Math.round(v / CELL), 0), most);
    return ({ left, top, width, height }) => {
      const [x0, x1] = [left, left + width].map((v) => to(v, ACROSS)), [y0, y1] = [top, top + height].map((v) => to(v, DOWN));
      const sum = (x, y) => sums[y * (ACROSS + 1) + x];
      return sum(x1, y1) - sum(x0, y1) - sum(x1, y0) + sum(x0, y0);
    };
  }

  function Plot(node, id, { title, x, y }) {
    const X = scale(x, FRAME.left, FRAME.right), Y = scale(y, FRAME.bottom, FRAME.top), labels = [], handles = [];
    const drawn = []; // of every curve its points, for labels to stay off
    const fromX = back(x, FRAME.left, FRAME.right), fromY = back(y, FRAME.bottom, FRAME.top);
    const clip = svg("clipPath", { id });
    clip.append(svg("rect", { x: FRAME.left, y: FRAME.top - 2, width: FRAME.right - FRAME.left + 2,
      height: FRAME.bottom - FRAME.top + 3 }));
    const curves = svg("g", { "clip-path": `url(#${id})` }), frame = svg("g", {}), words = svg("g", {});
    node.replaceChildren(clip, frame, curves, words);
    frame.append(svg("text", { x: 2, y: 14, class: "title" }, title));
    frame.append(svg("path", { d: `M${FRAME.left} ${FRAME.top}V${FRAME.bottom}H${FRAME.right}`, class: "axis" }));
    for (const v of ticks(x)) {
      frame.append(svg("path", { d: `M${X(v)} ${FRAME.bottom}v4`, class: "axis" }));
      frame.append(svg("text", { x: X(v), y: FRAME.bottom + 16, "text-anchor": "middle" }, tickLabel(v)));
    }
    for (const v of ticks(y)) {
      frame.append(svg("path", { d: `M${FRAME.left} ${Y(v)}h-4`, class: "axis" }));
      frame.append(svg("text", { x: FRAME.left - 7, y: Y(v) + 4, "text-anchor": "end" }, tickLabel(v)));
    }
    frame.append(svg("text", { x: (FRAME.left + FRAME.right) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, x.label));
    if (y.label) frame.append(svg("text", { x: FRAME.left + 6, y: FRAME.top + 8 }, y.label));

    // far outside the frame is far enough: browsers draw wrong what lies millions of pixels away
    const at = (a, b) => [X(a), Math.min(Math.max(Y(b), -HEIGHT), 2 * HEIGHT)];
    const drawable = (a, b) => Number.isFinite(a) && Number.isFinite(b) && !(y.log && b <= 0) && !(x.log && a <= 0);
    const inside = (a, b) => drawable(a, b) && Y(b) >= FRAME.top - 1 && Y(b) <= FRAME.bottom + 1;
    const style = ({ colour = "ink", dashed, thin, pale }) =>
      ["ink-" + colour, dashed && "dashed", thin && "thin", pale && "pale"].filter(Boolean).join(" ");

    /* A label stands at one of `spots`, the first of them the one that is wished for; `ink` is what it names. */
    const note = (spots, ink, { label, colour = "ink", place }) => labels.push({ spots, ink, text: label, colour, place });

    function line(xs, ys, options = {}) {
      const points = xs.map((v, i) => (drawable(v, ys[i]) ? at(v, ys[i]) : null));
      const d = points.map((p, i) => (p ? (points[i - 1] ? "L" : "M") + p.map((c) => c.toFixed(2)).join(" ") : "")).join("");
      curves.append(svg("path", { d, class: `line ${style(options)}` }));
      const ink = drawn.push(points) - 1;
      if (!options.label) return;
      const wish = options.at === undefined ? FRAME.right : X(options.at);
      const spots = points.filter((p, i) => p && inside(xs[i], ys[i])).sort((p, q) => Math.abs(p[0] - wish) - Math.abs(q[0] - wish));
      if (spots.length) note(spots, ink, options);
    }

    function band(xs, low, high, options = {}) {
      const kept = xs.map((v, i) => i).filter((i) => drawable(xs[i], low[i]) && drawable(xs[i], high[i]));
      if (kept.length < 2) return;
      const corner = (i, ys) => at(xs[i], ys[i]).map((c) => c.toFixed(2)).join(" ");
      const d = "M" + [...kept.map((i) => corner(i, high)), ...kept.reverse().map((i) => corner(i, low))].join("L") + "Z";
      curves.append(svg("path", { d, class: `band ${style(options)}` }));
    }

    function rule({ x: a, y: b }, options = {}) {
      const d = a === undefined ? `M${FRAME.left} ${Y(b)}H${FRAME.right}` : `M${X(a)} ${FRAME.top}V${FRAME.bottom}`;
      curves.append(svg("path", { d, class: `line ${style({ thin: true, ...options })}` }));
      const flat = a === undefined, low = flat ? FRAME.left : FRAME.top, high = flat ? FRAME.right : FRAME.bottom;
      const points = Array.from({ length: 41 }, (_, i) => low + ((high - low) * i) / 40).map((c) => (flat ? [c, Y(b)] : [X(a), c]));
      const ink = drawn.push(points) - 1, wish = flat ? (options.at === undefined ? FRAME.right : X(options.at)) : FRAME.top + 12;
      const seen = ([left, top]) => left >= FRAME.left - 1 && left <= FRAME.right + 1 && top >= FRAME.top - 1 && top <= FRAME.bottom + 1;
      const far = (p) => Math.abs(p[flat ? 0 : 1] - wish), spots = points.filter(seen).sort((p, q) => far(p) - far(q));
      if (options.label && spots.length) note(spots, ink, options);
    }

    function point(a, b, options = {}) {
      if (!inside(a, b) || X(a) < FRAME.left - 1 || X(a) > FRAME.right + 1) return;
      if (options.drag) {
        handles.push({ x: X(a), y: Y(b), drag: (left, top) => options.drag(fromX(left), fromY(top)) });
        words.append(svg("circle", { cx: X(a), cy: Y(b), r: 10, class: `grab ${style(options)}` }));
      }
      words.append(svg("circle", { cx: X(a), cy: Y(b), r: 4.5, class: `point ${style(options)}` }));
      const dot = [[-4, -4], [4, 4], [4, -4], [-4, 4], [-4, -4]].map(([right, down]) => [X(a) + right, Y(b) + down]);
      const ink = drawn.push(dot) - 1;
      if (options.label) note([0, 12, -12, 24, -24].map((aside) => [X(a) + aside, Y(b)]), ink, options);
    }

    /* Direct labels, once all curves are drawn. Of all places along what a label names, on either side of it, it takes
       the one where it hides no other label and no curve, is nearest to its own and not far from where it is wished. */
    function finish() {
      const maps = drawn.map((points) => inkMap([points])), all = inkMap(drawn), taken = [];
      for (const { spots, ink, text, colour, place } of labels) {
        const node = svg("text", { class: `label ink-${colour}` }, text);
        words.append(node);
        const width = node.getComputedTextLength() || 6 * text.length;
        const sides = { above: [-width / 2, -18], below: [-width / 2, 6], right: [8, -7], left: [-width - 8, -7] };
        const order = [place || "above", ...Object.keys(sides).filter((side) => side !== (place || "above"))];
        let best;
        const stride = Math.max(1, Math.floor(spots.length / 40));
        spots.forEach(([x, y], i) => {
          if (i % stride) return;
          order.forEach((side, k) => [0, 6, 14, 26, 40].forEach((away) => {
            const [right, down] = sides[side], out = { above: [0, -1], below: [0, 1], right: [1, 0], left: [-1, 0] }[side];
            const left = Math.min(Math.max(x + right + away * out[0], FRAME.left + 4), FRAME.right - width);
            const box = { left, top: y + down + away * out[1], width, height: 12 };
            if (box.top < FRAME.top - 6 || box.top + 13 > FRAME.bottom) return;
            const hidden = taken.filter((t) => left - 2 < t.left + t.width && t.left < left + width + 2 &&
              box.top < t.top + 12 && t.top < box.top + 12).length;
            const tight = { left: left - 1, top: box.top - 1, width: width + 2, height: 15 };
            const near = { left: left - 9, top: box.top - 7, width: width + 18, height: 27 };
            const own = maps[ink](near), others = all(near) - own; // it is read as the name of the nearest curve
            const far = Math.hypot(x - spots[0][0], y - spots[0][1]);
            const cost = 1e4 * hidden + 20 * all(tight) + 2 * others + (own ? 0 : 90) + 0.1 * far + 0.5 * away + 3 * k;
            if (!best || cost < best.cost) best = { ...box, cost };
          }));
        });
        best = best || { left: Math.min(spots[0][0], FRAME.right - width), top: Math.max(spots[0][1] - 18, FRAME.top - 6) };
        taken.push({ ...best, width });
        node.setAttribute("x", best.left.toFixed(1));
        node.setAttribute("y", (best.top + 10).toFixed(1));
      }
    }
    return { line, band, rule, point, finish, handles };
  }

  // ---- the address -------------------------------------------------------------------------------------------------

  /* The state in the fragment: the one part of an address that a page opened from the disk may change. */
  function readAddress() {
    const found = new Map();
    for (const part of location.hash.slice(1).split("&")) {
      const [, key, value] = part.match(/^([\w-]+\.[\w-]+)=(.*)$/) || [];
      if (!key) continue;
      try { found.set(key, decodeURIComponent(value)); } catch { /* a damaged link: leave that control alone */ }
    }
    return found;
  }

  const fragment = (state) => [...state].map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");

  function writeAddress(name, own) {
    const state = new Map([...readAddress()].filter(([key]) => !key.startsWith(`${name}.`)));
    own.forEach((value, key) => state.set(key, value));
    if (state.size) history.replaceState(null, "", `#${fragment(state)}`);
    else if (readAddress().size) history.replaceState(null, "", location.href.split("#")[0]);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false; // no permission: the address bar holds the same link
    }
  }

  // ---- one explorable ----------------------------------------------------------------------------------------------

  function start(box, { name, draw }) {
    if (box.dataset.ready) return;
    const config = JSON.parse(box.querySelector("script[type='application/json']").textContent);
    const panels = [...box.querySelectorAll("svg")], status = box.querySelector("[role=status]");
    const controls = config.controls.map((control) => {
      const input = box.querySelector(`[name="${control.name}"]`);
      return { ...control, input, shown: box.querySelector(`output[for="${input.id}"]`) };
    });

    const value = (control) => control.values[control.input.type === "range" ? Number(control.input.value) : control.input.selectedIndex];
    function set(control, index) {
      if (control.input.type === "range") control.input.value = index;
      else control.input.selectedIndex = index;
    }
    function closest(control, wanted) {
      const distance = control.values.map((v) => Math.abs(v - wanted));
      return distance.indexOf(Math.min(...distance));
    }
    function nearest(control, text) { // a link may come from a book run with other parameters
      const exact = control.values.findIndex((v) => String(v) === text), wanted = Number(text);
      if (exact >= 0 || text === "" || !Number.isFinite(wanted) || control.input.type !== "range") return exact;
      return closest(control, wanted);
    }
    const toStart = (control) => set(control, control.values.indexOf(control.start));

    let plots = [];
    function redraw() {
      const p = Object.fromEntries(controls.map((control) => [control.name, value(control)]));
      for (const { input, shown, unit } of controls) {
        if (!shown) continue;
        shown.textContent = format(p[input.name], 6).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
        if (input.type === "range") input.style.setProperty("--icl-at", input.value / (input.max || 1)); // fills the track
        input.setAttribute("aria-valuetext", `${shown.textContent}${unit ? " " + unit : ""}`);
      }
      draw(p, {
        data: config.data,
        format,
        panel(i, axes) {
          return (plots[i] = Plot(panels[i], `icl-${name}-clip-${i}`, axes));
        },
        number(key, v) {
          box.querySelector(`[data-number="${key}"]`).textContent = typeof v === "number" ? format(v) : v;
        },
      });
      plots.forEach((plot) => plot.finish());
    }

    const own = () => new Map(controls.filter((c) => value(c) !== c.start).map((c) => [`${name}.${c.name}`, value(c)]));
    const readOut = () => [...box.querySelectorAll("[data-number]")]
      .map((node) => `${node.closest("div").querySelector("dt").textContent} ${node.textContent}`).join("; ");
    let timer;
    function moved() {
      redraw();
      clearTimeout(timer);
      timer = setTimeout(() => { writeAddress(name, own()); status.textContent = readOut(); }, PAUSE);
    }
    /* A point with `drag` takes the controls along; for the keyboard there are the sliders. */
    function draggable(panel, i) {
      let held = -1;
      const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.getScreenCTM().inverse());
      panel.addEventListener("pointerdown", (event) => {
        const { x, y } = place(event), far = plots[i].handles.map((handle) => Math.hypot(handle.x - x, handle.y - y));
        held = far.length && Math.min(...far) <= REACH ? far.indexOf(Math.min(...far)) : -1;
        if (held < 0) return;
        panel.setPointerCapture(event.pointerId); // drawing anew takes the point itself away
        event.preventDefault();
      });
      panel.addEventListener("pointermove", (event) => {
        const handle = held < 0 ? undefined : plots[i].handles[held];
        if (!handle) return;
        const { x, y } = place(event), before = controls.map(({ input }) => input.value).join();
        for (const [name, wanted] of Object.entries(handle.drag(x, y))) {
          const control = controls.find((one) => one.name === name);
          set(control, closest(control, wanted));
        }
        if (controls.map(({ input }) => input.value).join() !== before) moved();
      });
      for (const end of ["pointerup", "pointercancel"]) panel.addEventListener(end, () => { held = -1; });
    }
    function restore() {
      const state = readAddress();
      controls.forEach((control) => {
        const index = state.has(`${name}.${control.name}`) ? nearest(control, state.get(`${name}.${control.name}`)) : -1;
        if (index >= 0) set(control, index);
        else toStart(control);
      });
      redraw();
      return [...state.keys()][0]?.startsWith(`${name}.`);
    }

    /* A slider as a film: to its end, or from there back; the buttons beside go one step. */
    function film(buttons) {
      const control = controls.find(({ name }) => name === buttons.dataset.film), play = buttons.querySelector("[data-play]");
      const words = play.textContent, last = control.values.length - 1, at = () => Number(control.input.value);
      let clock;
      const name = () => { play.textContent = clock ? "Pause" : at() === last ? words.replace("Play", "Play back") : words; };
      const stop = () => { clearInterval(clock); clock = undefined; name(); };
      play.addEventListener("click", () => {
        if (clock) return stop();
        const step = at() === last ? -1 : 1;
        clock = setInterval(() => {
          set(control, at() + step);
          moved();
          if (at() === 0 || at() === last) stop();
        }, FRAME_TIME);
        name();
      });
      for (const one of buttons.querySelectorAll("[data-step]")) {
        one.addEventListener("click", () => {
          stop();
          set(control, Math.min(Math.max(at() + Number(one.dataset.step), 0), last));
          moved();
          name();
        });
      }
      box.addEventListener("input", stop); // whoever takes a slider has it
      box.querySelector("[data-reset]").addEventListener("click", stop);
    }

    controls.forEach(({ input }) => input.addEventListener("input", moved));
    box.querySelectorAll("[data-film]").forEach(film);
    panels.forEach(draggable);
    box.querySelector("[data-reset]").addEventListener("click", () => { controls.forEach(toStart); moved(); });
    box.querySelector("[data-copy]").addEventListener("click", async () => {
      clearTimeout(timer); // or the numbers would be said in place of what became of the link
      writeAddress(name, own());
      const link = `${location.href.split("#")[0]}#${fragment(own().size ? own() : new Map([[`${name}.${controls[0].name}`, value(controls[0])]]))}`;
      const done = await copy(link);
      if (!done) history.replaceState(null, "", link);
      status.textContent = done ? "Link copied." : "The link is in the address bar.";
      const button = box.querySelector("[data-copy]"), label = button.dataset.copy;
      button.textContent = done ? "Copied" : "In address bar";
      setTimeout(() => { button.textContent = label; }, 2000);
    });
    root.addEventListener("hashchange", () => { if (readAddress().size) restore(); });
    box.dataset.ready = "yes";
    box.querySelector(".live").hidden = false;
    if (!restore()) return;
    const lead = () => box.scrollIntoView({ block: "center" }); // a shared link leads here; equations above move it once more
    lead();
    root.addEventListener("load", () => (root.MathJax?.startup?.promise || Promise.resolve()).then(lead));
  }

  function install(explorable) {
    document.querySelectorAll(`[data-explorable="${explorable.name}"]`).forEach((box) => start(box, explorable));
  }

  const begin = () => {
    const waiting = root.iclExplorables || [];
    root.iclExplorables = { push: install, Plot, format }; // press/static_panels.js draws with them
    waiting.forEach(install);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})(typeof globalThis === "undefined" ? this : globalThis);
