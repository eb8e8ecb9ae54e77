"""Chapter 7's pictures of the transformer at the published size."""

import numpy as np

from icl.chapters.trained_transformers.published_size import ByExamples
from icl.chapters.trained_transformers.study import Study
from icl.figures import COLOURS, Figure, canvas, style

MODEL = COLOURS["trained_sampled"]


def training(record: dict, found: Study, errors: ByExamples) -> Figure:
    """Left: the training's thinned loss. Right: error of layers and answers after 1, …, n examples, beside least
    squares."""
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
