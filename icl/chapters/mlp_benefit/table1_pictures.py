"""Chapter 4's picture of the trainings behind Table 1."""

from pathlib import Path

import numpy as np

from icl.chapters.mlp_benefit import table1
from icl.figures import COLOURS, Figure, canvas, style


def curves(path: Path = table1.RESULTS) -> Figure:
    """Training loss of every run in the file against the step, beside the printed losses and knowing the mean alone."""
    found, known = table1.runs(path), float(table1.SIZES["d"])  # tr(H Psi): left of a label whose mean task is known
    columns = {"of_the_mean": np.array([known])}
    with style():
        figure, axes = canvas(1, 2, height=3.7, sharey=True)
        for axis, mean in zip(axes, sorted({entry.mean for entry in table1.ENTRIES.values()}), strict=True):
            axis.axhline(known, color=COLOURS["zero"], linewidth=1.3, label="the mean alone")
            for id, entry in table1.ENTRIES.items():
                if entry.mean != mean:
                    continue
                colour = COLOURS["block" if entry.mlp else "attention_only"]
                axis.axhline(entry.printed, color=colour, linewidth=1.1, linestyle="--")
                for seed, run in found.get(id, {}).items():
                    label = ("with MLP" if entry.mlp else "without") if seed == min(found[id]) else None
                    axis.plot(run["steps"], run["curve"], color=colour, linewidth=1.5, label=label)
                    name = f"{id.removeprefix('table1.')}_{seed}"
                    columns |= {f"{name}_step": np.array(run["steps"]), name: np.array(run["curve"])}
            axis.set(yscale="log", xlabel="step", title=f"task mean {mean:g} in each coordinate")
        axes[0].set(ylabel="training loss")
        axes[1].legend(fontsize=9, loc="upper right")
    alt = (
        "Training loss of GPT-2s with and without the MLP against the step, for task mean zero and a vector of tens,"
        " with a dashed line at each printed test loss and a grey line for the loss of knowing the mean task alone."
    )
    return Figure("table1_curves", figure, columns, alt)
