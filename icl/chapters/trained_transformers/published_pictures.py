"""Chapter 7's pictures of the transformer at the published size."""

import numpy as np

from icl.chapters.trained_transformers.published_size import ByExamples
from icl.chapters.trained_transformers.study import Study
from icl.figures import COLOURS, INK, Figure, canvas, style

MODEL = COLOURS["trained_sampled"]


def training(found: Study, errors: ByExamples) -> Figure:
    """Left: the training's thinned loss. Right: error of layers and answers after 1, …, n examples, beside least
    squares."""
    (record,) = found.records
    curve, all_steps = np.array(record["curve"]), record["steps"]["all"]
    steps = all_steps * (np.arange(len(curve)) + 0.5) / len(curve)
    own, best = errors.own.mean(0), errors.best.mean(0)
    examples, d = np.arange(1, len(own) + 1), found.recipe.model.d
    layers = (found.runs[0].published[1:] ** 2).mean(1) / d
    low = own.min() / 3
    columns = {"step": steps, "loss": curve, "examples": examples, "own": own, "least_squares": best}
    with style():
        figure, (left, right) = canvas(1, 2, height=3.7)
        left.plot(steps, curve, color=MODEL)
        changes = (
            (" all lengths", found.recipe.full_context, "left"),
            ("rates fall ", found.constant_steps, "right"),
        )
        for label, change, side in changes:
            if 0 < change < all_steps:  # the published recipe has neither
                left.axvline(change, color=COLOURS["gd"], linewidth=0.9, linestyle=":")
                left.text(change, curve.max(), label, fontsize=8.5, va="top", ha=side)
        left.set(yscale="log", xlabel="step", ylabel="loss", xlim=(0, None))
        for layer, each in enumerate(layers, 1):
            right.plot(examples, each, color=MODEL, alpha=0.2 + 0.4 * layer / len(layers), linewidth=0.9)
            columns[f"layer_{layer}"] = each
        right.plot(examples, own, color=MODEL, linewidth=2, label="its answers")
        right.plot(
            examples, np.where(best > low, best, np.nan), "--", color=COLOURS["least_squares"], label="least squares"
        )
        right.set(yscale="log", xlabel="examples", ylabel="error, in units of d", ylim=(low, 2))
        right.legend(fontsize=8.5, loc="lower left")
    alt = (
        "Left: the loss against the step, on a logarithmic axis; it jumps up where prompts of all lengths begin, and"
        " falls on. Right: error against the number of examples. The model's answers lie on least squares up to about"
        " twenty examples, where that ends; with more they fall below a thousandth. Thin lines, its layers, fan out."
    )
    return Figure("published_size_training", figure, columns, alt, method="trained")


def last_layer(steps: np.ndarray, least: np.ndarray, rows: dict[str, np.ndarray]) -> Figure:
    """The last layer's similarity with gradient descent after each step count: the least that its printed similarity
    with Newton allows, and `rows` by name, the printed one first."""
    with style():
        figure, axis = canvas(height=3.4)
        axis.fill_between(steps, 0, least, color=COLOURS["least_squares"], alpha=0.15, linewidth=0)
        axis.plot(steps, least, color=COLOURS["least_squares"], linewidth=1, label="least that printed Newton allows")
        for (label, row), mark in zip(rows.items(), ("X", "-o", "--s"), strict=True):
            axis.plot(steps, row, mark, color=MODEL if mark != "X" else INK, markersize=5, label=label)
        axis.set(xscale="log", xlabel="steps of gradient descent", ylabel="similarity, last layer")
        axis.set(xlim=(steps[5] / 1.2, steps[-1] * 1.2), ylim=(0.9, 1.0))
        axis.set_xticks(steps[5:], [str(count) for count in steps[5:]])
        axis.minorticks_off()
        axis.legend(fontsize=8.5, loc="lower right")
    columns = {"steps": steps, "least": least} | {f"row_{k}": row for k, row in enumerate(rows.values())}
    alt = (
        "Similarity of the last layer with gradient descent against its steps. The printed row and ours from another"
        " start than 0 lie together, from 512 steps on below the least that the printed similarity with Newton allows;"
        " ours from 0 lies above it."
    )
    return Figure("printed_order", figure, columns, alt, method="trained")


def layouts(studies: dict[str, Study]) -> Figure:
    """Of models that read their examples in different layouts, by name: left, Newton steps whose error is the layer's;
    right, what gradient descent's best similarity is above Newton's. Lines are means over runs, dots the runs."""
    columns = {}
    with style():
        figure, (left, right) = canvas(1, 2, height=3.4)
        for (label, found), mark in zip(studies.items(), ("-o", "--s"), strict=True):
            newton, gd = ([run.best()[1] for run in runs] for runs in found.similarities(found.newton, found.gd))
            for axis, runs, name in (
                (left, found.matching("newton").steps, "steps"),
                (right, np.subtract(gd, newton), "lead"),
            ):
                axis.plot(found.layers[1:], runs.mean(0)[1:], mark, color=MODEL, markersize=5, label=label)
                axis.plot(found.layers[1:], runs.T[1:], mark[-1], color=MODEL, markersize=3.5, alpha=0.4)
                columns |= {f"{name}_{label.replace(' ', '_')}_run{k}": run for k, run in enumerate(runs)}
        columns["layer"] = found.layers
        right.axhline(0, color=INK, linewidth=0.9, linestyle=":")
        left.set(xlabel="layer", title="equal error: Newton steps")
        right.set(xlabel="layer", title="similarity: GD less Newton")
        for axis in (left, right):
            axis.set_xticks(found.layers[1:])
        left.legend(fontsize=8.5)
    alt = (
        "Two panels against the layer, a line for each layout. Left, Newton steps whose error is the layer's: both rise"
        " evenly and nearly together. Right, gradient descent's best similarity less Newton's: above 0 from the second"
        " layer on, highest there, and near 0 in the last."
    )
    return Figure("layouts", figure, columns, alt, method="trained")
