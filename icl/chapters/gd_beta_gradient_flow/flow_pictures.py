"""Chapter 5's pictures of the flow: landscape, overshoot, excess with its bound, discrete steps."""

import numpy as np

from icl.chapters.gd_beta_gradient_flow.discrete import Descent
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.prompts import PromptLaw
from icl.theory import gd_beta, scalar_flow
from icl.theory import gradient_flow as theory

LEVELS = np.array([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100])


def landscape(d: int, n: int, sigma2: float, size: float) -> Figure:
    """Excess risk over (r, g) with flow lines: the whole landscape at d = 1, and the slice g_perp = Gamma* at d."""
    panels = {1: "$d=1$: the whole landscape"}
    panels[d] = f"$d={d}$: a slice" if d > 1 else panels[1]
    r, g = np.linspace(-1.15 * size, 1.15 * size, 121), np.linspace(-0.6, 2.1, 91)
    columns = {"r": r, "g": g}
    with style():
        figure, axes = canvas(1, len(panels), height=3.7, sharey=True, squeeze=False)
        for axis, (dimension, title) in zip(axes[0], panels.items(), strict=True):
            excess = _slice(axis, r, g, dimension, n, sigma2)
            columns[f"excess_d{dimension}"] = excess.ravel()
            columns |= _flow_lines(axis, size, dimension, n, sigma2)
            axis.set(xlabel=r"$r$, how far $\beta$ is off", title=title, xlim=r[[0, -1]], ylim=g[[0, -1]])
        axes[0, 0].set_ylabel(r"$g_\parallel$, the step along the error")
    alt = (
        "Contours of the excess risk over the offset of the start and the step size, with flow lines. A flat valley"
        " runs to the left and right of the minimum; in the shaded regions above and below it the curvature is negative"
        " somewhere; every flow line ends at the star in the middle."
    )
    return Figure("landscape", figure, columns, alt)


def _slice(axis, r, g, d, n, sigma2):
    target = 1 / ((n + 1 + d + sigma2) / n)
    R, G = np.meshgrid(r, g)
    excess = scalar_flow.isotropic_excess(np.stack([R, G, np.full_like(R, target)]), d, n, sigma2)
    if d == 1:
        bends_down = np.linalg.eigvalsh(scalar_flow.hessian_one_covariate(R, G, n, sigma2))[..., 0]
        axis.contourf(R, G, bends_down, levels=[-np.inf, 0], colors=[INK], alpha=0.1)
    lines = axis.contour(R, G, excess, levels=LEVELS, colors=[INK], linewidths=0.6, alpha=0.6)
    axis.clabel(lines, [level for level in LEVELS if level >= 0.1], fontsize=9, fmt="%g")
    axis.plot(0, target, "*", color=INK, markersize=11, zorder=5)
    return excess


def _flow_lines(axis, size, d, n, sigma2) -> dict:
    end, columns = 20 * (n + 2) / 4, {}
    times = np.r_[0.0, np.geomspace(1e-4, end, 160)]
    rim = [(s * x * size, y) for s in (-1, 1) for x, y in ((1.1, -0.5), (1.1, 0.0), (0.55, -0.5), (0.2, -0.5))]
    rim += [(s * x * size, 2.0) for s in (-1, 1) for x in (1.1, 0.75, 0.4, 0.12)]
    for k, (r, g) in enumerate(rim):
        path = scalar_flow.isotropic_flow(r, g, times, d, n, sigma2)
        axis.plot(path[0], path[1], color=COLOURS["gd"], linewidth=1.3, alpha=0.9)
        axis.plot(r, g, "o", color=COLOURS["gd"], markersize=3.5)
        columns |= {f"line{k}_r_d{d}": path[0], f"line{k}_g_d{d}": path[1]}
    return columns


def overshoot(d: int, n: int, sigma2: float, r: float) -> Figure:
    """r, g_par and g_perp against time from beta = 0, Gamma = 0."""
    times = _times(n)
    path = scalar_flow.isotropic_flow(r, 0.0, times, d, n, sigma2)
    target = n / (n + 1 + d + sigma2)
    with style():
        figure, axis = canvas(height=3.3)
        axis.plot(times, path[1], color=COLOURS["gd"], label=r"$g_\parallel$, along the error")
        if d > 1:
            axis.plot(times, path[2], color=COLOURS["trained_exact"], label=r"$g_\perp$, across it")
        axis.plot(times, path[0] / (r or 1), color=COLOURS["bayes"], label=r"$r(t)/r(0)$, error of $\beta$")
        axis.axhline(target, color=INK, linewidth=0.9, linestyle="--")
        axis.annotate(r"$\Gamma^\ast$", (times[0], target), xytext=(2, 3), textcoords="offset points")
        axis.set(xscale="log", xlabel="time", xlim=times[[0, -1]], ylim=(0, None))
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    columns = {"time": times, "r": path[0], "g_par": path[1], "g_perp": path[2]}
    alt = (
        "Against logarithmic time: the step along the error of the start rises first and above its final value, that"
        " across it rises later and without overshoot, and the error of the start falls to zero last."
    )
    return Figure("overshoot", figure, columns, alt)


