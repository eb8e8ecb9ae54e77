/* Chapter 11: what L layers leave when every prompt has a covariance of its own. The formulas of
   icl/theory/when_depth_pays.py; drawn by explorable.js. */
(function (root) {
  "use strict";

  const sum = (xs) => xs.reduce((total, x) => total + x, 0);
  const dot = (xs, ys) => xs.reduce((total, x, i) => total + x * ys[i], 0);
  const whole = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

  function spectrum(d, condition) { // evenly spaced in logarithm, falling, with sum d
    const raw = Array.from({ length: d }, (_, i) => (d === 1 ? 1 : condition ** (-i / (d - 1)))), total = sum(raw);
    return raw.map((x) => (d * x) / total);
  }

  const distinct = (nodes) => 1 + sum(nodes.slice(1).map((x, i) => (nodes[i] - x > 1e-9 * nodes[0] ? 1 : 0)));

  /* Lanczos: centres and offsets of the polynomials orthonormal in the weights, each orthogonalised twice. */
  function recurrence(nodes, weights, degree) {
    const total = sum(weights), basis = [weights.map((w) => Math.sqrt(w / total))], centres = [], offsets = [];
    for (let k = 0; k < degree; k++) {
      let v = nodes.map((x, i) => x * basis[k][i]);
      centres.push(dot(basis[k], v));
      for (let twice = 0; twice < 2; twice++) {
        const overlaps = basis.map((b) => dot(b, v));
        v = v.map((x, i) => x - sum(basis.map((b, j) => overlaps[j] * b[i])));
      }
      offsets.push(Math.sqrt(dot(v, v)));
      basis.push(v.map((x) => x / offsets[k]));
    }
    return { total, centres, offsets };
  }

  /* Values at x of the orthonormal polynomials of degree 0 … degree. */
  function values({ total, centres, offsets }, degree, x) {
    const found = [1 / Math.sqrt(total)];
    for (let k = 0; k < degree; k++) {
      found.push(((x - centres[k]) * found[k] - (k ? offsets[k - 1] * found[k - 1] : 0)) / offsets[k]);
    }
    return found;
  }

  function leastExcess(nodes, layers) { // 1 / K_L(0, 0) in the weights λ
    if (layers >= distinct(nodes)) return 0;
    return 1 / sum(values(recurrence(nodes, nodes, layers), layers, 0).map((v) => v * v));
  }

  /* Zeros of the polynomial of this degree orthogonal in the weights λ²: eigenvalues of the tridiagonal matrix of the
     recurrence, by bisection on how many lie below x (Sturm). */
  function zeros(nodes, degree) {
    const { centres, offsets } = recurrence(nodes, nodes.map((x) => x * x), degree);
    const below = (x) => {
      let count = 0, pivot = 1;
      for (let k = 0; k < degree; k++) {
        pivot = centres[k] - x - (k ? (offsets[k - 1] ** 2) / pivot : 0);
        if (pivot === 0) pivot = 1e-300;
        if (pivot < 0) count++;
      }
      return count;
    };
    return whole(1, degree).map((k) => {
      let low = 0, high = 1.01 * nodes[0];
      for (let i = 0; i < 80; i++) {
        const middle = (low + high) / 2;
        if (below(middle) < k) low = middle; else high = middle;
      }
      return (low + high) / 2;
    });
  }

  function residual(nodes, layers) { // the best p with p(0) = 1
    const roots = layers >= distinct(nodes) ? nodes : zeros(nodes, layers);
    return (x) => roots.reduce((p, root) => p * (1 - x / root), 1);
  }

  function zeroOfFalling(f, start) {
    let low = start, high = 2 * start;
    while (f(high) > 0) high *= 2;
    for (let i = 0; i < 200; i++) {
      const middle = (low + high) / 2;
      if (f(middle) > 0) low = middle; else high = middle;
    }
    return (low + high) / 2;
  }

  const sharedStep = (nodes, layers) =>
    zeroOfFalling((a) => sum(nodes.map((x) => x * x * (1 - a * x) ** (2 * layers - 1))), 1 / nodes[0]);
  const sharedExcess = (nodes, layers) => {
    const a = sharedStep(nodes, layers);
    return sum(nodes.map((x) => x * (1 - a * x) ** (2 * layers)));
  };

  function newtonExcess(nodes, layers) { // design A: L − 2 steps, the best alpha
    if (layers < 2) return NaN;
    const power = 2 ** (layers - 2);
    const alpha = zeroOfFalling((a) => sum(nodes.map((x) => x ** 3 * (1 - a * x * x) ** (2 * power - 1))), 1 / nodes[0] ** 2);
    return sum(nodes.map((x) => x * (1 - alpha * x * x) ** (2 * power)));
  }

  const maths = { spectrum, leastExcess, residual, sharedStep, sharedExcess, newtonExcess };

  function draw(p, view) {
    const { layers: L, d } = p, nodes = spectrum(d, p.condition), top = nodes[0], bottom = nodes[d - 1];
    const from = bottom / 1.8, to = top * 1.1, xs = whole(0, 239).map((i) => from * (to / from) ** (i / 239));
    const best = residual(nodes, L), a = sharedStep(nodes, L);
    let plot = view.panel(0, {
      title: "left over, by direction", x: { label: "eigenvalue λ", log: true, from, to }, y: { label: "", from: -1.1, to: 1.1 },
    });
    plot.rule({ y: 0 }, {});
    plot.line(xs, xs.map((x) => (1 - a * x) ** L), { colour: "preconditioned", label: "one step for all", at: Math.sqrt(from * to) });
    plot.line(xs, xs.map(best), { colour: "gd", label: "own steps", at: from * (to / from) ** 0.2, place: "below" });
    nodes.forEach((x) => plot.point(x, best(x), { colour: "gd" }));

    const most = Math.max(24, L), counts = whole(1, most), share = (f) => counts.map((k) => f(nodes, k) / d);
    plot = view.panel(1, {
      title: "share of the risk that is left", x: { label: "layers", from: 1, to: most }, y: { label: "", log: true, from: 1e-8, to: 1.5 },
    });
    plot.line(counts, share(sharedExcess), { colour: "preconditioned", label: "one step", at: 16 });
    plot.line(counts, share(newtonExcess), { colour: "newton", label: "Newton", at: 9 });
    plot.line(counts, share(leastExcess), { colour: "gd", label: "own steps", at: 6, place: "below" });
    plot.point(L, leastExcess(nodes, L) / d, { colour: "gd", drag: (layers) => ({ layers }) });
    plot.point(L, sharedExcess(nodes, L) / d, { colour: "preconditioned", drag: (layers) => ({ layers }) });

    view.number("free", leastExcess(nodes, L) / d);
    view.number("shared", sharedExcess(nodes, L) / d);
    view.number("newton", L < 2 ? "needs 2 layers" : newtonExcess(nodes, L) / d);
    view.number("step", a * top);
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "when_depth_pays", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
