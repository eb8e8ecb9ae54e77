/* Chapter 10: the error of linear attention fitted to P prompts of K tasks, for large d. The formulas of
   icl/theory/how_many_tasks.py; drawn by explorable.js. */
(function (root) {
  "use strict";

  // tr (R + s)⁻¹/d and tr (R + s)⁻²/d for kappa·d Gaussian tasks
  function resolvent(s, kappa) {
    const shift = s + 1 - 1 / kappa, M = 2 / (shift + Math.sqrt(shift * shift + (4 * s) / kappa));
    return [M, (M * M) / (1 - (M * M) / kappa / (1 + M / kappa) ** 2)];
  }

  // k = ridge + k df(k)/tau, by bisection
  function effectiveRidge(p, q) {
    if (p.tau === Infinity || (p.ridge === 0 && p.tau >= 1)) return p.ridge;
    const df = (k) => 1 - k * resolvent(q + k, p.kappa)[0];
    const above = p.ridge === 0 ? (k) => df(k) < p.tau : (k) => k - p.ridge - (k * df(k)) / p.tau > 0;
    let low = p.ridge, high = p.ridge + (1 + q) / p.tau;
    for (let i = 0; i < 100; i++) {
      const middle = (low + high) / 2;
      if (above(middle)) high = middle; else low = middle;
    }
    return (low + high) / 2;
  }

  function limit(p) {
    const q = (1 + p.rho) / p.alpha, k = effectiveRidge(p, q), s = q + k, [M, D] = resolvent(s, p.kappa);
    const gain = 1 - s * M, gain2 = 1 - 2 * s * M + s * s * D, lost = (1 - 2 * k * M + k * k * D) / p.tau;
    if (lost >= 1) return [Infinity, Infinity];
    const seen = (p.rho + s - s * s * M - k * gain2) / (1 - lost); // 1 − tr ΓR/d = s − s²M
    return [p.rho + 1 - 2 * gain + (1 + q) * (gain2 + ((M - k * D) * seen) / p.tau), seen];
  }

  const maths = { resolvent, limit };

  function draw(p, view) {
    const [fresh, seen] = limit(p), zero = 1 + p.rho, top = 2.2 * zero;
    const grid = (from, to) => Array.from({ length: 241 }, (_, i) => from * (to / from) ** (i / 240));
    const curves = (name, title, label) => {
      const xs = grid(0.1, 100), both = xs.map((x) => limit({ ...p, [name]: x })), drag = (x) => ({ [name]: x });
      const plot = view.panel(name === "tau" ? 0 : 1, {
        title, x: { label, log: true, from: 0.1, to: 100 }, y: { label: "", from: 0, to: top },
      });
      plot.rule({ y: zero }, { colour: "zero", label: "answering 0", at: 60 });
      plot.rule({ x: 1 }, { dashed: true });
      plot.line(xs, both.map((e) => e[0]), { colour: "gd" });
      plot.line(xs, both.map((e) => e[1]), { colour: "bayes", dashed: true });
      if (fresh <= top) plot.point(p[name], fresh, { colour: "gd", label: "new", place: "above", drag });
      if (seen <= top) plot.point(p[name], seen, { colour: "bayes", label: "seen", place: "below", drag });
    };
    curves("tau", "error per dimension, against prompts", "prompts P/d²");
    curves("kappa", "error per dimension, against tasks", "tasks K/d");
    view.number("new", fresh);
    view.number("seen", seen);
    view.number("endless_prompts", limit({ ...p, tau: Infinity, ridge: 0 })[0]);
    view.number("endless_tasks", limit({ ...p, kappa: Infinity })[0]);
    view.number("least", limit({ ...p, tau: Infinity, kappa: Infinity, ridge: 0 })[0]);
    view.number("zero", zero);
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "how_many_tasks", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
