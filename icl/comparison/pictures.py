"""The pictures of a comparison: which algorithm is near, and where the model leaves it off its law."""

import numpy as np

from icl.comparison.off_law import OffLaw
from icl.comparison.table import Comparison
from icl.comparison.words import drawn
from icl.figures import COLOURS, INK, Figure, canvas, style

_FAMILY = {
    "zero": "zero",
    "one_step": "gd",
    "gd_fixed": "gd",
    "gd": "gd",
    "preconditioned": "preconditioned",
    "newton": "newton",
    "newton_fixed": "newton",
    "least_squares": "least_squares",
    "bayes": "bayes",
    "ridge": "trained_exact",
    "online": "attention_only",
    "kernel": "block",
}
_FLOOR = 1e-3  # distances are drawn from a tenth of a percent on


def distances(comparison: Comparison, *, name: str = "distances", method: str = "monte-carlo") -> Figure:
    """How far each algorithm's answers are from the model's, nearest on top, on a logarithmic axis."""
    rows = comparison.rows[::-1]
    means, errors = (np.array([getattr(row.distance, part) for row in rows]) for part in ("mean", "stderr"))
    shown = np.clip(means, _FLOOR, 10)
    with style():
        figure, axis = canvas(height=0.42 * len(rows) + 0.9)
        for k, row in enumerate(rows):
            colour = COLOURS[_FAMILY[row.key]]
            axis.plot([_FLOOR, shown[k]], [k, k], color=colour, linewidth=1.2, alpha=0.8)
            axis.errorbar(shown[k], k, xerr=min(5 * errors[k], 0.9 * shown[k]), fmt="o" if means[k] >= _FLOOR else "<",
                          color=colour, markersize=6, linewidth=1.6)  # fmt: skip
        axis.set_yticks(range(len(rows)), [drawn(row.name) for row in rows], fontsize=9)
        axis.set(xscale="log", xlim=(_FLOOR / 1.3, 12), xlabel="difference of answers, share of their size")
        _percent(axis.xaxis, [0.001, 0.1, 10])  # more would touch each other in a narrow column
    columns = {"distance": means, "stderr": errors}
    alt = f"How far each algorithm's answers are from {comparison.model}'s. {comparison.verdict}"
    return Figure(name, figure, columns, alt, method=method)


def off_the_law(found: OffLaw, *, name: str = "off_law", method: str = "monte-carlo") -> Figure:
    """Distance from each algorithm against what is turned, one panel a turn; a dotted line marks the training law."""
    count = len(found.turned) + 1
    columns = min(4, count)
    rows = -(-count // columns)
    with style():
        figure, axes = canvas(rows, columns, height=2.15 * rows, sharey=True, squeeze=False)
        for axis, each in zip(axes.flat, found.turned, strict=False):
            _panel(axis, each, found)
        for axis in axes.flat[len(found.turned) :]:
            axis.set_axis_off()
        handles = [axes.flat[0].lines[k] for k in range(len(found.names))]
        last = axes.flat[len(found.turned)]
        last.legend(handles, [_short(text) for text in found.names], fontsize=8, loc="center left",
                    bbox_to_anchor=(-0.08, 0.5), title="distance from", title_fontsize=8, alignment="left")  # fmt: skip
    alt = (
        f"Distance of {found.model}'s answers from four algorithms while one thing is turned at a time. {found.verdict}"
    )
    return Figure(name, figure, found.columns(), alt, method=method)


def _panel(axis, each, found: OffLaw):
    values = np.array(each.turn.values)
    places = np.log2(values) if each.turn.logarithmic else np.arange(len(values), dtype=float)
    for k, key in enumerate(found.keys):
        thick = (
            dict(linewidth=2.2, markersize=4, zorder=3)
            if k == 0
            else dict(linewidth=1.1, linestyle="--", markersize=2.5)
        )
        axis.plot(places, np.clip(each.distance[:, k], _FLOOR, 10), marker="o", color=COLOURS[_FAMILY[key]], **thick)
    usual = np.flatnonzero(np.isclose(values, each.turn.usual))
    if usual.size:
        axis.axvline(places[usual[0]], color=INK, linewidth=0.8, linestyle=":", zorder=0)
    axis.set_xticks(places, [f"{value:.3g}" for value in values], fontsize=7.5)
    axis.set(yscale="log", ylim=(_FLOOR / 1.4, 14))
    axis.set_title(each.turn.title, fontsize=9)
    _percent(axis.yaxis)
    axis.tick_params(axis="y", labelsize=7.5)


def _percent(axis, places=(0.001, 0.01, 0.1, 1, 10)):
    axis.set_major_locator(_locator(places))
    axis.set_major_formatter(_as_percent)
    axis.set_minor_locator(_locator([]))


def _as_percent(value, _) -> str:
    return f"{100 * value:g} %"


def _locator(places):
    from matplotlib.ticker import FixedLocator

    return FixedLocator(places)


def _short(name: str) -> str:
    """A name broken before its number."""
    first, comma, rest = name.partition(", ")
    return drawn(f"{first},\n{rest}" if comma else name)
