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
    const logs = span(Math.log(d) / 2 - Math.max(6 * spread, 12 / d), Math.log(Math.sqrt(d) + 5.5), step);
    const raw = logs.map((l) => Math.exp(d * (l - Math.log(d) / 2) - (Math.exp(2 * l) - d) / 2));
    const sum = total(raw);
    return logs.map((l, i) => [Math.exp(l), raw[i] / sum]).filter(([r, w]) => w * Math.max(1, (r * r) / d) > 1e-8);
  }

  const dot = (a, b, w) => { let s = 0; for (let i = 0; i < a.length; i++) s += a[i] * b[i] * w[i]; return s; };

  // For scores of sharpness t = qr: E m_t, and E m_s m_t + c E Σ p_s p_t for s = t and for s = −t
  function moments(t, n, c) {
    const step = Math.min(0.4, 0.8 / t), half = Math.ceil(6.5 / step);
    const z = span(-half * step, (half + 0.5) * step, step), g = z.map((v) => Math.exp(-v * v / 2)), sum = total(g), w = g.map((v) => v / sum);
    const above = t * Math.min(t / 2 + 3, Math.sqrt(2 * Math.log(n)) + 4), h = 0.55;
    const nodes = span(-Math.log(n) - above - 15, (5.5 * t) / Math.sqrt(n) - Math.log(n) + 3.6, h).map(Math.exp);
    const up = z.map((v) => Math.exp(t * v)), same = up.map((v) => v * v);
    const E = nodes.map((u) => up.map((v) => Math.exp(-u * v)));
    const weights = { one: w, z: w.map((v, i) => v * z[i] * up[i]), down: w.map((v, i) => (v * z[i]) / up[i]) };
    const zz = w.map((v, i) => v * z[i] * z[i]), zzSame = zz.map((v, i) => v * same[i]), over = w.map((v, i) => v * same[i]);
    const mirrored = E.map((row) => [...row].reverse()); // e^{−v e^{−tz}}
    let mean = 0, plus = 0, minus = 0;
    for (let i = 0; i < nodes.length; i++) {
      mean += h * nodes[i] * n * total(E[i].map((v, k) => v * weights.z[k])) * Math.pow(dot(E[i], E[i].map(() => 1), w), n - 1);
      for (let j = 0; j < nodes.length; j++) {
        const du = h * h * nodes[i] * nodes[j];
        const one = dot(E[i], E[j], w), first = dot(E[i], E[j], weights.z);
        const rest = Math.pow(one, n - 2), others = rest * one;
        plus += du * (n * (dot(E[i], E[j], zzSame) + c * dot(E[i], E[j], over)) * others + n * (n - 1) * first * first * rest);
        const two = dot(E[i], mirrored[j], w), rest2 = Math.pow(two, n - 2);
        const left = dot(E[i], mirrored[j], weights.z), right = dot(E[i], mirrored[j], weights.down);
        minus += du * (n * (dot(E[i], mirrored[j], zz) + c * two) * rest2 * two + n * (n - 1) * left * right * rest2);
      }
    }
    return { mean, plus, minus };
  }

  function pair(p) { // least risk of two heads ±q, q = sharpness/√d, and the factor V of the first; n ≥ 2
    const q = p.sharpness / Math.sqrt(p.d), c = p.d - 1 + p.sigma2;
    let pull = 0, width = 0;
    for (const [r, weight] of queryNorms(p.d)) {
      const found = moments(q * r, p.n, c);
      pull += 2 * weight * r * found.mean;
      width += 2 * weight * (found.plus - found.minus);
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
