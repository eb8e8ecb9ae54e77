/* The flow of chapter 5 in the reader's hands: closed forms and the three-scalar ODE, drawn as SVG.
   The same formulas as icl/theory/{scalar_flow,gd_beta,bayes_rates}.py at H = Psi = I; a test compares the numbers.
   No library, no network. Loading the file touches nothing; it looks for its place on the page once that has been read. */
(function (root) {
  "use strict";

  const tau = (p) => p.d + p.sigma2;
  const gammaStar = (p) => p.n / (p.n + 1 + tau(p)); // Theorem 5.2

  function minimalExcess(p) { // eq. (5.2) minus sigma2
    return (p.d * (1 + tau(p))) / (p.n + 1 + tau(p));
  }

  function sandwich(p) { // Corollary 6.2, in expectation
    if (p.sigma2 === 0) return { lower: 0, gdBeta: minimalExcess(p), upper: Infinity };
    const lower = (p.d * p.sigma2) / (p.n + p.sigma2);
    return { lower, gdBeta: minimalExcess(p), upper: (1 + (p.d + 1) / p.sigma2) * lower };
  }

  function tailRate(p) { // 2 P(Gamma*), Theorem 6.3
    const g = gammaStar(p);
    return 2 * ((1 - g) ** 2 + ((p.d + 1) * g * g) / p.n);
  }

  const betaBound = (p, t) => Math.exp((-4 * t) / (p.n + 2)); // Theorem 6.3

  function velocity(p, s) { // d/dt (r, gPar, gPerp)
    const [r, along, across] = s, n = p.n, T = p.d + r * r + p.sigma2, task = 1 + r * r;
    const pull = 1 - 2 * along + ((n + 1) / n) * along ** 2 + (along ** 2 + (p.d - 1) * across ** 2) / n;
    return [
      -2 * pull * r,
      -2 * (along * (((n + 1) / n) * task + T / n) - task),
      -2 * (across * ((n + 1) / n + T / n) - 1),
    ];
  }

  function excess(p, s) { // eq. (6.2)
    const [r, along, across] = s, n = p.n, omega = (n + 1 + tau(p)) / n, target = 1 / omega;
    const pull = (1 - along) ** 2 + along ** 2 / n + (along ** 2 + (p.d - 1) * across ** 2) / n;
    return r * r * pull + omega * ((along - target) ** 2 + (p.d - 1) * (across - target) ** 2);
  }

  /* (r, gPar, gPerp) at increasing times, from beta = 0, Gamma = 0: classical Runge-Kutta, each step a twentieth of the
     shortest time scale. */
  function flow(p, times) {
    let s = [p.beta_norm, 0, 0], t = 0;
    const add = (a, b, k) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
    return times.map((end) => {
      while (t < end) {
        const r2 = s[0] * s[0], fastest = 2 * (((p.n + 1) / p.n) * (1 + r2) + (p.d + r2 + p.sigma2) / p.n);
        const left = end - t, k = Math.min(0.05 / fastest, left);
        const a = velocity(p, s), b = velocity(p, add(s, a, k / 2));
        const c = velocity(p, add(s, b, k / 2)), e = velocity(p, add(s, c, k));
        s = [0, 1, 2].map((i) => s[i] + (k / 6) * (a[i] + 2 * b[i] + 2 * c[i] + e[i]));
        t = k === left ? end : t + k;
      }
      return s;
    });
  }

  const spaced = (from, to, count) =>
    Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));

  const maths = { gammaStar, minimalExcess, sandwich, tailRate, betaBound, velocity, excess, flow };
  if (typeof module !== "undefined") module.exports = maths;
  root.iclGradientFlow = maths;
  if (typeof document === "undefined") return;

  // ---- drawing -------------------------------------------------------------------------------------------------

  const W = 340, Hgt = 230, M = { left: 46, right: 18, top: 22, bottom: 34 };
  const svgNs = "http://www.w3.org/2000/svg";
  function el(name, attributes, text) {
    const node = document.createElementNS(svgNs, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function axes(svg, title, xlabel, x, y) {
    svg.replaceChildren();
    svg.append(el("text", { x: M.left, y: 13, class: "title" }, title));
    svg.append(el("text", { x: (M.left + W - M.right) / 2, y: Hgt - 4, "text-anchor": "middle" }, xlabel));
    const scale = (a, low, high) => {
      const f = a.log ? Math.log10 : (v) => v;
      return (v) => low + ((f(v) - f(a.from)) / (f(a.to) - f(a.from))) * (high - low);
    };
    const X = scale(x, M.left, W - M.right), Y = scale(y, Hgt - M.bottom, M.top);
    svg.append(el("path", { d: `M${M.left} ${M.top}V${Hgt - M.bottom}H${W - M.right}`, class: "axis" }));
    for (const v of ticks(x)) {
      svg.append(el("path", { d: `M${X(v)} ${Hgt - M.bottom}v4`, class: "axis" }));
      svg.append(el("text", { x: X(v), y: Hgt - M.bottom + 15, "text-anchor": "middle" }, label(v)));
    }
    for (const v of ticks(y)) {
      svg.append(el("path", { d: `M${M.left} ${Y(v)}h-4`, class: "axis" }));
      svg.append(el("text", { x: M.left - 6, y: Y(v) + 4, "text-anchor": "end" }, label(v)));
    }
    return (xs, ys, cls) => {
      let d = "", pen = false;
      xs.forEach((v, i) => {
        const ok = Number.isFinite(ys[i]) && (!y.log || ys[i] >= y.from);
        if (ok) d += `${pen ? "L" : "M"}${X(v).toFixed(2)} ${Math.min(Math.max(Y(ys[i]), M.top - 4), Hgt - M.bottom).toFixed(2)}`;
        pen = ok;
      });
      svg.append(el("path", { d, class: `line ${cls}` }));
    };
  }

  function ticks(a) {
    if (!a.log) return Array.from({ length: 5 }, (_, i) => a.from + ((a.to - a.from) * i) / 4);
    const low = Math.ceil(Math.log10(a.from) - 1e-9), high = Math.floor(Math.log10(a.to) + 1e-9);
    const stride = Math.max(1, Math.ceil((high - low) / 4)), found = [];
    for (let k = low; k <= high; k += stride) found.push(10 ** k);
    return found;
  }

  function label(v) {
    if (v !== 0 && (Math.abs(v) >= 1e4 || Math.abs(v) < 1e-2)) {
      const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹", k = Math.round(Math.log10(Math.abs(v)));
      return "10" + (k < 0 ? "⁻" : "") + [...String(Math.abs(k))].map((c) => digits[c]).join("");
    }
    return String(Number(v.toPrecision(3)));
  }

  function start(box) {
    const inputs = [...box.querySelectorAll("input[type=range]")], panels = box.querySelectorAll("svg");
    const summary = box.querySelector("[data-summary]");
    const read = () => Object.fromEntries(inputs.map((input) => [input.name, Number(input.value)]));
    const draw = () => {
      const p = read(), end = Math.max(10, 5 * (p.n + 2)), times = spaced(0.01, end, 160), path = flow(p, times);
      for (const input of inputs) box.querySelector(`output[for="${input.id}"]`).textContent = input.value;
      const g = gammaStar(p), along = path.map((s) => s[1]), peak = Math.max(...along);
      const time = { log: true, from: 0.01, to: end };
      let line = axes(panels[0], "the step: along and across the error of β", "time", time,
        { from: 0, to: Math.ceil(10 * Math.max(1, peak)) / 10 });
      line([0.01, end], [g, g], "ink dashed");
      line(times, along, "gd");
      if (p.d > 1) line(times, path.map((s) => s[2]), "green");
      line(times, path.map((s) => s[0] / (p.beta_norm || 1)), "bayes");
      line = axes(panels[1], "excess risk, and |r|² with its bound", "time", time, { log: true, from: 1e-8, to: 1e3 });
      line(times, times.map((t) => (p.beta_norm * betaBound(p, t)) ** 2), "bayes dashed");
      line(times, path.map((s) => s[0] ** 2), "bayes");
      line(times, path.map((s) => excess(p, s)), "gd");
      const lengths = spaced(1, 1000, 120), at = lengths.map((n) => sandwich({ ...p, n }));
      line = axes(panels[2], "excess at the minimum, between its bounds", "context length n",
        { log: true, from: 1, to: 1000 }, { log: true, from: 1e-4, to: 1e4 });
      line(lengths, at.map((b) => b.lower), "ink dashed");
      line(lengths, at.map((b) => b.upper), "ink dashed");
      line(lengths, at.map((b) => b.gdBeta), "gd");
      line([p.n, p.n], [1e-4, minimalExcess(p)], "ink");
      const over = 100 * (peak / g - 1);
      summary.textContent =
        `Γ* = ${g.toFixed(4)}, least excess ${minimalExcess(p).toFixed(4)}, final rate of β ${tailRate(p).toFixed(4)}, ` +
        (over > 0.05 ? `overshoot ${over.toFixed(1)} %.` : "no overshoot.");
    };
    inputs.forEach((input) => input.addEventListener("input", draw));
    box.querySelector("button").addEventListener("click", () => {
      inputs.forEach((input) => { input.value = input.defaultValue; });
      draw();
    });
    box.hidden = false;
    draw();
  }

  const begin = () => document.querySelectorAll(".icl-explorer").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})(typeof globalThis === "undefined" ? this : globalThis);
