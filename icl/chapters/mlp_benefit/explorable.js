/* Chapter 4: what attention loses without the MLP, between its bounds. icl/theory/mlp_benefit.py for H = Psi = I: a
   minimum over one angle, found on the page; drawn by explorable.js. */
(function (root) {
  "use strict";

  const ltbRisk = (p) => p.sigma2 + (p.d * (1 + p.d + p.sigma2)) / (p.n + 1 + p.d + p.sigma2); // eq. (5.2)
  const lowerBound = (p) => p.beta_norm ** 2 / (p.n + 1); // Theorem 4.1

  function gd0Risk(p) { // eq. (5.2) with Psi + beta* beta*' in place of Psi: one eigenvalue is 1 + |beta*|²
    const tau = p.d + p.beta_norm ** 2 + p.sigma2, term = (phi) => (phi * (phi + tau)) / ((p.n + 1) * phi + tau);
    return p.sigma2 + (p.d - 1) * term(1) + term(1 + p.beta_norm ** 2);
  }
  const upperBound = (p) => gd0Risk(p) - ltbRisk(p);

  function profile(p, angle) { // least risk at nu = sin(angle) along beta*, c = cos(angle)
    const { d, n, sigma2, beta_norm: B } = p, nu = Math.sin(angle), c = Math.cos(angle), tau = d + sigma2;
    const omega = (n + 1 + tau) / n;
    const first = ((n + 2) / n) * nu * nu + c * c * omega;
    const mixed = c * nu * (tau + 2 / n + omega);
    const last = c * c * ((n + 2) / n) * (tau * tau + 2 * d) + nu * nu * omega;
    const q = B * nu + c, u = c * tau * B + nu;
    const along = (last * q * q - 2 * mixed * q * u + first * u * u) / (first * last - mixed * mixed);
    const across = ((d - 1) * c * c) / ((nu * nu) / n + c * c * omega);
    return sigma2 + d + B * B - across - along;
  }

  function lsaRisk(p) { // a grid of angles, refined three times around its lowest point
    let centre = 0, width = Math.PI / 2, count = 2001;
    for (let round = 0; round < 4; round++) {
      let best = Infinity, at = centre;
      for (let i = 0; i < count; i++) {
        const angle = centre - width + (2 * width * i) / (count - 1), value = profile(p, angle);
        if (value < best) [best, at] = [value, angle];
      }
      [centre, width, count] = [at, (2 * width) / (count - 1), 101];
    }
    return profile(p, centre);
  }

  const gap = (p) => lsaRisk(p) - ltbRisk(p);
  const maths = { ltbRisk, gd0Risk, lsaRisk, profile, gap, lowerBound, upperBound };

  function draw(p, view) {
    const most = Math.max(1000, p.n), largest = Math.max(100, p.beta_norm), count = 45;
    const sizes = Array.from({ length: count }, (_, i) => 0.1 * (largest / 0.1) ** (i / (count - 1)));
    const lengths = Array.from({ length: count }, (_, i) => most ** (i / (count - 1)));
    function panel(i, x, xs, name) {
      const at = (v) => ({ ...p, [name]: v }), ratio = (bound) => xs.map((v) => bound(at(v)) / lowerBound(at(v))), step = ratio(upperBound);
      const to = [2.5, 4, 7, 12, 20, 35].find((top) => top >= 1.15 * Math.max(...step)) || 60; // few frames, so few jumps
      const plot = view.panel(i, { title: "gap, in units of ‖β*‖²/(n + 1)", x, y: { label: "", from: 0, to } });
      plot.rule({ y: 1 }, { dashed: true, label: "lower bound", place: "below" });
      plot.line(xs, step, { colour: "gd", dashed: true, label: "one step from 0", at: xs[i ? 26 : 14], place: i ? "left" : "above" });
      plot.line(xs, ratio(gap), { colour: "attention_only", label: "attention", at: xs[i ? 27 : 8], place: i ? "right" : "below" });
      plot.point(p[name], gap(p) / lowerBound(p), { colour: "attention_only", drag: (v) => ({ [name]: v }) });
    }
    panel(0, { label: "mean task ‖β*‖", log: true, from: 0.1, to: largest }, sizes, "beta_norm");
    panel(1, { label: "context length n", log: true, from: 1, to: most }, lengths, "n");

    view.number("lsa", lsaRisk(p));
    view.number("ltb", ltbRisk(p));
    view.number("gap", gap(p));
    view.number("lower", lowerBound(p));
    view.number("upper", upperBound(p));
    view.number("ratio", gap(p) / lowerBound(p));
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "mlp_benefit", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
