"""Chapter 3's pictures."""

from dataclasses import dataclass

import numpy as np

from icl.chapters.nonlinear_targets.experiments import Measured, View
from icl.estimates import Estimate
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.targets import Family
from icl.theory import nonlinear_targets as theory
from icl.theory.nonlinear_targets import Moments


def one_curve(
    families: dict[str, Family],
    half: dict[str, float],
    lengths: list[int],
    measured: dict[str, list[Estimate]],
    *,
    name: str = "steps",
) -> Figure:
    """Measured n·eta*, against n and against n / h, where every family lies on 1 / (1 + h/n); `half` are the h."""
    lengths = np.asarray(lengths)
    means = {key: lengths * [step.mean for step in measured[key]] for key in families}
    errors = {key: lengths * [step.stderr for step in measured[key]] for key in families}
    ratios = {key: lengths / half[key] for key in families}  # h = ∞: never more than 0 of them
    columns = {"n": lengths}
    last = max(ratio[-1] for ratio in ratios.values())
    first = min(ratio[0] for ratio in ratios.values() if ratio[0] > 0)
    curve = np.geomspace(0.7 * first, 1.4 * last, 120)
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6, sharey=True)
        for key in families:
            look = dict(fmt="o", markersize=4.5, linewidth=1, color=INK)
            look |= dict(markerfacecolor="none") if families[key].heavy else {}
            left.plot(lengths, means[key], color=COLOURS["zero"], linewidth=0.8, zorder=1)
            left.errorbar(lengths, means[key], 2 * errors[key], **look)
            if np.isfinite(half[key]):
                right.errorbar(ratios[key], means[key], 2 * errors[key], **look)
            columns |= {f"{key}_over_h": ratios[key], key: means[key], f"{key}_stderr": errors[key]}
        for key, offset, side in _labelled(families, means):
            at = (lengths[2], means[key][2])
            left.annotate(families[key].formula, at, offset, textcoords="offset points", ha=side, fontsize=9.5)
        right.plot(curve, 1 / (1 + 1 / curve), color=COLOURS["gd"], zorder=1)
        right.axvline(1, color=COLOURS["zero"], linewidth=0.8, zorder=0)
        right.axhline(0.5, color=COLOURS["zero"], linewidth=0.8, zorder=0)
        right.annotate("half a step\nafter $h$ examples", (1, 0.5), (8, -30), textcoords="offset points", fontsize=9.5)
        left.set(xscale="log", ylim=(-0.05, 1.02), xlabel="examples $n$", title=r"$n\,\eta^\ast$ against $n$")
        left.set_xticks(lengths, [str(n) for n in lengths])
        left.set_xticks([], minor=True)
        right.set(xscale="log", xlabel="examples in units of $h$", title="against $n/h$: one curve")
        right.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        right.set_xticks([], minor=True)
    columns |= {"curve_over_h": curve, "curve": 1 / (1 + 1 / curve)}
    alt = (
        "Left, n times the measured step against the context length: every target rises along a line of its own."
        " Right, the same points against the context length divided by the target's h: all lie on one curve."
    )
    return Figure(name, figure, columns, alt, method="monte-carlo")


def _labelled(families, means):
    """The least and the most delayed family with a step, and one without: where their names stand, in points."""
    rising = sorted((key for key in families if means[key][-1] > 0.2), key=lambda key: means[key][2])
    flat = [key for key in families if key not in rising]
    places = [(rising[-1], (-7, 5), "right"), (rising[0], (8, -9), "left")]
    return places + [(key, (-4, 6), "left") for key in flat[:1]]


