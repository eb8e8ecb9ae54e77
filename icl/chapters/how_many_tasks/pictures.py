"""Chapter 10's pictures."""

import re

import numpy as np

from icl.chapters.how_many_tasks.deep import Risks
from icl.chapters.how_many_tasks.experiments import along_prompts
from icl.chapters.how_many_tasks.ladder import Climb, along_tasks
from icl.chapters.how_many_tasks.transformer import COUNTS
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.parameters import Parameters
from icl.theory import how_many_tasks as theory

SHADES = tuple(COLOURS[name] for name in ("preconditioned", "newton", "trained_sampled"))  # of the ladder's sizes
PROMPTS = (0.15, 0.25, 0.4, 0.6, 0.8, 1.25, 1.6, 2.5, 4.0, 7.0)  # P/d² of fits
TASKS = (0.25, 0.5, 1.0, 1.5, 2.5)  # K/d
LENGTHS = (1, 8, 64, np.inf)  # times the page's n/d


def two_transitions(parameters: Parameters, stream) -> Figure:
    """Left: error against prompts, endless tasks, and fits; right: against tasks, endless prompts, several contexts."""
    found = along_prompts(parameters, PROMPTS, lambda d: stream("along prompts", d))
    return drawn_transitions(parameters, found, PROMPTS, along_tasks(parameters, TASKS, stream("along tasks")))


def drawn_transitions(parameters: Parameters, found: dict[int, list[float]], taus, tasks: dict) -> Figure:
    """`two_transitions` with errors measured at `taus`, by d, and at (d, K/d), averaged over sets of tasks."""
    alpha, rho = parameters.n / parameters.d, parameters.sigma2 / parameters.d
    grid = np.unique(
        np.r_[np.geomspace(0.1, 10, 301), 1 + np.geomspace(1e-3, 0.1, 20), 1 - np.geomspace(1e-3, 0.1, 20)]
    )
    curve = np.array([theory.descent(tau, alpha, rho) for tau in grid])
    kappas = np.linspace(0.02, 3, 150)
    least, zero = theory.endless_prompts(alpha, np.inf, rho), 1 + rho
    contexts = {f"{factor * alpha:g}": [theory.endless_prompts(factor * alpha, k, rho) - rho for k in kappas]
                for factor in LENGTHS}  # fmt: skip
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6)
        top = 2.5 * zero
        left.plot(grid, np.where(curve < 2 * top, curve, np.nan), color=COLOURS["gd"], label="$d = \\infty$")
        for (d, errors), shade, marker in zip(found.items(), SHADES, "os^D", strict=False):
            left.plot(taus, errors, marker, color=shade, markersize=5, markerfacecolor="none", label=f"$d = {d}$")
        left.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        left.axhline(least, color=INK, linewidth=0.8, linestyle="--")
        left.set(xscale="log", ylim=(0, top), xlim=(0.1, 10), xlabel="prompts $P/d^2$", ylabel="error on new tasks")
        left.set_title("endless tasks")
        left.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        left.legend(loc="upper right", handlelength=1.2)
        for (label, values), line in zip(contexts.items(), ((0, ()), (0, (4, 2)), (0, (1, 1)), (0, ())), strict=True):
            endless = label == "inf"
            right.plot(
                kappas, values, color=INK if endless else COLOURS["gd"], linestyle=line,
                linewidth=1.2 if endless else 2, label="$n/d = \\infty$" if endless else f"$n/d = {label}$",
            )  # fmt: skip
        at, means = np.array(list(tasks)), np.array(list(tasks.values()))
        right.plot(at[:, 1], means - rho, "o", color=SHADES[2], markersize=5, markerfacecolor="none")
        right.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        right.set(xlim=(0, 3), ylim=(0, 1.05 * max(contexts[f"{alpha:g}"])), xlabel="tasks $K/d$")
        right.set_ylabel("excess on new tasks")
        right.set_title("endless prompts")
        right.legend(loc="upper right", handlelength=1.8)
    columns = {"tau": grid, "limit": np.where(np.isfinite(curve), curve, np.nan), "tau_fitted": np.array(taus)}
    columns |= {f"fits_d{d}": np.array(errors) for d, errors in found.items()} | {"kappa": kappas}
    columns |= {f"excess_n_over_d_{label.replace('.', '_')}": np.array(v) for label, v in contexts.items()}
    columns |= {"kappa_averaged": at[:, 1], "excess_averaged": means - rho}
    alt = (
        "Left: the error on new tasks against the number of prompts falls, rises to a peak at d squared prompts and"
        " falls again; fits lie above the curve and nearer to it the larger d. Right: the excess falls with the number"
        " of tasks; for endless contexts along a line that reaches 0 at d tasks and stays there."
    )
    return Figure("two_transitions", figure, columns, alt, method="monte-carlo")


