/* Newton's method, gradient descent and the transformer that is Newton's method, in the reader's hands.
   The same formulas as icl/theory/newton.py, and the forward pass of icl/constructions/newton_transformer.py, design A, on
   the prompt that the page holds; tests/chapters/newton_transformers/test_explorable.py compares the numbers. Drawn by explorable.js. */
(function (root) {
  "use strict";

  // I − M_k S on an eigenvalue u = λ/λ_max, alpha = 1/λ_max²: (1 − u²)^{2^k}
  function newtonResidual(u, k) {
    const x = u * u;
    return x >= 1 ? 0 : Math.exp(2 ** k * Math.log1p(-x));
  }

  const gdResidual = (u, steps) => (u >= 1 ? (steps === 0 ? 1 : 0) : Math.exp(steps * Math.log1p(-u))); // step 1/λ_max

  // GD with its best constant step in the slowest direction: ((κ − 1)/(κ + 1))^s
  const gdWorst = (kappa, steps) => (kappa === 1 ? (steps === 0 ? 1 : 0) : Math.exp(-2 * steps * Math.atanh(1 / kappa)));

  function stepsToEps(kappa, eps) {
    if (kappa === 1) return 0;
    return Math.max(0, Math.ceil(Math.log2(Math.log(1 / eps) / -Math.log1p(-1 / (kappa * kappa)))));
  }

  function gdStepsToEps(kappa, eps) {
    return kappa === 1 ? 1 : Math.ceil(Math.log(1 / eps) / (2 * Math.atanh(1 / kappa)));
  }

  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);

  /* One head of linear attention on tokens {x, mu, y, o}: every token t gains Σ_i value(i) ⟨x_i, query(t)⟩ over the
     context; `query` names a slot, `from` and `to` the slots that the value is read from and written to. */
  function attend(tokens, query, from, to, factor) {
    const context = tokens.slice(0, -1);
    return tokens.map((token) => {
      const gained = token[to].slice();
      for (const seen of context) {
        const score = factor * dot(seen.x, token[query]);
        seen[from].forEach((v, i) => { gained[i] += score * v; });
      }
      return { ...token, [to]: gained };
    });
  }

  /* Design A with k steps, k + 2 layers, on {X, y, query, alpha}: the query's answer. */
  function designA(prompt, k) {
    const d = prompt.query.length, zeros = Array(d).fill(0);
    let tokens = prompt.X.map((x, i) => ({ x, mu: zeros, y: [prompt.y[i]], o: [0] }));
    tokens.push({ x: prompt.query, mu: zeros, y: [0], o: [0] });
    tokens = attend(tokens, "x", "x", "mu", prompt.alpha); // mu = alpha S x
    for (let j = 0; j < k; j++) tokens = attend(tokens, "mu", "mu", "mu", -(2 ** (j - 1))); // mu = 2^{-j-1} M_{j+1} x
    tokens = attend(tokens, "mu", "y", "o", 2 ** k);
    return tokens[tokens.length - 1].o[0];
  }

  const spaced = (from, to, count) => Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));
  const whole = (to) => Array.from({ length: to + 1 }, (_, i) => i);

  const maths = { newtonResidual, gdResidual, gdWorst, stepsToEps, gdStepsToEps, designA };

  function draw(p, view) {
    const { k, condition: kappa } = p, data = view.data, power = 2 ** k;
    const us = spaced(Math.min(1 / kappa, 0.1) / 1.5, 1, 160);
    let plot = view.panel(0, {
      title: "left over, by direction",
      x: { label: "eigenvalue λ / λmax", log: true, from: us[0], to: 1 }, y: { label: "", from: 0, to: 1.05 },
    });
    plot.rule({ x: 1 / kappa }, { dashed: true, label: "1/κ" });
    plot.line(us, us.map((u) => gdResidual(u, k)), { colour: "gd", dashed: true, label: k === 1 ? "GD, 1 step" : `GD, ${k} steps`, at: 0.05 });
    plot.line(us, us.map((u) => gdResidual(u, power)), { colour: "gd", label: power === 1 ? "1 step" : `${power} steps`, at: 1 });
    plot.line(us, us.map((u) => newtonResidual(u, k)), { colour: "newton", label: "Newton", at: 0.2 });

    const steps = whole(Math.max(14, stepsToEps(kappa, 1e-12)));
    plot = view.panel(1, {
      title: "the slowest direction", x: { label: "steps", from: 0, to: steps.length - 1 },
      y: { label: "", log: true, from: 1e-12, to: 2 },
    });
    plot.line(steps, steps.map((s) => gdWorst(kappa, s)), { colour: "gd", label: "GD, best step" });
    plot.line(steps, steps.map((s) => newtonResidual(1 / kappa, s)), { colour: "newton", label: "Newton", below: true });
    plot.point(k, newtonResidual(1 / kappa, k), { colour: "newton", drag: (step) => ({ k: step }) });

    const answers = whole(12).map((j) => designA(data, j)), all = [...answers, data.least_squares];
    const low = Math.min(...all), high = Math.max(...all), edge = 0.15 * (high - low || 1);
    plot = view.panel(2, {
      title: "the transformer on one prompt", x: { label: "Newton layers k", from: 0, to: 12 },
      y: { label: "", from: low - edge, to: high + edge },
    });
    plot.rule({ y: data.least_squares }, { colour: "least_squares", dashed: true, label: "least squares", at: 2.5 });
    plot.line(whole(12), answers, { colour: "newton", pale: true });
    plot.line(whole(k), answers.slice(0, k + 1), { colour: "newton" });
    plot.point(k, answers[k], { colour: "newton", label: `${k + 2} layers`, drag: (step) => ({ k: step }) });

    const left = newtonResidual(1 / kappa, k);
    view.number("layers", `${k + 2}, ${Math.max(k, 1) + 1}, ${k + 3}`);
    view.number("paper", `${k + 8}`);
    view.number("left", left);
    view.number("gd", left > 0 ? (left < 1 ? `${gdStepsToEps(kappa, left)}` : "0") : "1");
    view.number("answer", answers[k]);
    view.number("limit", data.least_squares);
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "newton", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
