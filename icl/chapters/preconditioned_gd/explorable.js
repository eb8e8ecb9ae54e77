/* Chapter 2: what three steps do to each direction of the covariates. The closed forms of
   icl/theory/preconditioned_gd.py for H and Psi with common axes; drawn by explorable.js.

   In the direction with eigenvalue h of H a step Γ pulls the task the share s = hΓ of the way from 0 to its least-squares
   value, and leaves the excess risk φ − 2sφ + s²ω, with φ = hΨ and ω = ((n+1)φ + τ)/n. */
(function (root) {
  "use strict";

  const eigenvalues = (p) => // evenly spaced in logarithm from 1 to 1/condition
    Array.from({ length: p.d }, (_, i) => p.condition ** (p.d > 1 ? -i / (p.d - 1) : 0));
  const signal = (p, h) => (p.prior === "inverse" ? 1 : h); // φ for Psi = H^{-1} or I
  const sum = (values) => values.reduce((total, v) => total + v, 0);
  const tau = (p) => p.sigma2 + sum(eigenvalues(p).map((h) => signal(p, h)));
  const omega = (p, h, t) => ((p.n + 1) * signal(p, h) + t) / p.n;

  /* The best multiple g of the preconditioner P(h), eq. (6.1)'s vertex; the shares are g h P(h). */
  function bestMultiple(p, P) {
    const hs = eigenvalues(p), t = tau(p);
    return sum(hs.map((h) => h * P(h) * signal(p, h))) / sum(hs.map((h) => (h * P(h)) ** 2 * omega(p, h, t)));
  }

  /* Functions of h: the shares of the learned step (Theorem 5.2), of plain gradient descent and of H^{-1}. */
  function shares(p) {
    const t = tau(p), plain = bestMultiple(p, () => 1), inverse = bestMultiple(p, (h) => 1 / h);
    return {
      learned: (h) => signal(p, h) / omega(p, h, t),
      plain: (h) => plain * h,
      inverse: () => inverse,
    };
  }

  function left(p, share) { // excess risk in the direction h, over its signal
    const t = tau(p);
    return (h) => 1 - 2 * share(h) + (share(h) ** 2 * omega(p, h, t)) / signal(p, h);
  }

  function excess(p, share) {
    const rest = left(p, share);
    return sum(eigenvalues(p).map((h) => signal(p, h) * rest(h)));
  }

  const maths = { eigenvalues, tau, bestMultiple, shares, left, excess };

  function draw(p, view) {
    const { learned, plain, inverse } = shares(p), dots = eigenvalues(p), lowest = Math.min(1e-3, 1 / p.condition);
    const hs = Array.from({ length: 121 }, (_, i) => lowest ** (i / 120));
    const x = { label: "eigenvalue h of H", log: true, from: lowest, to: 1 };

    let plot = view.panel(0, { title: "share s of the way to least squares", x, y: { label: "", from: 0, to: 1.2 } });
    plot.rule({ y: 1 }, { colour: "zero" });
    plot.line(hs, hs.map(plain), { colour: "gd", label: "plain", at: 0.45, place: "right" });
    plot.line(hs, hs.map(inverse), { dashed: true, label: "H⁻¹", at: lowest * 2 });
    plot.line(hs, hs.map(learned), { colour: "preconditioned", label: "learned", at: 0.2, place: "left" });
    dots.forEach((h) => plot.point(h, learned(h), { colour: "preconditioned" }));

    plot = view.panel(1, { title: "excess risk left, per unit of signal", x, y: { label: "", from: 0, to: 1.2 } });
    plot.rule({ y: 1 }, { colour: "zero", label: "predicting 0", at: 0.3 });
    plot.line(hs, hs.map(left(p, plain)), { colour: "gd", label: "plain", at: 0.3, place: "right" });
    plot.line(hs, hs.map(left(p, inverse)), { dashed: true, label: "H⁻¹", at: 0.085, place: "left" });
    plot.line(hs, hs.map(left(p, learned)), { colour: "preconditioned", label: "learned", at: 0.08, place: "left" });
    dots.forEach((h) => plot.point(h, left(p, learned)(h), { colour: "preconditioned" }));

    const least = excess(p, learned), more = (share) => `${view.format(100 * (excess(p, share) / least - 1), 3)} %`;
    view.number("learned", least);
    view.number("plain", more(plain));
    view.number("inverse", more(inverse));
    view.number("strong", learned(dots[0]));
    view.number("weak", learned(dots[dots.length - 1]));
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "preconditioned_gd", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
