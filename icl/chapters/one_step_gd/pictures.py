"""Chapter 1's pictures."""

import numpy as np

from icl.chapters.one_step_gd.experiments import Sweep, context_lengths
from icl.estimates import Estimate
from icl.figures import COLOURS, INK, Figure, canvas, heat_maps, style
from icl.models.effective import EffectiveParameters
from icl.search import Restarts, Training
from icl.theory import landscape
from icl.theory import one_step_gd as theory


def weights(predicted: EffectiveParameters, exact: EffectiveParameters, sampled: EffectiveParameters) -> Figure:
    """The product (v; c) ⊗ (V; u') that the output sees, beside the prediction: the key-query block for c = 1."""
    panels = {"predicted": predicted, "exact loss, L-BFGS": exact, "samples, Adam": sampled}
    matrices = {name: _gauge_fixed(effective) for name, effective in panels.items()}
    d = matrices["predicted"].shape[1]
    with style():
        figure, axes, columns = heat_maps(matrices, height=2.9)
        for axis in axes:
            axis.tick_params(length=0)
            axis.axhline(d, color=INK, linewidth=0.8)
            axis.axhline(d + 1, color=INK, linewidth=0.8)
        axes[0].set_yticks([d / 2, d + 0.5, d + 1.5], ["key–query\nblock $V$", "label row $u$", "value row $v$"])
    alt = (
        "Three heat maps side by side: the predicted weights, those found on the exact loss and those found on samples."
        " All three show a constant diagonal in the key-query block and zeros elsewhere."
    )
    return Figure("weights", figure, columns, alt, method="trained")


def _gauge_fixed(effective: EffectiveParameters) -> np.ndarray:
    """Rows V c, u c, v / c, (d + 2, d): the parts in the scale in which the label path is 1."""
    parts = effective.numpy()
    c = parts["c"] if abs(parts["c"]) > 1e-12 else 1.0  # at d = 1 the best may be of the second family: as it is
    return np.vstack([c * parts["V"], c * parts["u"], parts["v"] / c])


def risk_against_n(d: int, n: int, sigma2: float, exact: Sweep, sampled: dict[int, Estimate]) -> Figure:
    """Risk of the four predictors against context length, with trained models on top."""
    ns = context_lengths(n, 48)
    curves = {
        "zero": ("predict 0", [theory.zero_predictor_risk(d, k, sigma2) for k in ns]),
        "gd": ("one GD step", [theory.minimal_risk(d, k, sigma2) for k in ns]),
        "least_squares": ("least squares", [theory.least_squares_risk(d, k, sigma2) for k in ns]),
        "bayes": ("ridge (Bayes)", [theory.lemma1_constant(d, k, sigma2) for k in ns]),
    }
    sampled_ns = np.array(sorted(sampled))
    means = np.array([sampled[k].mean for k in sampled_ns])
    errors = np.array([sampled[k].stderr for k in sampled_ns])
    ceiling = 1.25 * (d + sigma2)
    with style():
        figure, axis = canvas(height=3.9)
        for key, (label, values) in curves.items():
            shown = np.where(np.array(values) > ceiling, np.nan, values)
            axis.plot(ns, shown, color=COLOURS[key], zorder=1)
            _label_curve(axis, ns, shown, label, key)
        axis.plot(exact.grid, exact.risks, "o", color=COLOURS["trained_exact"], label="attention, exact loss", zorder=3)
        axis.errorbar(
            sampled_ns, means, 2 * errors, fmt="D", markersize=9, markerfacecolor="none", markeredgewidth=1.6,
            color=COLOURS["trained_sampled"], label="attention, samples", zorder=4,
        )  # fmt: skip
        axis.set(xscale="log", xlabel="context length $n$", ylabel="risk", xlim=(1, ns[-1]), ylim=(0, ceiling))
        axis.axhline(sigma2, color=INK, linewidth=0.8, linestyle=":")
        axis.annotate(r"noise $\sigma^2$", (1.05, sigma2), xytext=(0, 3), textcoords="offset points", fontsize=9)
        axis.legend(loc="upper right", bbox_to_anchor=(1, 0.78))
    columns = {"n": ns, **{key: values for key, (_, values) in curves.items()}}
    columns |= {"n_exact": exact.grid, "trained_exact": exact.risks}
    columns |= {"n_sampled": sampled_ns, "trained_sampled": means, "trained_sampled_stderr": errors}
    alt = (
        "Risk against context length on a logarithmic axis. The curve of one gradient step falls from the zero"
        " predictor's level; trained attention lies on it; ridge regression lies below and least squares joins it."
    )
    return Figure("risk_against_n", figure, columns, alt, method="trained")


# Where a curve's name stands beside its first point past a third of the axis: shift in points, alignment.
_LABELS = {
    "zero": ((0, 4), "left", "bottom"),
    "gd": ((5, 4), "left", "bottom"),
    "least_squares": ((5, 2), "center", "bottom"),
    "bayes": ((-5, -4), "right", "top"),
}


def _label_curve(axis, x, y, text: str, key: str) -> None:
    seen = np.flatnonzero(np.isfinite(y) & (np.log(x) >= np.log(x[-1]) / 3))
    if len(seen):
        shift, ha, va = _LABELS[key]
        at = (x[seen[0]], y[seen[0]])
        axis.annotate(text, at, xytext=shift, textcoords="offset points", ha=ha, va=va, fontsize=10)


