/* Chapter 3: ten kinds of target, one law of the step. The moments of icl/theory/nonlinear_targets.py, x ~ N(0, I);
   drawn by explorable.js. */
(function (root) {
  "use strict";

  const S = 0.6; // sine and cosine have w ~ N(0, S² I); icl.targets.FREQUENCY
  const KAPPA = 1; // of the network; icl.targets.KAPPA

  /* E φ(z)z, E φ² (z² + d − 1), E φ² for φ = tanh(2z): the trapezoidal rule, exact to rounding for such a function. */
  function singleIndex(d) {
    const h = 0.02;
    let along = 0, weighted = 0, power = 0;
    for (let z = -12; z <= 12 + h / 2; z += h) {
      const weight = (h * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI), value = Math.tanh(2 * z);
      along += weight * value * z;
      weighted += weight * value * value * (z * z + d - 1);
      power += weight * value * value;
    }
    return { a: along * along, weighted, power };
  }

  /* a = E|w_f|², weighted = E f²|x|², power = E f², by family. */
  const MOMENTS = {
    linear: (d) => ({ a: d, weighted: d * (d + 2), power: d }),
    relu_network: (d) => ({ a: (KAPPA * d) / 4, weighted: (KAPPA * d * (d + 2)) / 2, power: (KAPPA * d) / 2 }),
    sign: (d) => ({ a: 2 / Math.PI, weighted: d, power: 1 }),
    cubic_unit: (d) => ({ a: 9, weighted: 15 * (d + 6), power: 15 }),
    cubic_gaussian(d) {
      const sixth = d * (d + 2) * (d + 4);
      return { a: 9 * sixth, weighted: 15 * sixth * (d + 6), power: 15 * sixth };
    },
    quadratic: (d) => ({ a: 0, weighted: d * (d + 2) * (d + 4), power: d * (d + 2) }),
    linear_quadratic(d) {
      const line = MOMENTS.linear(d), bowl = MOMENTS.quadratic(d);
      return { a: line.a, weighted: line.weighted + bowl.weighted / 4, power: line.power + bowl.power / 4 };
    },
    sine(d) {
      const shrink = (1 + 4 * S * S) ** (-d / 2);
      return {
        a: 2 * d * S * S * (1 + 2 * S * S) ** (-d / 2 - 1),
        weighted: d * (1 - shrink + (4 * S * S * shrink) / (1 + 4 * S * S)),
        power: 1 - shrink,
      };
    },
    cosine: (d) => ({ a: d * S * S * (1 + 2 * S * S) ** (-d / 2 - 1), weighted: d, power: 1 }),
    single_index: singleIndex,
  };

  const b = (m, p) => m.weighted + p.sigma2 * p.d; // E y²|x|²
  const stepSize = (m, p) => m.a / ((p.n - 1) * m.a + b(m, p)); // Theorem 3
  const minimalRisk = (m, p) => m.power + p.sigma2 - p.n * m.a * stepSize(m, p);
  const noiseAlike = (m, p) => b(m, p) / m.a - p.d - 2; // the noise at which linear targets take the same step

  const moments = (family, d) => MOMENTS[family](d);
  const maths = { families: Object.keys(MOMENTS), moments, b, stepSize, minimalRisk, noiseAlike };

  function draw(p, view) {
    const m = moments(p.family, p.d), most = Math.max(1000, p.n);
    const ns = Array.from({ length: 91 }, (_, i) => most ** (i / 90));
    const step = (of) => ns.map((n) => n * stepSize(of, { ...p, n }));
    const x = { label: "context length n", log: true, from: 1, to: most };

    let plot = view.panel(0, { title: `the step nη* for ${view.data[p.family]}`, x, y: { label: "", from: 0, to: 1 } });
    for (const family of maths.families) plot.line(ns, step(moments(family, p.d)), { pale: true });
    plot.rule({ y: 0.5 }, { colour: "zero", dashed: true });
    plot.line(ns, step(m), { colour: "gd" });
    plot.point(p.n, p.n * stepSize(m, p), { colour: "gd", drag: (n) => ({ n }) });

    const zero = m.power + p.sigma2, noise = p.sigma2 / zero, floor = (zero - m.a) / zero;
    const risk = ns.map((n) => minimalRisk(m, { ...p, n }) / zero), level = (v) => ns.map(() => v);
    plot = view.panel(1, { title: "least risk, in units of predicting 0", x, y: { label: "", from: 0, to: 1 } });
    plot.band(ns, level(0), level(noise), { colour: "zero" });
    plot.band(ns, level(noise), level(floor), { colour: "ink" }); // no predictor's colour: none can avoid it
    plot.band(ns, level(floor), risk, { colour: "gd" });
    plot.line(ns, risk, { colour: "gd" });
    if (noise > 0.05) plot.rule({ y: noise }, { colour: "zero", label: "noise", at: 3, place: "below" });
    if (floor - noise > 0.05) plot.rule({ y: floor }, { colour: "ink", label: "not linear in x", at: 6, place: "below" });
    plot.point(p.n, minimalRisk(m, p) / zero, { colour: "gd", drag: (n) => ({ n }) });

    view.number("a", m.a);
    view.number("half", m.a > 0 ? b(m, p) / m.a - 1 : Infinity);
    view.number("alike", m.a > 0 ? noiseAlike(m, p) : Infinity);
    view.number("step", p.n * stepSize(m, p));
    view.number("explained", `${(100 * (1 - minimalRisk(m, p) / zero)).toFixed(1)} %`);
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "nonlinear_targets", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
