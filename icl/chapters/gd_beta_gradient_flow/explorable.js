/* Chapter 5: the flow of GD-β at H = Psi = I, in the reader's hands; the closed forms of
   icl/theory/{scalar_flow,gd_beta,bayes_rates}.py and the three-scalar ODE. Drawn by explorable.js. */
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

  /* Dormand and Prince (1980), table 2: nodes are not needed, for the flow does not know the time. */
  const STAGES = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
  ];
  const ERROR = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];
  const TOLERANCE = 1e-12; // of one step, relative to max(1, |state|)

  /* (r, gPar, gPerp) at increasing times, from beta = 0 and Gamma = start · I. */
  function flow(p, times, tolerance = TOLERANCE) {
    let s = [p.beta_norm, p.start || 0, p.start || 0], t = 0, step = 1e-4;
    return times.map((end) => {
      while (t < end) {
        const k = Math.min(step, end - t), slopes = [velocity(p, s)];
        let next;
        for (const row of STAGES) {
          next = s.map((v, i) => v + k * row.reduce((sum, a, j) => sum + a * slopes[j][i], 0));
          slopes.push(velocity(p, next));
        }
        const error = Math.max(...s.map((v, i) =>
          Math.abs(k * ERROR.reduce((sum, a, j) => sum + a * slopes[j][i], 0)) / Math.max(1, Math.abs(v))));
        if (error <= tolerance) {
          s = next;
          t = k === end - t ? end : t + k;
        }
        const factor = Math.min(5, Math.max(0.2, 0.9 * (tolerance / Math.max(error, 1e-300)) ** 0.2));
        if (k === step || factor < 1) step = k * factor;
      }
      return s;
    });
  }

  const OTHERS = [[6, 1.5], [6, 0.5], [6, -0.5], [3, 1.5], [3, -0.5], [1, 1.5], [1, -0.5]]; // starts drawn beside the reader's

  const spaced = (from, to, count) =>
    Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));

  const maths = { gammaStar, minimalExcess, sandwich, tailRate, betaBound, velocity, excess, flow };

  function draw(p, view) {
    const end = Math.max(10, 5 * (p.n + 2)), times = spaced(0.01, end, 160), path = flow(p, times);
    const g = gammaStar(p), along = path.map((s) => s[1]), peak = Math.max(...along);
    const time = { label: "time", log: true, from: 0.01, to: end };

    /* The plane in which a start is placed: the error's size across, the step along it upwards. */
    let plot = view.panel(0, { title: "the flow in its plane; move its start", x: { label: "‖β − β*‖", from: 0, to: Math.max(6, p.beta_norm) },
      y: { label: "step", from: -0.5, to: 1.5 } });
    const fewer = times.filter((_, i) => i % 2);
    for (const [beta_norm, start] of OTHERS) {
      const other = flow({ ...p, beta_norm, start }, fewer, 1e-5);
      plot.line([beta_norm, ...other.map((s) => s[0])], [start, ...other.map((s) => s[1])], { colour: "zero", thin: true });
    }
    plot.line([p.beta_norm, ...path.map((s) => s[0])], [p.start, ...along], { colour: "gd" });
    plot.point(0, g, { colour: "ink", label: "Γ*", place: "right" });
    plot.point(p.beta_norm, p.start, { colour: "gd", label: "start", drag: (r, step) => ({ beta_norm: r, start: step }) });

    plot = view.panel(1, { title: "the step, and the error of β", x: time, y: { label: "", from: Math.min(0, p.start), to: Math.max(1.2, p.start + 0.1) } });
    plot.rule({ y: g }, { dashed: true, label: "Γ*" });
    plot.line(times, along, { colour: "gd", label: "along", at: 0.35 });
    if (p.d > 1) plot.line(times, path.map((s) => s[2]), { colour: "trained_exact", label: "across", at: 0.06 });
    plot.line(times, path.map((s) => s[0] / (p.beta_norm || 1)), { colour: "bayes", label: "error of β", at: 0.03 });

    plot = view.panel(2, { title: "excess risk, and ‖β − β*‖²", x: time, y: { label: "", log: true, from: 1e-8, to: 1e3 } });
    plot.line(times, times.map((t) => (p.beta_norm * betaBound(p, t)) ** 2), { colour: "bayes", dashed: true, label: "its bound", at: end / 3 });
    plot.line(times, path.map((s) => s[0] ** 2), { colour: "bayes", label: "error of β", at: 0.03 });
    plot.line(times, path.map((s) => excess(p, s)), { colour: "gd", label: "excess", at: 0.3, place: "below" });
    plot.point(times[0], path[0][0] ** 2, { colour: "bayes", drag: (_, square) => ({ beta_norm: Math.sqrt(square) }) });

    const lengths = spaced(1, 1000, 120), at = lengths.map((n) => sandwich({ ...p, n }));
    plot = view.panel(3, { title: "excess at the minimum", x: { label: "context length n", log: true, from: 1, to: 1000 },
      y: { label: "", log: true, from: 1e-4, to: 1e4 } });
    plot.line(lengths, at.map((b) => b.upper), { dashed: true, label: "at most", at: 60 });
    plot.line(lengths, at.map((b) => b.lower), { dashed: true, label: "at least", at: 60, place: "below" });
    plot.line(lengths, at.map((b) => b.gdBeta), { colour: "gd", label: "GD-β", at: 4, place: "below" });
    plot.point(p.n, minimalExcess(p), { colour: "gd", drag: (n) => ({ n }) });

    const over = 100 * (peak / g - 1);
    view.number("gamma_star", g);
    view.number("excess", minimalExcess(p));
    view.number("overshoot", p.start > g ? "starts above" : over > 0.05 ? `${over.toFixed(1)} %` : "none");
    view.number("rate", tailRate(p));
    view.number("bound", 4 / (p.n + 2));
    view.number("factor", sandwich(p).upper / sandwich(p).lower || Infinity);
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "gradient_flow", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