def step_sizes(d: int, n: int, sigma2: float, along_n: Sweep, along_noise: Sweep) -> Figure:
    """The learned step against context length and against the noise, on the predicted curves."""
    ns = context_lengths(n, 48)
    noise = np.linspace(0, along_noise.grid.max(), 101)
    on_n = np.array([theory.step_size(d, k, sigma2) for k in ns])
    on_noise = np.array([theory.step_size(d, n, s) for s in noise])
    with style():
        figure, (left, right) = canvas(1, 2, height=3.0)
        left.plot(ns, ns * on_n, color=COLOURS["gd"])
        left.plot(along_n.grid, along_n.grid * along_n.steps, "o", color=COLOURS["trained_exact"])
        left.set(xscale="log", xlabel="context length $n$", ylabel=r"$n\,\eta$", ylim=(0, 1.05))
        left.axhline(1, color=INK, linewidth=0.8, linestyle=":")
        left.annotate("Newton step", (1.2, 1), xytext=(0, -11), textcoords="offset points", fontsize=9)
        right.plot(noise, n * on_noise, color=COLOURS["gd"], label="predicted")
        right.plot(
            along_noise.grid, n * along_noise.steps, "o", color=COLOURS["trained_exact"], label="learned, exact loss"
        )
        right.set(xlabel=r"noise $\sigma^2$", ylim=(0, 1.05))
        right.legend(loc="upper right")
    columns = {"n": ns, "n_predicted": on_n, "n_learned_at": along_n.grid, "n_learned": along_n.steps}
    columns |= {"sigma2": noise, "sigma2_predicted": on_noise}
    columns |= {"sigma2_learned_at": along_noise.grid, "sigma2_learned": along_noise.steps}
    alt = (
        "Two panels: n times the step size rises with context length towards 1 and falls with noise."
        " The steps learned by training lie on the predicted curves."
    )
    return Figure("step_sizes", figure, columns, alt)


def training_curves(sampled: list[Training], exact: Training, floor: float) -> Figure:
    """Loss against step: sampled trainings jitter around, exact training falls to, the predicted floor."""
    steps = np.arange(1, len(exact.curve) + 1)
    kept = np.unique(np.geomspace(1, len(steps), 200).round().astype(int)) - 1
    with style():
        figure, axis = canvas(height=3.2)
        for k, run in enumerate(sampled):
            label = "samples, Adam" if k == 0 else None
            axis.plot(
                steps[kept], run.curve[kept], color=COLOURS["trained_sampled"], linewidth=0.9, alpha=0.7, label=label
            )
        axis.plot(steps[kept], exact.curve[kept], color=COLOURS["trained_exact"], label="exact loss, Adam")
        axis.axhline(floor, color=COLOURS["gd"], linestyle="--", label="predicted floor")
        axis.set(xscale="log", xlabel="step", ylabel="loss", ylim=(0, None), xlim=(1, len(steps)))
        axis.legend()
    columns = {"step": steps[kept], "exact": exact.curve[kept]}
    columns |= {f"sampled_{k}": run.curve[kept] for k, run in enumerate(sampled)}
    alt = (
        "Loss against training step. The exact loss falls smoothly onto the dashed predicted floor;"
        " the losses on fresh samples fall the same way and then fluctuate around it."
    )
    return Figure("training_curves", figure, columns, alt, method="trained")


def landscape_d2(n: int, sigma2: float, ends: Restarts) -> Figure:
    """The loss along one angle at d = 2 with the ends of random starts; when larger d have a second valley."""
    angles = np.linspace(0, np.pi / 2, 361)
    profile = landscape.profile(angles, 2, n, sigma2)
    where = np.array([_angle(effective) for effective in ends.weights])
    dimensions = np.arange(2, 9)
    first = np.array([landscape.first_n_with_second_valley(int(k), sigma2) or np.nan for k in dimensions])
    with style():
        figure, (left, right) = canvas(1, 2, height=3.3, width_ratios=[1.5, 1])
        left.plot(angles, profile, color=INK)
        left.plot(where, ends.risks, "o", color=COLOURS["trained_exact"], alpha=0.35, markersize=9, markeredgewidth=0)
        left.set(xlabel=r"angle $\varphi$ between GD ($v=0$) and $c=0$", ylabel="least risk at that angle")
        left.set_xticks([0, np.pi / 4, np.pi / 2], ["0", "π/4", "π/2"])
        for valley in landscape.valleys(2, n, sigma2):
            stuck = int((np.abs(where - valley.angle) < 0.1).sum())
            at_gd = valley.angle < 0.2
            left.annotate(
                f"{stuck} of {len(where)} starts",
                (valley.angle, valley.risk),
                xytext=(-8 if at_gd else 0, -9),
                textcoords="offset points",
                ha="left" if at_gd else "center",
                va="top",
                fontsize=9,
            )
        left.margins(y=0.2)
        right.plot(dimensions, first, "o-", color=INK)
        right.set(yscale="log", xlabel="$d$", ylabel="least $n$ with a second valley", xticks=dimensions)
        right.plot(2, n, "*", color=COLOURS["gd"], markersize=13)
        right.annotate("here", (2, n), xytext=(-5, 10), textcoords="offset points", fontsize=9)
    columns = {"angle": angles, "profile": profile, "dimension": dimensions, "first_n": first}
    alt = (
        "Left: the risk along one angle at d = 2 has two valleys, the deep one at gradient descent and a shallow one"
        " near a right angle; dots show that random starts end in both. Right: the context length from which a second"
        " valley exists grows with d."
    )
    return Figure("landscape_d2", figure, columns, alt)


def _angle(effective: EffectiveParameters) -> float:
    parts = effective.numpy()
    return float(np.arctan2(np.linalg.norm(parts["v"]), abs(parts["c"])))
