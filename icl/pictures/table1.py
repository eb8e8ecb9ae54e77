"""Chapter 4's picture of the trainings behind Table 1."""

from pathlib import Path

import numpy as np

from icl.chapters import table1
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.training import BINS


def curves(path: Path = table1.RESULTS) -> Figure:
    """Training loss of every run in the file against the step, beside the printed ones and knowing the mean."""
    found = table1.curves(path)
    steps = table1.SCHEDULE.steps
    shown = np.linspace(0, steps, min(BINS, steps) + 1)[1:]
    known = float(table1.SIZES["d"])  # tr(H Psi): what is left of a label whose mean task is known
    columns = {"step": shown}
    with style():
        figure, axes = canvas(1, 2, height=3.7, sharey=True)
        for axis, mean in zip(axes, sorted({entry.mean for entry in table1.ENTRIES.values()}), strict=True):
            axis.axhline(known, color=COLOURS["zero"], linewidth=1.3, label="the mean alone")
            axis.axvline(table1.SCHEDULE.decay_from, color=INK, linewidth=1.0, linestyle=":")
            for id, entry in table1.ENTRIES.items():
                if entry.mean != mean:
                    continue
                colour = COLOURS["block" if entry.mlp else "attention_only"]
                axis.axhline(entry.printed, color=colour, linewidth=1.1, linestyle="--")
                for seed, curve in found.get(id, {}).items():
                    label = ("with MLP" if entry.mlp else "without") if seed == min(found[id]) else None
                    axis.plot(shown, curve, color=colour, linewidth=1.5, label=label)
                    columns[f"{id.removeprefix('table1.')}_{seed}"] = curve
            axis.set(yscale="log", xlabel="step", xlim=(0, steps), title=f"task mean {mean:g} in each coordinate")
            axis.set_xticks(np.linspace(0, steps, 4), [f"{step:,.0f}" for step in np.linspace(0, steps, 4)])
        axes[0].set(ylabel="training loss")
        axes[1].legend(fontsize=9, loc="upper right")
    alt = (
        "Training loss of GPT-2s with and without the MLP against the step, for task mean zero and a vector of tens,"
        " with a dashed line at each printed test loss, a grey line for the loss of knowing the mean task alone,"
        " and a dotted line from which on the learning rates fall."
    )
    return Figure("table1_curves", figure, columns, alt)