def deviations(families: dict[str, Family], predicted: dict[str, dict], measured: dict[str, Measured]) -> Figure:
    """Measured minus predicted, in per cent of the prediction, with five standard errors, for a, b, eta* and risk."""
    quantities = {"a": "$a$", "b": "$b$", "step_size": r"$\eta^\ast$", "risk": "risk"}
    names = list(families)[::-1]
    columns = {}
    with style():
        figure, axes = canvas(1, 4, height=3.9, sharey=True, sharex=True)
        for axis, (key, label) in zip(axes, quantities.items(), strict=True):
            truth = np.array([predicted[name][key] or np.nan for name in names], dtype=float)
            found = [getattr(measured[name], key) for name in names]
            off = 100 * (np.array([e.mean for e in found]) / truth - 1)
            bars = 500 * np.array([e.stderr for e in found]) / truth
            columns |= {f"{key}_percent": off, f"{key}_five_stderr": bars}
            heavy = np.array([families[name].heavy for name in names])
            for mask, face in ((~heavy, INK), (heavy, "none")):
                axis.errorbar(
                    off[mask], np.flatnonzero(mask), xerr=bars[mask], fmt="o", markersize=4, linewidth=1.2,
                    color=INK, markerfacecolor=face,
                )  # fmt: skip
            axis.axvline(0, color=COLOURS["gd"], linewidth=1.2, zorder=0)
            axis.axvspan(-2, 2, color=COLOURS["zero"], alpha=0.18, linewidth=0)
            axis.set(title=label, xlim=(-5, 5), xticks=[-4, -2, 0, 2, 4])
            axis.tick_params(axis="y", length=0)
        axes[0].set_yticks(range(len(names)), [families[name].formula for name in names], fontsize=9)
        figure.supxlabel("measured − predicted, per cent", fontsize=10)
    alt = (
        "Four panels of dots, one row a family: the measured a, b, step and risk lie around zero deviation; the bars of"
        " five standard errors stay within two per cent for light-tailed families and are wider for the cubic ones."
    )
    return Figure("deviations", figure, columns, alt, method="monte-carlo")


def views(shown: list[View]) -> Figure:
    """One target of each family along a line, and the straight lines that the learner predicts after n examples."""
    columns = {}
    with style():
        figure, axes = canvas(2, 3, height=4.6, sharex=True)
        for axis, view in zip(axes.flat, shown, strict=True):
            axis.plot(view.t, view.target, color=INK, linewidth=1.5)
            shades = np.linspace(0.6, 1, len(view.lengths))
            for n, line, alpha in zip(view.lengths, view.predictions, shades, strict=True):
                axis.plot(view.t, line, color=COLOURS["gd"], alpha=alpha, linewidth=1.8 * alpha, label=f"$n = {n}$")
                columns[f"{view.family.name}_{n}"] = line
            columns[f"{view.family.name}_target"] = view.target
            axis.set(title=view.family.formula, xlim=(-3, 3))
            axis.title.set_fontsize(9.5)
            axis.margins(y=0.08)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
        figure.supxlabel("distance along a line through the origin", fontsize=10)
    columns = {"t": shown[0].t, **columns}
    alt = (
        "Six small pictures, one target each, drawn along a line through the origin, with the predictions after several"
        " context lengths: always straight lines through the origin, flat for the quadratic target."
    )
    return Figure("views", figure, columns, alt, method="monte-carlo")


def risk_split(
    families: dict[str, Family], moments: dict[str, Moments], n: int, sigma2: float, measured: dict[str, Measured]
) -> Figure:
    """The least risk as a share of the zero predictor's: noise, what no line explains, what n examples leave."""
    names = list(families)[::-1]
    total = np.array([moments[name].power + sigma2 for name in names])
    noise = sigma2 / total
    floor = np.array([theory.linear_floor(moments[name], sigma2) for name in names]) / total - noise
    least = np.array([theory.minimal_risk(moments[name], n, sigma2) for name in names]) / total
    excess = least - floor - noise
    found = np.array([measured[name].risk.mean for name in names]) / total
    errors = np.array([measured[name].risk.stderr for name in names]) / total
    rows = np.arange(len(names))
    with style():
        figure, axis = canvas(height=4.2)
        left = np.zeros(len(names))
        # the first two no linear predictor can avoid, so they have no predictor's colour
        look = {"noise": (INK, 0.2), "not linear": (INK, 0.5), f"{n} examples only": (COLOURS["gd"], 1)}
        for (label, (colour, alpha)), width in zip(look.items(), (noise, floor, excess), strict=True):
            axis.barh(rows, width, left=left, color=colour, alpha=alpha, height=0.62, linewidth=0, label=label)
            left = left + width
        axis.errorbar(
            found, rows, xerr=2 * errors, fmt="D", markersize=4.5, color=INK, linewidth=1.2, label="measured risk"
        )
        axis.set(xlim=(0, 1.04), xlabel="risk, as a share of the risk of predicting 0")
        axis.set_yticks(rows, [families[name].formula for name in names], fontsize=9.5)
        axis.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper center", ncols=4, fontsize=9, columnspacing=1.2, handlelength=1.4)
    columns = {"noise": noise, "floor": floor, "excess": excess, "measured": found, "measured_stderr": errors}
    alt = (
        "Stacked bars, one a family: the risk as a share of the zero predictor's, split into label noise, the part no"
        " linear function explains, and the part that a longer context would remove. Measured risks end the bars."
    )
    return Figure("risk_split", figure, columns, alt, method="monte-carlo")


