/* Chapter 9: two softmax heads ±q against linear attention and the floors. The sums over nodes of
   icl/theory/softmax_heads.py, with fewer nodes; drawn by explorable.js. */
(function (root) {
  "use strict";

  const linear = (p) => p.sigma2 + (p.d * (p.d + 1 + p.sigma2)) / (p.n + p.d + 1 + p.sigma2);
  const limit = (p) => (p.n > 1 ? linear({ ...p, n: p.n - 1 }) : p.d + p.sigma2);
  const stepSize = (p) => 1 / (p.n + p.d + 1 + p.sigma2);

  const span = (from, to, step) => Array.from({ length: Math.max(1, Math.ceil((to - from) / step)) }, (_, i) => from + i * step);
  const total = (values) => values.reduce((sum, v) => sum + v, 0);

  // sigma2 + d E c / (chi²_m + c), with E 1/(chi²_m + c) = ∫ e^{−cs} (1 + 2s)^{−m/2} ds, in u = cs
  function floor(p, zeroSum) {
    const m = p.n - (zeroSum ? 1 : 0), c = p.d - 1 + p.sigma2;
    if (c === 0) return p.sigma2 + (m ? 0 : p.d);
    const share = total(span(-40, 5, 0.1).map((a) => Math.exp(a - Math.exp(a) - (m / 2) * Math.log1p((2 * Math.exp(a)) / c)))) * 0.1;
    return p.sigma2 + p.d * share;
  }

  function queryNorms(d) { // r = |x|, equally spaced in log r
    const spread = 1 / Math.sqrt(2 * d), step = Math.min(0.25, 0.9 * spread);
    const logs = span(Math.log(d) / 2 - Math.max(8 * spread, 9 / d), Math.log(Math.sqrt(d) + 5.5), step);
    const raw = logs.map((l) => Math.exp(d * (l - Math.log(d) / 2) - (Math.exp(2 * l) - d) / 2));
    const sum = total(raw);
    return logs.map((l, i) => [Math.exp(l), raw[i] / sum]).filter(([r, w]) => w * (r * r) / d > 1e-7);
  }

  // For scores of sharpness t = qr: E m_t, and E m_s m_t + c E Σ p_s p_t for s = t less that for s = −t
  function moments(t, n, c) {
    const step = Math.min(0.4, 0.9 / t), half = Math.ceil(6 / step), K = 2 * half + 1;
    const z = Float64Array.from({ length: K }, (_, k) => (k - half) * step), up = z.map((v) => Math.exp(t * v));
    const raw = z.map((v) => Math.exp(-v * v / 2)), all = raw.reduce((x, v) => x + v, 0), w = raw.map((v) => v / all);
    const above = t * Math.min(t / 2 + 3, Math.sqrt(2 * Math.log(n)) + 3.5), h = 0.6;
    const u = span(-Math.log(n) - above - 14, (5 * t) / Math.sqrt(n) - Math.log(n) + 3.4, h).map(Math.exp), N = u.length;
    // one example's e^{−u e^{tz}}, times its weight, and the same for −t
    const E = u.map((v) => up.map((x) => Math.exp(-v * x))), mirrored = E.map((row) => Float64Array.from(row).reverse());
    const first = z.map((v, k) => v * up[k]), down = z.map((v, k) => v / up[k]);
    const same = z.map((v, k) => (v * v + c) * up[k] * up[k]), cross = z.map((v) => v * v + c);
    let mean = 0, difference = 0;
    for (let i = 0; i < N; i++) {
      const row = E[i].map((v, k) => v * w[k]);
      let one = 0, along = 0;
      for (let k = 0; k < K; k++) { one += row[k]; along += row[k] * first[k]; }
      mean += h * u[i] * n * along * Math.pow(one, n - 1);
      for (let j = 0; j <= i; j++) { // both double sums are symmetric
        const B = E[j], M = mirrored[j];
        let p = 0, pf = 0, ps = 0, q = 0, qf = 0, qd = 0, qc = 0;
        for (let k = 0; k < K; k++) {
          const x = row[k] * B[k], y = row[k] * M[k];
          p += x; pf += x * first[k]; ps += x * same[k];
          q += y; qf += y * first[k]; qd += y * down[k]; qc += y * cross[k];
        }
        const plus = Math.pow(p, n - 2) * (ps * p + (n - 1) * pf * pf), minus = Math.pow(q, n - 2) * (qc * q + (n - 1) * qf * qd);
        difference += (i === j ? 1 : 2) * h * h * u[i] * u[j] * n * (plus - minus);
      }
    }
    return { mean, difference };
  }

  function pair(p) { // least risk of two heads ±q, q = sharpness/√d, and the factor V of the first; n ≥ 2
    const q = p.sharpness / Math.sqrt(p.d), c = p.d - 1 + p.sigma2;
    let pull = 0, width = 0;
    for (const [r, weight] of queryNorms(p.d)) {
      const found = moments(q * r, p.n, c);
      pull += 2 * weight * r * found.mean;
      width += 2 * weight * found.difference;
    }
    return { risk: p.sigma2 + p.d - (pull * pull) / width, V: pull / width };
  }

  function weights(z, q, r, V) { // of labels whose examples have components z along the query
    const up = z.map((v) => Math.exp(q * r * v)), down = z.map((v) => Math.exp(-q * r * v));
    return z.map((_, i) => V * (up[i] / total(up) - down[i] / total(down)));
  }

  const maths = { linear, limit, floor, pair, weights };

  function draw(p, view) {
    const r = Math.sqrt(p.d), q = p.sharpness / r, z = view.data.z, yours = pair(p), s = z.map((v) => r * v);
    const a = weights(z, q, r, yours.V);
    const scale = p.n / z.length; // twenty typical examples stand for all n
    const top = 1.15 * Math.max(...a.map(Math.abs), ...s.map((v) => Math.abs(v) * stepSize(p) * scale));
    const left = view.panel(0, { title: "weight of a label, for twenty examples", x: { label: "score", from: -2.4 * r, to: 2.4 * r }, y: { label: "", from: -top, to: top } });
    left.rule({ y: 0 }, { colour: "zero" });
    left.line(s, s.map((v) => v * stepSize(p) * scale), { colour: "gd", label: "linear", place: "below" });
    s.forEach((v, i) => left.point(v, a[i], { colour: "attention_only" }));
    const ns = [...new Set(span(Math.log(2), Math.log(260), 0.12).map((l) => Math.round(Math.exp(l))))], zero = p.d + p.sigma2;
    const at = (f) => ns.map((n) => f({ ...p, n }) / zero);
    const right = view.panel(1, { title: "risk, in units of that of predicting 0", x: { label: "examples n", from: 2, to: 250, log: true }, y: { label: "", from: 0, to: 1.1 } });
    right.line(ns, at(linear), { colour: "gd", label: "linear", at: 40, place: "below" });
    right.line(ns, at(limit), { colour: "attention_only", dashed: true });
    right.line(ns, at((each) => floor(each, true)), { colour: "bayes" });
    right.line(ns, at((each) => floor(each, false)), { colour: "newton", label: "floors", at: 4, place: "below" });
    right.point(p.n, yours.risk / zero, { colour: "attention_only", label: "yours" });
    view.number("yours", yours.risk);
    view.number("limit", limit(p));
    view.number("linear", linear(p));
    view.number("zero_sum", floor(p, true));
    view.number("floor", floor(p, false));
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "softmax_heads_losses", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
