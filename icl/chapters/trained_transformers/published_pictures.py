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
    curve, recipe = np.array(record["curve"]), record["recipe"]
    schedule = recipe["schedule"]
    steps = schedule["steps"] * (np.arange(len(curve)) + 0.5) / len(curve)
    own, best = errors.own.mean(0), errors.best.mean(0)
    examples, d = np.arange(1, len(own) + 1), found.recipe.model.d
    layers = (found.runs[0].published[1:] ** 2).mean(1) / d
    low = own.min() / 3
    columns = {"step": steps, "loss": curve, "examples": examples, "own": own, "least_squares": best}
    with style():
        figure, (left, right) = canvas(1, 2, height=3.7)
        left.plot(steps, curve, color=MODEL)
        changes = (
            ("all lengths ", recipe.get("full_context"), "right"),
            (" rates fall", schedule.get("decay_from"), "left"),
        )
        for label, change, side in changes:
            if change:
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
        " twenty examples, where that ends; with more they fall below a hundredth. Thin lines, its layers, fan out."
    )
    return Figure("published_size_training", figure, columns, alt, method="trained")


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
