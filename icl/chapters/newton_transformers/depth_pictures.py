"""Chapter 6's picture of the depth ladder."""

import numpy as np

from icl.chapters.newton_transformers.trained_depth import Trained
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.theory.depth_ladder import MOST_PLUS_PLUS, DepthLadder

LAYERS = 6  # of plain GD


def ladder(rungs: DepthLadder, bayes: float, trained: list[Trained]) -> Figure:
    """Excess over the Bayes risk against depth: exact curves of the three families, trained models as points."""
    depths = np.arange(1, LAYERS + 1)
    curves = {
        "shared": [rungs.shared_step(L).risk for L in depths],
        "free": [rungs.free_steps(L).risk for L in depths],
        "plus_plus": [rungs.gd_plus_plus(L).risk for L in depths[:MOST_PLUS_PLUS]],
    }
    labels = {"shared": "GD, one step size", "free": "GD, free step sizes", "plus_plus": "GD++"}
    looks = {"shared": ("gd", "--"), "free": ("gd", "-"), "plus_plus": ("preconditioned", "-")}
    columns = {"layers": depths}
    with style():
        figure, axis = canvas(height=3.9)
        for name, risks in curves.items():
            colour, line = looks[name]
            columns[name] = np.array(risks) - bayes
            axis.plot(depths[: len(risks)], columns[name], line, color=COLOURS[colour], marker=".", label=labels[name])
        above = np.array([end.risk.mean - bayes for end in trained])
        errors = np.array([end.risk.stderr for end in trained])
        at = np.array([end.layers for end in trained], dtype=float)
        kinds = np.array([end.kind for end in trained])
        for kind, marker, label in (
            ("gd", "o", "trained"),
            ("gd_plus_plus", "o", None),
            ("full", "D", "every entry free"),
        ):
            these = kinds == kind
            axis.errorbar(
                at[these], above[these], errors[these], fmt=marker, color=COLOURS["trained_sampled"], markersize=7,
                markerfacecolor="none", label=label,
            )  # fmt: skip
        low = max(columns["plus_plus"][columns["plus_plus"] > 0].min(initial=np.inf) / 2, 1e-7)
        axis.set(yscale="log", xlabel="layers", ylabel="risk above Bayes", ylim=(low, None))
        axis.set_xticks(depths)
        axis.tick_params(which="both", color=INK)
        axis.legend(fontsize=9, handlelength=3)
    columns |= {"trained_layers": at, "trained": above, "trained_stderr": errors}
    alt = (
        "Risk above the Bayes risk against the number of layers, logarithmic. Gradient descent with one step size lies"
        " highest, with free step sizes lower, GD++ lowest and steepest; circles of trained models lie on the curves,"
        " but for one that ended in a false valley of GD++."
    )
    return Figure("depth_ladder", figure, columns, alt, method="trained")