@dataclass(frozen=True)
class Gap:
    """A counterexample: C1, C2 (d, d) and the risk of 0; n; the measured risks of any heads and of plain GD."""

    C1: np.ndarray
    C2: np.ndarray
    zero: float
    n: int
    best: Estimate
    plain: Estimate


def penalties(shown: dict[str, Gap]) -> Figure:
    """Risk of plain GD against its step for each counterexample, by title, above the level of preconditioned GD."""
    columns = {}
    with style():
        figure, axes = canvas(1, len(shown), height=3.1)
        for axis, (title, gap) in zip(axes, shown.items(), strict=True):
            slope, curvature = np.trace(gap.C2), np.trace(gap.C1)
            steps = slope / curvature * np.linspace(0.4, 1.6, 61)
            risks = gap.zero - 2 * steps * slope + steps**2 * curvature
            level = gap.zero - np.trace(gap.C2 @ np.linalg.solve(gap.C1, gap.C2))
            axis.plot(gap.n * steps, risks, color=COLOURS["gd"], label="plain GD")
            axis.axhline(level, color=COLOURS["preconditioned"], label="preconditioned GD")
            at = gap.n * slope / curvature
            for estimate, colour in ((gap.best, "preconditioned"), (gap.plain, "gd")):
                axis.errorbar(at, estimate.mean, 2 * estimate.stderr, fmt="o", color=COLOURS[colour])
            axis.set(title=title, xlabel=r"$n\,\eta$")
            key = f"panel{len(columns) // 4}"
            columns |= {f"{key}_step": gap.n * steps, f"{key}_plain": risks}
            columns |= {
                f"{key}_measured": [gap.best.mean, gap.plain.mean],
                f"{key}_stderr": [gap.best.stderr, gap.plain.stderr],
            }
        axes[0].set_ylabel("risk")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    alt = (
        "Two panels. The risk of plain gradient descent is a parabola in its step; its lowest point stays above the"
        " level of preconditioned gradient descent. Measured risks lie on both."
    )
    return Figure("penalties", figure, columns, alt, method="monte-carlo")


def learned_steps(families: dict[str, Family], predicted: dict[str, float], learned: dict[str, list[float]]) -> Figure:
    """n·eta of every training, one row a family, beside the predicted value."""
    names = list(families)[::-1]
    runs = np.array([learned[name] for name in names])
    aim = np.array([predicted[name] for name in names])
    rows = np.arange(len(names))
    with style():
        figure, axis = canvas(height=3.7)
        axis.plot(aim, rows, "|", color=COLOURS["gd"], markersize=17, markeredgewidth=2.4, label="predicted")
        for k, column in enumerate(runs.T):
            label = "learned from samples" if k == 0 else None
            axis.plot(column, rows, "D", color=COLOURS["trained_sampled"], markersize=5, alpha=0.8, label=label)
        axis.set(xlim=(min(-0.03, 1.1 * runs.min()), 1), xlabel=r"$n\,\eta$")
        axis.set_yticks(rows, [families[name].formula for name in names], fontsize=9.5)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", linewidth=0.3, color=INK, alpha=0.3)
        figure.legend(loc="outside upper center", ncols=2)
    columns = {"predicted": aim, **{f"run_{k}": column for k, column in enumerate(runs.T)}}
    alt = (
        "One row a family: a tick for the predicted step, diamonds for the steps that trained attention has learned."
        " They coincide but for the cubic with a Gaussian direction, where the runs scatter."
    )
    return Figure("learned_steps", figure, columns, alt, method="trained")