def convergence(climb: Climb, corrections: dict[int, float]) -> Figure:
    """Error over the limit's, less 1, against d on logarithmic axes; lines c/d for P = tau·d² by `corrections`[tau]."""
    endless = climb.ladders["endless tasks"]
    shown = {f"$P = {tau}d^2$": (endless, list(endless.taus).index(tau), c) for tau, c in corrections.items()}
    shown["$P = 2d^2$, $K = d/2$"] = (climb.ladders["few tasks"], 0, None)
    with style():
        figure, axis = canvas(height=3.4)
        columns: dict[str, np.ndarray] = {}
        for (name, (found, column, c)), shade, marker in zip(shown.items(), SHADES, "os^", strict=False):
            above, errors = found.ratio[:, column] - 1, found.stderr[:, column]
            axis.errorbar(found.sizes, above, 2 * errors, fmt=marker, color=shade, markersize=6, label=name)
            key = re.sub(r"\W+", "_", name).strip("_")
            columns |= {f"d_{key}": found.sizes, f"above_{key}": above, f"stderr_{key}": errors}
            if c is not None:
                ends = np.array([6.0, 64.0])
                axis.plot(ends, c / ends, color=shade, linewidth=1.4)
        axis.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="error / limit − 1", xlim=(6, 64))
        axis.set_xticks([8, 16, 24, 48], ["8", "16", "24", "48"])
        axis.set_xticks([], minor=True)
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    alt = (
        "On doubly logarithmic axes the relative distance of fits from the limit falls with d along straight lines of"
        " slope minus one, from about thirty per cent at d = 8 to a few per cent at d = 48."
    )
    return Figure("convergence", figure, columns, alt, method="monte-carlo")


def deep_transformers(risks: Risks) -> Figure:
    """Risk on new tasks (left) and on seen ones (right), over ridge regression's, against the number of training tasks.

    For comparison one linear layer fitted to endless prompts of as many tasks, exact.
    """
    counts = list(COUNTS)
    places, linear = np.arange(len(counts)), [risks.linear[count] for count in counts]
    words = {"transformer": "trained transformer", "mixture": "best for the $K$ tasks"}
    looks = {"transformer": ("D", COLOURS["trained_sampled"]), "mixture": ("s--", COLOURS["bayes"])}
    columns = {"tasks": np.array(counts, dtype=float), "linear_new": np.array(linear)}
    with style():
        figure, axes = canvas(1, 2, height=3.5)
        for axis, side in zip(axes, ("new", "seen"), strict=True):
            for name, (marks, colour) in looks.items():
                known = [k for k in places if (name, side, counts[k]) in risks.values]
                found = [risks.ratio(name, "ridge", side, counts[k]) for k in known]
                mean, error = (np.array([getattr(value, part) for value in found]) for part in ("mean", "stderr"))
                axis.errorbar(known, mean, 2 * error, fmt=marks, color=colour, markersize=6, linewidth=1.4,
                              label=words[name])  # fmt: skip
                columns[f"{name}_{side}"] = np.full(len(counts), np.nan)
                columns[f"{name}_{side}"][known] = mean
            axis.axhline(1, color=INK, linewidth=0.8, linestyle=":")
            axis.set_xticks(places, [str(count or "new") for count in counts])
            axis.set(xlabel="training tasks $K$", title=f"on {side} tasks", xlim=(-0.4, len(counts) - 0.6))
        axes[0].plot(places, linear, "o:", color=COLOURS["gd"], markersize=5, linewidth=1.4, label="one linear layer")
        axes[0].legend(loc="upper right")
        axes[0].set(yscale="log", ylabel="risk over that of ridge")
        axes[0].set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes[0].set_yticks([], minor=True)
        axes[1].set_ylim(0, None)
    alt = (
        "Left: on new tasks the risk of the trained transformers falls with the number of training tasks from several"
        " times that of ridge regression towards it, and gets below that of the best predictor for the training tasks."
        " Right: on the training tasks themselves few tasks are answered better than by ridge."
    )
    return Figure("deep_transformers", figure, columns, alt, method="trained")
