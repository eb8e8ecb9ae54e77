"""Chapter 2's pictures of what the condition number does."""

import numpy as np

from icl.chapters.preconditioned_gd.condition_sweep import ConditionSweep
from icl.figures import COLOURS, Figure, canvas, style
from icl.prompts import PromptLaw
from icl.search import Training
from icl.theory import moments
from icl.theory import preconditioned_gd as theory
from icl.validation import InputError


def adam_against_condition(conditions, excess_percent, runs: list[Training], floor: float) -> Figure:
    """Loss curves of the same schedule at several condition numbers, and where their exact risks end."""
    steps = np.arange(1, len(runs[0].curve) + 1)
    edges = np.unique(np.geomspace(1, len(steps) + 1, 60).round().astype(int)) - 1
    middles = np.sqrt((edges[:-1] + 1) * edges[1:])
    curves = [np.add.reduceat(run.curve, edges[:-1]) / np.diff(edges) for run in runs]
    with style():
        figure, (left, right) = canvas(1, 2, height=3.2)
        for condition, curve, alpha in zip(conditions, curves, np.linspace(0.6, 1, len(runs)), strict=True):
            left.plot(middles, curve, color=COLOURS["trained_sampled"], alpha=alpha, label=f"{condition:g}")
        left.legend(title="condition number", fontsize=9, title_fontsize=9, loc="upper right", ncols=2)
        left.axhline(floor, color=COLOURS["preconditioned"], linestyle="--", linewidth=1.4)
        left.set(xscale="log", xlabel="step of Adam", ylabel="loss on samples")
        left.set_ylim(0, 1.25 * max(map(max, curves)))
        right.plot(conditions, excess_percent, "D-", color=COLOURS["trained_sampled"])
        right.set(xscale="log", yscale="log", xlabel="condition number of $H$", ylabel="risk above the least, %")
    columns = {"step": middles, **{f"loss_{c:g}": curve for c, curve in zip(conditions, curves, strict=True)}}
    columns |= {"condition": np.asarray(conditions, float), "excess_percent": np.asarray(excess_percent)}
    alt = (
        "Left: loss against training step for several condition numbers, with the predicted floor dashed;"
        " the larger the condition number, the later the fall. Right: how far above the floor each training ends."
    )
    return Figure("adam_against_condition", figure, columns, alt, method="trained")


def against_condition(sweeps: dict[str, ConditionSweep]) -> Figure:
    """Share of the signal left unexplained against the condition number of H, one panel a prior."""
    columns = {}
    with style():
        figure, axes = canvas(1, len(sweeps), height=3.9, sharey=True)
        for axis, (prior, sweep) in zip(axes, sweeps.items(), strict=True):
            tag = "inverse" if "-1" in prior else "identity"
            signal = np.array([moments.tau(law) - law.sigma2 for law in sweep.laws])
            noise = sweep.laws[0].sigma2
            curves = {
                "gd": ("plain GD, best step", [theory.plain_gd(law)[1] for law in sweep.laws]),
                "preconditioned": ("preconditioned GD", [theory.minimal_risk(law) for law in sweep.laws]),
                "least_squares": ("least squares", [_least_squares(law) for law in sweep.laws]),
                "bayes": ("Bayes", [estimate.mean for estimate in sweep.bayes]),
            }
            columns[f"{tag}_condition"] = sweep.conditions
            for key, (label, risks) in curves.items():
                share = (np.array(risks) - noise) / signal
                axis.plot(sweep.conditions, np.where(share > 1, np.nan, share), color=COLOURS[key], label=label)
                columns[f"{tag}_{key}"] = share
            errors = np.array([estimate.stderr for estimate in sweep.bayes]) / signal
            columns[f"{tag}_bayes_stderr"] = errors
            at = np.interp(np.log(sweep.trained_at), np.log(sweep.conditions), np.arange(len(signal)))
            trained = (sweep.trained - noise) / signal[at.round().astype(int)]
            axis.plot(sweep.trained_at, trained, "o", color=COLOURS["trained_exact"], label="attention, exact loss")
            columns |= {f"{tag}_trained_at": sweep.trained_at, f"{tag}_trained": trained}
            axis.set(xscale="log", xlabel="condition number of $H$", title=prior, ylim=(0, 1))
        axes[0].set_ylabel("share of the signal\nleft unexplained")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9.5)
    alt = (
        "Two panels, one a prior: the share of the signal left unexplained against the condition number of H, for plain"
        " gradient descent, preconditioned gradient descent, least squares and Bayes, with trained attention as dots on"
        " the preconditioned curve."
    )
    return Figure("against_condition", figure, columns, alt, method="trained")


def _least_squares(law: PromptLaw) -> float:
    try:
        return theory.least_squares_risk(law)
    except InputError:
        return np.nan
