"""Chapter 6's drawing of design A: which slot each layer reads as key, query and value, and which it writes."""

import numpy as np
from matplotlib.patches import FancyBboxPatch

from icl.figures import COLOURS, INK, Figure, canvas, style

SLOTS = ("x", "mu", "y", "o")
NAMES = {"x": "x", "mu": r"\mu", "y": "y", "o": "o"}
# layers: (title, key, query, value, written, factor, what the written slot then holds)
LAYERS = (
    ("layer 1: start", "x", "x", "x", "mu", r"\alpha", r"$\mu = \alpha S x$"),
    ("layers 2 … k + 1: Newton", "x", "mu", "mu", "mu", r"-2^{j-1}", r"$\mu = 2^{-j-1} M_{j+1}\, x$"),
    ("layer k + 2: answer", "x", "mu", "y", "o", r"2^k", r"$o = x^\top M_k X^\top y$"),
)
_WIDE, _HIGH, _APART = 0.9, 0.62, 2.9


def design_a() -> Figure:
    """Three panels, a kind of layer each: an example's token on the left, the token that looks at it on the right."""
    columns = {name: [] for name in ("key", "query", "value", "written")}
    with style():
        figure, axes = canvas(1, 3, height=3.3)
        for axis, (title, key, query, value, written, factor, holds) in zip(axes, LAYERS, strict=True):
            for name, slot in zip(columns, (key, query, value, written), strict=True):
                columns[name].append(SLOTS.index(slot))
            for place, index in ((0, "i"), (_APART, "t")):
                for slot in SLOTS:
                    _box(axis, place, slot, index, filled=place > 0 and slot == written)
            _score(axis, key, query)
            _value(axis, value, written, rf"${factor}\, {NAMES[value]}_i$")
            axis.text(_APART / 2, 4.62, title, ha="center", fontsize=9.5)
            axis.text(_WIDE / 2 - 0.45, -0.32, "example $i$", ha="center", fontsize=8.5)
            axis.text(_APART, -0.32, "token $t$", ha="center", fontsize=8.5)
            axis.text(_APART / 2, -0.95, holds, ha="center", fontsize=10, color=COLOURS["newton"])
            axis.set(xlim=(-0.65, _APART + 0.65), ylim=(-1.25, 4.95))
            axis.axis("off")
    alt = (
        "Three kinds of layer. Each draws an example's token on the left and the token that looks at it on the right,"
        " as stacks of four slots x, mu, y and o. In all of them the example's x is the key. Layer 1: the query is x,"
        " and alpha times x is added to mu. Newton's layers: the query is mu, and minus two to the j minus 1 times mu"
        " is added to mu. The last layer: the query is mu, and two to the k times y is added to o."
    )
    numbers = {name: np.array(places, dtype=float) for name, places in columns.items()}
    return Figure("design_a", figure, numbers, alt)


def _middle(slot: str) -> float:
    return 3.5 - SLOTS.index(slot)


def _box(axis, place, slot, index, *, filled) -> None:
    corner = (place - _WIDE / 2, _middle(slot) - _HIGH / 2)
    colour = COLOURS["newton"] if filled else INK
    axis.add_patch(
        FancyBboxPatch(
            corner, _WIDE, _HIGH, boxstyle="round,pad=0,rounding_size=0.12", facecolor="none", edgecolor=colour,
            linewidth=1.8 if filled else 0.9,
        )
    )  # fmt: skip
    axis.text(place, _middle(slot), f"${NAMES[slot]}_{index}$", ha="center", va="center", fontsize=11, color=colour)


def _score(axis, key, query) -> None:
    """The dashed line of the inner product, key to query."""
    start, end = (_WIDE / 2, _middle(key) + 0.12), (_APART - _WIDE / 2, _middle(query) + 0.12)
    axis.plot(*zip(start, end, strict=True), linestyle="--", color=COLOURS["gd"], linewidth=1.3)
    label = rf"$\langle {NAMES[key]}_i, {NAMES[query]}_t \rangle$"
    place = {"x": _APART / 2, "y": end[1] + 0.14, "ha": "center", "va": "bottom"}
    if key != query:  # under a line that falls
        place = {"x": _WIDE / 2 + 0.12, "y": (start[1] + end[1]) / 2 - 0.2, "ha": "left", "va": "top"}
    axis.text(s=label, color=COLOURS["gd"], fontsize=9.5, **place)


def _value(axis, value, written, label) -> None:
    """The arrow of what is added, value slot to written slot."""
    start, end = (_WIDE / 2, _middle(value) - 0.14), (_APART - _WIDE / 2, _middle(written) - 0.14)
    arrow = {"arrowstyle": "-|>", "color": COLOURS["newton"], "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", xy=end, xytext=start, arrowprops=arrow)
    axis.text(_APART / 2, (start[1] + end[1]) / 2 - 0.2, label, ha="center", va="top", color=COLOURS["newton"],
              fontsize=9.5)  # fmt: skip
