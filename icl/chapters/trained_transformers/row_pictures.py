"""Chapter 7's pictures of errors by number of examples, of algorithms beside the layers, and of forgetting."""

import numpy as np

from icl.chapters.trained_transformers.probing import Algorithm, errors
from icl.chapters.trained_transformers.study import Study
from icl.figures import COLOURS, INK, Figure, canvas, style

MODEL = COLOURS["trained_sampled"]
LOOKS = {
    "Newton": ("newton", "-"),
    "gradient descent": ("gd", "-"),
    "conjugate gradients": ("block", "--"),
    "BFGS": ("trained_exact", "-."),
    "L-BFGS": ("preconditioned", ":"),
}


def by_examples(transformer: np.ndarray, lstm: np.ndarray, least_squares: np.ndarray) -> Figure:
    """Error after 1, …, T examples: of a transformer's layers (layers, T) and an LSTM's, beside least squares (T,)."""
    examples = np.arange(1, transformer.shape[1] + 1)
    columns = {"examples": examples, "least_squares": least_squares}
    low = transformer.min() / 3
    with style():
        figure, axes = canvas(1, 2, height=3.7, sharey=True)
        for axis, (name, table) in zip(axes, {"transformer": transformer, "LSTM": lstm}.items(), strict=True):
            for layer, curve in enumerate(table, 1):
                share = 0.55 + 0.45 * layer / len(table)
                axis.plot(examples, curve, color=MODEL, alpha=share, linewidth=1.5, marker=".", markersize=4)
                columns[f"{name}_layer_{layer}"] = curve
            for layer in (1, len(table)):
                axis.annotate(
                    f"layer {layer}", (examples[-1], table[layer - 1, -1]), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize=8.5, color=MODEL, annotation_clip=False,
                )  # fmt: skip
            shown = np.where(least_squares > low, least_squares, np.nan)
            axis.plot(examples, shown, "--", color=COLOURS["least_squares"], linewidth=1.3, label="least squares")
            axis.set(title=name, xlabel="examples", yscale="log", xlim=(0.7, examples[-1] + 1.8))
            axis.set_ylim(low, None)
            axis.set_xticks(examples[::3])
        axes[0].set_ylabel("mean squared error")
        axes[0].legend(fontsize=8.5, loc="lower left")
    alt = (
        "Error against the number of examples. Transformer: eight curves, one a layer; after few examples they lie"
        " together, with more they fan out, the later the lower. LSTM: two curves above least squares."
    )
    return Figure("by_examples", figure, columns, alt, method="trained")


def beside_layers(study: Study, algorithms: dict[str, Algorithm]) -> Figure:
    """Left: error of the layers, each run. Right: of every algorithm against its steps."""
    columns = {"layer": study.layers}
    low = study.errors().min() / 5
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6, sharey=True)
        for run, curve in enumerate(study.errors()):
            left.plot(study.layers, curve, "-o", color=MODEL, markersize=4, linewidth=1.2)
            columns[f"layers_{run}"] = curve
        for name, algorithm in algorithms.items():
            colour, line = LOOKS[name]
            curve = errors(algorithm.residuals).mean(-1)
            kept = (algorithm.steps <= 24) & (curve > low)
            right.plot(algorithm.steps[kept], curve[kept], line, color=COLOURS[colour], label=name, linewidth=1.7)
            key = name.replace(" ", "_").replace("-", "_")
            columns |= {f"{key}_steps": algorithm.steps[kept], f"{key}_error": curve[kept]}
        left.set(yscale="log", xlabel="layer", ylabel="mean squared error", title="a trained layer")
        left.set_xticks(study.layers)
        right.set(xlabel="steps", title="an algorithm's step", xlim=(0, 24.5), ylim=(low, None))
        right.legend(fontsize=8, loc="lower left")
    alt = (
        "Left: the error of eight trained layers falls by five decades. Right: against steps, conjugate gradients end"
        " within five, BFGS within ten, L-BFGS and Newton, which falls ever faster, within some twenty, gradient"
        " descent slowly."
    )
    return Figure("beside_layers", figure, columns, alt, method="trained")


def forgetting(found: dict[str, np.ndarray]) -> Figure:
    """Mean squared error (n,) when the examples are asked for again, the last one first: label → error."""
    looks = {
        "LSTM": ("block", "--s"),
        "transformer": ("trained_sampled", "-o"),
        "online gradient descent": ("gd", ":^"),
    }
    columns = {}
    with style():
        figure, axis = canvas(height=3.1)
        for label, curve in found.items():
            ago = np.arange(len(curve))
            colour, mark = looks[label]
            axis.plot(ago, curve[::-1], mark, color=COLOURS[colour], markersize=5, label=label)
            columns |= {"ago": ago, label.replace(" ", "_"): curve[::-1]}
        axis.set(yscale="log", xlabel="examples since", ylabel="mean squared error")
        axis.set_xticks(ago)
        axis.tick_params(which="both", color=INK)
        axis.legend(fontsize=9)
    alt = (
        "Error when an example is asked for again, against the number of examples since: level and lowest for the"
        " transformer; rising with age for the LSTM and for online gradient descent."
    )
    return Figure("forgetting", figure, columns, alt, method="trained")
