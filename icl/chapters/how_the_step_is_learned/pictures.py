"""Chapter 8's pictures: the stairs and the drop, heads of low rank, the start's size, and three optimisers."""

import numpy as np
from matplotlib.colors import TwoSlopeNorm

from icl.chapters.how_the_step_is_learned.optimiser_runs import Descent
from icl.figures import COLOURS, INK, SIGNED, Figure, canvas, style

Curve = tuple[np.ndarray, np.ndarray]  # times and risks, (T,) each
_SHADES = ("bayes", "gd", "trained_exact", "preconditioned", "least_squares", "attention_only")


def staircase(apart: Curve, merged: Curve, stairs: np.ndarray, Gammas: np.ndarray) -> Figure:
    """Risk over time, keys and queries apart and merged, over the stairs (d+1,); below, Gamma on each, (d+1, d, d)."""
    d = len(stairs) - 1
    with style():
        figure, axes = canvas(2, d + 1, height=5.0, height_ratios=[2.4, 1])
        grid = axes[0, 0].get_gridspec()
        for axis in axes[0]:
            axis.remove()
        top = figure.add_subplot(grid[0, :])
        _rules(top, stairs)
        top.plot(*merged, color=COLOURS["preconditioned"], label="one merged matrix")
        top.plot(*apart, color=COLOURS["gd"], label="keys and queries apart")
        top.set(xscale="log", xlabel="time", ylabel="risk", xlim=(max(apart[0][0], 0.1), apart[0][-1]))
        figure.legend(loc="outside upper center", ncols=2)
        high = max(np.abs(Gammas).max(), 1e-12)
        for m, (axis, Gamma) in enumerate(zip(axes[1], Gammas, strict=True)):
            axis.pcolormesh(Gamma, cmap=SIGNED, norm=TwoSlopeNorm(0, -high, high), edgecolors="none")
            axis.set(xticks=[], yticks=[], aspect="equal", title=rf"$\Gamma$ on $L_{m}$")
            axis.title.set_fontsize(10)
            axis.invert_yaxis()
            for spine in axis.spines.values():
                spine.set_visible(True)
                spine.set_linewidth(0.5)
    columns = {"time": apart[0], "apart": apart[1], "merged_time": merged[0], "merged": merged[1], "stair": stairs}
    columns |= {f"Gamma_{m}": Gamma.ravel() for m, Gamma in enumerate(Gammas)}
    alt = (
        "Risk against time on a logarithmic axis. The merged matrix falls once, early. With keys and queries apart the"
        " risk falls in steps and rests on every dashed line. Below, a small map of Gamma for every stair: empty at"
        " first, then one more entry of the diagonal on each."
    )
    return Figure(
        "staircase", figure, columns, alt, method="trained"
    )  # at the solver's own steps: they differ as trainings do


def starts(curves: dict[float, Curve], stairs: np.ndarray, sizes, apart, merged, line) -> Figure:
    """Left: risk over time from starts of several sizes, size → curve. Right: waits against the size, (k,) each.

    `apart` and `merged` are measured at `sizes`; `line` is the merged wait that theory predicts beside the last.
    """
    with style():
        figure, (left, right) = canvas(1, 2, height=3.5, width_ratios=[1.35, 1])
        _rules(left, stairs)
        for (size, (times, risks)), shade in zip(curves.items(), _SHADES, strict=False):
            left.plot(times, risks, color=COLOURS[shade], label=f"{size:g}")
        left.set(xscale="log", xlabel="time", ylabel="risk")
        handles, words = left.get_legend_handles_labels()
        figure.legend(handles, words, loc="outside upper left", ncols=len(words), title="size of start")
        right.plot(sizes, apart, "o", color=COLOURS["gd"])
        right.plot(sizes, apart[-1] * sizes[-1] / sizes, color=COLOURS["gd"], linewidth=1.2, label="apart: 1/start")
        right.plot(sizes, merged, "o", color=COLOURS["preconditioned"])
        right.plot(sizes, line, color=COLOURS["preconditioned"], linewidth=1.2, label="merged: a logarithm")
        right.set(xscale="log", yscale="log", xlabel="size of start", ylabel="wait for the first fall")
        right.set_ylim(top=60 * np.max(apart))  # room for the legend
        right.legend(loc="upper right")
    columns = {"size": sizes, "wait_apart": apart, "wait_merged": merged, "wait_merged_predicted": line}
    columns |= {"stair": stairs}
    for k, (times, risks) in enumerate(curves.values()):
        columns |= {f"time_{k}": times, f"risk_{k}": risks}
    alt = (
        "Left: risk against time for starts of several sizes; small starts make sharp stairs late, large ones a smooth"
        " early descent. Right: the wait against the size of the start on doubly logarithmic axes, a straight line of"
        " slope minus one for separate keys and queries, and a nearly flat curve for the merged matrix."
    )
    return Figure("starts", figure, columns, alt, method="trained")


def optimisers(runs: dict[str, dict[float, Descent]], stairs: np.ndarray) -> Figure:
    """One panel an optimiser: the exact risk against steps, from starts of several sizes (size → run)."""
    with style():
        figure, axes = canvas(1, len(runs), height=3.2, sharey=True)
        columns = {"stair": stairs}
        for axis, (name, by_start) in zip(axes, runs.items(), strict=True):
            for level in stairs:
                axis.axhline(level, color=INK, linewidth=0.7, linestyle=":")
            for (size, run), shade in zip(by_start.items(), _SHADES, strict=False):
                steps = np.unique(np.geomspace(1, len(run.curve), 250).astype(int))
                axis.plot(steps, run.curve[steps - 1], color=COLOURS[shade], label=f"start {size:g}")
                columns |= {f"{name}_{size:g}_step": steps, f"{name}_{size:g}_risk": run.curve[steps - 1]}
            axis.set(xscale="log", xlabel="steps", title="gradient descent" if name == "descent" else name)
        axes[0].set_ylabel("risk")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    alt = (
        "Three panels with the risk against training steps over dotted stairs. Gradient descent from small starts"
        " stands on the stairs; Adam and Muon, from the same starts, fall through them in one go."
    )
    return Figure("optimisers", figure, {_plain(k): v for k, v in columns.items()}, alt, method="trained")


def _plain(name: str) -> str:
    """A column's name without spaces and points."""
    return name.replace(" ", "_").replace(".", "p").replace("-", "m")


def _rules(axis, stairs):
    """Dashed stairs with their names at the right edge, none where two would overlap."""
    last = np.inf
    for m, level in enumerate(stairs):
        axis.axhline(level, color=INK, linewidth=0.8, linestyle="--", alpha=0.6)
        if last - level > 0.06 * (stairs[0] - stairs[-1]):
            place = axis.get_yaxis_transform()
            axis.text(1.01, level, f"$L_{{{m}}}$", transform=place, fontsize=9.5, va="center", clip_on=False)
            last = level