def excess(law: PromptLaw, flows: list[theory.Flow]) -> Figure:
    """Excess risk against time from many starts; from the first, zero, also its bound."""
    zero = flows[0]
    shown = zero.times > 0
    times = zero.times[shown]
    curves = [np.maximum(gd_beta.excess(law, flow.beta, flow.Gamma), 1e-30)[shown] for flow in flows]
    bound = theory.excess_bound(law, zero.beta[0], zero.Gamma[0], times)
    with style():
        figure, axis = canvas(height=3.7)
        for k, curve in enumerate(curves[1:]):
            label = "flow from other starts" if k == 0 else None
            axis.plot(times, curve, color=COLOURS["trained_exact"], linewidth=0.8, alpha=0.55, label=label)
        axis.plot(times, curves[0], color=COLOURS["gd"], label="flow from zero")
        axis.plot(times, bound, color=COLOURS["gd"], linestyle="--", linewidth=1.4, label="bound, from zero")
        axis.set(xscale="log", yscale="log", xlabel="time", ylabel="excess risk", xlim=times[[0, -1]])
        axis.set_ylim(1e-12, 4 * max(bound.max(), max(curve.max() for curve in curves)))
        axis.legend(loc="lower left")
    columns = {"time": times, "bound": bound} | {f"flow{k}": curve for k, curve in enumerate(curves)}
    alt = (
        "Excess risk against time, both logarithmic. Curves from many starts stay level, then fall off a cliff to zero;"
        " the dashed bound lies above the curve it belongs to and falls later."
    )
    return Figure("excess", figure, columns, alt, method="trained")


def steps(law: PromptLaw, gd: Descent, adam: Descent, deviation: np.ndarray, stable: float) -> Figure:
    """Left: gradient descent on the flow's clock. Right: excess after the last step against the learning rate."""
    ends = {"gd": gd.excess(law)[-1], "adam": adam.excess(law)[-1]}
    rates, curves = gd.learning_rates, gd.excess(law)
    fine = np.flatnonzero(np.isfinite(ends["gd"]) & (ends["gd"] < curves[0]))
    picked = np.unique(np.r_[fine[[0, len(fine) // 2, -1]]])
    times = np.geomspace(rates[0], rates[fine[-1]] * (len(curves) - 1), 120)
    flow = theory.integrate(law, gd.beta[0, 0], gd.Gamma[0, 0], times)
    exact = gd_beta.excess(law, flow.beta, flow.Gamma)
    columns = {"time": times, "flow": exact, "rate": rates, "gd_end": ends["gd"], "adam_end": ends["adam"]}
    columns["gd_deviation"] = deviation
    floor, top = 1e-14, 1e4 * curves[0, 0]
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6)
        left.plot(times, exact, color=COLOURS["gd"], linewidth=3.5, alpha=0.5, label="flow")
        for k, look in zip(picked, ("-", "--", ":"), strict=False):
            label = f"GD, step {rates[k]:.2g}"
            clock = rates[k] * np.arange(1, len(curves))
            left.plot(clock, curves[1:, k], color=COLOURS["trained_exact"], linestyle=look, linewidth=1.5, label=label)
            columns[f"gd{k}_excess"] = curves[1:, k]
        left.set(xscale="log", yscale="log", xlabel="time = step size × steps", ylabel="excess risk")
        left.set_ylim(floor, 10 * curves[0, 0])
        left.legend(loc="lower left", fontsize=8.5)
        for key, colour, label in (("gd", "trained_exact", "GD"), ("adam", "trained_sampled", "Adam")):
            inside = np.isfinite(ends[key]) & (ends[key] < top)
            right.plot(rates[inside], np.maximum(ends[key][inside], floor), "o-", color=COLOURS[colour], markersize=3.5)
            right.plot(rates[~inside], np.full((~inside).sum(), top), "x", color=COLOURS[colour], markersize=6)
            right.plot([], [], "o-", color=COLOURS[colour], markersize=3.5, label=label)
        right.plot([], [], "x", color=COLOURS["trained_exact"], linestyle="none", label="diverged")
        right.axvline(stable, color=INK, linewidth=0.9, linestyle="--")
        right.set(xscale="log", yscale="log", xlabel="step size", title=f"after {len(curves) - 1} steps")
        right.legend(loc="lower left", fontsize=8.5)
    alt = (
        "Left: on the flow's clock gradient descent with two smaller step sizes lies on the flow's curve, with the"
        " largest it departs. Right: excess after the last step against the step size; gradient descent improves"
        " until it suddenly diverges, well before the dashed line of local stability; Adam does not diverge."
    )
    return Figure("steps", figure, columns, alt, method="trained")


def _times(n: int) -> np.ndarray:
    return np.geomspace(1e-2, 20 * (n + 2) / 4, 200)
