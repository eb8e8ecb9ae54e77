/* Chapter 8: stairs and drop in the reader's hands; the closed forms of icl/theory/how_the_step_is_learned.py and the
   flow of a merged matrix in the eigenbasis. Drawn by explorable.js. */
(function (root) {
  "use strict";

  function spectrum(p) { // trace 1, largest first
    const raw = Array.from({ length: p.d }, (_, i) => (p.d - i) ** p.slope);
    const trace = raw.reduce((a, b) => a + b);
    return raw.map((v) => v / trace);
  }

  const tau = (p) => 1 + p.sigma2;
  const entries = (p) => spectrum(p).map((h) => p.n / ((p.n + 1) * h + tau(p))); // Gamma*
  const sizes = (p) => entries(p).map(Math.cbrt);
  const factor = (p) => p.start * Math.min(...sizes(p)); // the size of every factor at the start

  function stairs(p) { // eq. (5.2), summand by summand
    const gamma = entries(p), levels = [tau(p)];
    spectrum(p).forEach((h, i) => levels.push(levels[i] - h * h * gamma[i]));
    return levels;
  }

  function clock(z) { // F(z), F' = 1/(z² (1 − z³))
    return Math.log1p(z + z * z) / 6 - Math.log1p(-z) / 3 - 1 / z - Math.atan((2 * z + 1) / Math.sqrt(3)) / Math.sqrt(3);
  }

  /* When head i has the share of its entry that is asked for; at once if it starts above. */
  function stairTimes(p, share = 0.5) {
    const alpha = sizes(p), a = factor(p), z = Math.cbrt(share);
    return spectrum(p).map((h, i) => Math.max(0, (clock(z) - clock(a / alpha[i])) / (h * h * alpha[i])));
  }

  function shares(p, time) { // of each entry, by halving the closed form
    const alpha = sizes(p), a = factor(p);
    return spectrum(p).map((h, i) => {
      const target = clock(a / alpha[i]) + time * h * h * alpha[i];
      let low = a / alpha[i], high = 1;
      for (let k = 0; k < 60; k++) {
        const middle = (low + high) / 2;
        if (clock(middle) < target) low = middle;
        else high = middle;
      }
      return low ** 3;
    });
  }

  function risk(p, learned) { // learned: each entry's share of its best
    const gamma = entries(p), least = stairs(p)[p.d];
    return spectrum(p).reduce((sum, h, i) => sum + h * h * gamma[i] * (1 - learned[i]) ** 2, least);
  }

  /* x' = a − b x for a time dt. */
  const relaxed = (x, a, b, dt) => x * Math.exp(-b * dt) - (a / b) * Math.expm1(-b * dt);

  /* The merged matrix from v = |u| = the factor, u along h²: v' = Σ h² u (1 − v u/γ), u' = h² v (1 − v u/γ), each linear
     while the other stands. Half a step of v, one of u, half a step of v, each exact (Strang's splitting: explicit methods
     creep once the fast entries have arrived); one step against two halves gives the error, and both the fourth order.
     Returns the risk at increasing times. */
  function merged(p, times) {
    const h = spectrum(p), gamma = entries(p), h2 = h.map((v) => v * v), norm = Math.hypot(...h2), a = factor(p);
    const pull = (u) => h2.reduce((sum, w, i) => sum + w * u[i], 0);
    const brake = (u) => h2.reduce((sum, w, i) => sum + (w * u[i] * u[i]) / gamma[i], 0);
    const one = ([v, ...u], dt) => {
      const mid = relaxed(v, pull(u), brake(u), dt / 2);
      const next = u.map((x, i) => relaxed(x, h2[i] * mid, (h2[i] * mid * mid) / gamma[i], dt));
      return [relaxed(mid, pull(next), brake(next), dt / 2), ...next];
    };
    let s = [a, ...h2.map((w) => (a * w) / norm)], t = 0, step = 0.01 / norm;
    return times.map((end) => {
      while (t < end) {
        const dt = Math.min(step, end - t), whole = one(s, dt), halves = one(one(s, dt / 2), dt / 2);
        const off = Math.hypot(...halves.map((x, i) => x - whole[i])) / (1e-6 * Math.hypot(...halves));
        if (off <= 1) {
          s = halves.map((x, i) => x + (x - whole[i]) / 3);
          t = dt < step ? end : t + dt;
        }
        if (off > 1 || dt === step) step *= Math.min(3, Math.max(0.2, 0.9 * Math.cbrt(1 / (off + 1e-12))));
      }
      return risk(p, h.map((_, i) => (s[0] * s[i + 1]) / gamma[i]));
    });
  }

  const spaced = (from, to, count) =>
    Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));

  function halfWay(times, risks, top, least) { // when half of the descent is done, between two times in logarithm
    const middle = (top + least) / 2, k = risks.findIndex((v) => v < middle);
    if (k < 1) return NaN;
    const part = (risks[k - 1] - middle) / (risks[k - 1] - risks[k]);
    return times[k - 1] * (times[k] / times[k - 1]) ** part;
  }

  const maths = { spectrum, stairs, stairTimes, shares, risk, merged, factor };

  function draw(p, view) {
    const levels = stairs(p), climbs = stairTimes(p), late = Math.max(...stairTimes(p, 0.999));
    const end = Math.max(100, 3 * late), times = spaced(1, end, 300), learned = times.map((t) => shares(p, t));
    const early = spaced(0.1, Math.min(end, 2000 * p.d), 300), drop = merged(p, early), span = levels[0] - levels[p.d];
    const time = { label: "time", log: true, from: 1, to: end };

    let plot = view.panel(0, { title: "risk", x: time,
      y: { label: "", from: levels[p.d] - 0.05 * span, to: levels[0] + 0.1 * span } });
    for (const level of levels) plot.rule({ y: level }, { dashed: true, thin: true, pale: true });
    plot.line([...early, end], [...drop, drop[drop.length - 1]], { colour: "preconditioned", label: "merged", at: 1.5, place: "below" });
    plot.line(times, learned.map((shares) => risk(p, shares)), { colour: "gd", label: "apart", at: climbs[0], place: "right" });

    plot = view.panel(1, { title: "learned of each eigenvector", x: time, y: { label: "", from: 0, to: 1.1 } });
    let named = -1; // where the last name stands, as a share of the axis
    climbs.forEach((climb, i) => {
      plot.line(times, learned.map((shares) => shares[i]), { colour: "gd", pale: i > 0 });
      const place = Math.log(Math.max(climb, 1)) / Math.log(end);
      if (place < named + 0.08) return;
      plot.point(Math.max(climb, 1), 0.5, { colour: "gd", label: String(i + 1), place: "left" });
      named = place;
    });

    view.number("first", climbs[0]);
    view.number("last", climbs[p.d - 1]);
    view.number("drop", halfWay(early, drop, levels[0], levels[p.d]));
    view.number("least", levels[p.d]);
    view.number("top", levels[0]);
  }

  if (typeof module !== "undefined") module.exports = maths;
  (root.iclExplorables = root.iclExplorables || []).push({ name: "how_the_step_is_learned", maths, draw });
})(typeof globalThis === "undefined" ? this : globalThis);
