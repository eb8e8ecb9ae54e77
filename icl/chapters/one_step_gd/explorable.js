/* Chapter 1: the risk of one gradient step against its size. The closed forms of icl/theory/one_step_gd.py;
   drawn by explorable.js. */
(function (root) {
  "use strict";

  const stepSize = (p) => 1 / (p.n + p.d + 1 + p.sigma2); // Theorem 1: c2 / c1
  const zeroRisk = (p) => p.d + p.sigma2;
  const minimalRisk = (p) => p.sigma2 + (p.d * (p.d + 1 + p.sigma2)) / (p.n + p.d + 1 + p.sigma2);

  function risk(p, eta) { // sigma2 + d − 2 eta n d + eta² d c1
    return p.sigma2 + p.d - 2 * eta * p.n * p.d + eta * eta * p.d * p.n * (p.n + p.d + 1 + p.sigma2);
  }

  const maths = { stepSize, zeroRisk, minimalRisk, risk };

  function draw(p, view) {
    const zero = zeroRisk(p), best = p.n * stepSize(p), least = minimalRisk(p);
    const steps = Array.from({ length: 201 }, (_, i) => i / 100), yours = risk(p, p.step / p.n);
    const plot = view.panel(0, {
      title: "risk, in units of that of predicting 0",
      x: { label: "step nη", from: 0, to: 2 },
      y: { label: "", from: 0, to: 2 },
    });
    plot.rule({ y: 1 }, { colour: "zero", label: "predicting 0" });
    plot.rule({ y: p.sigma2 / zero }, { colour: "zero", dashed: true, label: "noise", at: 1.9 });
    plot.line([0, 0.55, 1], [1, 1 - 0.55 * (p.d / zero), p.sigma2 / zero], { dashed: true, label: "best, for other n", at: 0.55, place: "right" });
    plot.line(steps, steps.map((s) => risk(p, s / p.n) / zero), { colour: "gd" });
    plot.point(best, least / zero, { colour: "gd", label: "best", place: "below" });
    plot.point(p.step, yours / zero, { label: "yours", drag: (step) => ({ step }) });
    view.number("eta", stepSize(p));
    view.number("n_eta", best);
    view.number("least", least);
    view.number("yours", yours);
    view.number("lost", yours / least < 1e6 ? `${view.format(100 * (yours / least - 1), 3)} %` : "∞");
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "one_step_gd", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
