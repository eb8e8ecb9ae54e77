"""Chapter 7's pictures of the other comparisons: conditioning, noise, width, LSTM, networks, quasi-Newton methods."""

import numpy as np

from icl.chapters.trained_transformers.probing import Similarity, errors
from icl.chapters.trained_transformers.published_numbers import FU2024_LSTM
from icl.chapters.trained_transformers.rivals import Closeness
from icl.chapters.trained_transformers.study import Study
from icl.figures import COLOURS, INK, Figure, canvas, style

MODEL = COLOURS["trained_sampled"]


def against_steps(study: Study, levels: dict[str, tuple[str, float]], *, name: str, alt: str) -> Figure:
    """Left: error of each layer (less the noise). Right: of Newton and gradient descent against steps.

    Lines are means over runs, dots the runs; `levels` are lines across both panels: label → (colour key, error).
    """
    runs = np.maximum(study.errors() - study.noise, 1e-12)
    shown = runs.mean(0)
    columns = {"layer": study.layers, "error": shown} | {f"error_{k}": run for k, run in enumerate(runs)}
    with style():
        figure, (left, right) = canvas(1, 2, height=3.4, sharey=True, width_ratios=[1, 1.25])
        left.plot(study.layers, shown, "-o", color=MODEL, markersize=5)
        left.plot(study.layers, runs.T, ".", color=MODEL, alpha=0.5)
        for algorithm, label, mark in (("newton", "Newton", "-"), ("gd", "gradient descent", "--")):
            found = getattr(study, algorithm)
            curve = errors(found.residuals).mean(-1) - study.noise
            kept = (curve > 0.2 * shown.min()) & (found.steps > 0)
            right.plot(found.steps[kept], curve[kept], mark, color=COLOURS[algorithm], label=label)
            columns |= {f"{algorithm}_steps": found.steps[kept], f"{algorithm}_error": curve[kept]}
        right.axhline(shown[-1], color=MODEL, linewidth=1.2, linestyle=":", label="the last layer")
        for label, (key, level) in levels.items():
            for axis in (left, right):
                axis.axhline(level, color=COLOURS[key], linewidth=1.2, linestyle="-.", label=label)
            columns[label.replace(" ", "_")] = np.array([level])
        left.set(yscale="log", xlabel="layer", ylabel="mean squared error" + (", less noise" if study.noise else ""))
        left.set_xticks(study.layers)
        right.set(xscale="log", xlabel="steps")
        right.legend(fontsize=8.5)
    return Figure(name, figure, columns, alt, method="trained")


def widths(ladders: dict[int, tuple[tuple[int, ...], np.ndarray]]) -> Figure:
    """Test error against the width, as a share of the error of answering 0, for `rows.width_ladders`'s dimensions."""
    columns = {}
    with style():
        figure, axis = canvas(height=3.1)
        for (d, (tried, runs)), mark in zip(ladders.items(), ("--^", "-o", ":s"), strict=True):
            axis.plot(tried, np.exp(np.log(runs).mean(0)), mark, color=MODEL, markersize=5, label=f"d = {d}")
            axis.plot(tried, runs.T, mark[-1], color=MODEL, markersize=3.5, alpha=0.4)
            columns |= {f"width_d{d}": np.array(tried)} | {f"share_d{d}_run{k}": run for k, run in enumerate(runs)}
        shown = sorted({width for tried, _ in ladders.values() for width in tried})
        axis.axhline(0.01, color=INK, linewidth=0.9, linestyle=":")
        axis.annotate("1 %", (shown[-1], 0.01), xytext=(0, 4), textcoords="offset points", ha="right", fontsize=9)
        axis.set(xscale="log", yscale="log", xlabel="width", ylabel="test error / error of 0")
        axis.set_xticks(shown, [str(width) for width in shown])
        axis.minorticks_off()
        axis.legend()
    alt = "Test error as a share of the error of answering 0 against the width, both axes logarithmic, for three"
    return Figure("widths", figure, columns, f"{alt} dimensions: it falls, later the larger d.", method="trained")


def lstm(found: Closeness) -> Figure:
    """Similarity of a transformer and an LSTM with three algorithms: ours, and as published."""
    names = ("Newton", "GD", "online GD")
    published = np.array([FU2024_LSTM["transformer"], FU2024_LSTM["lstm"]])
    columns = {}
    with style():
        figure, axes = canvas(1, 2, height=3.1, sharey=True)
        for axis, (title, table) in zip(
            axes, {"published": published, "ours": found.value.mean(0)}.items(), strict=True
        ):
            for row, (model, colour, mark) in enumerate(
                (("transformer", MODEL, "-o"), ("LSTM", COLOURS["block"], "--s"))
            ):
                axis.plot(range(3), table[row], mark, color=colour, markersize=6, label=model)
                columns[f"{title}_{model}"] = table[row]
            axis.set_xticks(range(3), names)
            axis.set(title=title, xlim=(-0.3, 2.3), ylim=(0.6, 1.02))
        axes[0].set_ylabel("best similarity")
        axes[0].legend(fontsize=9, loc="lower left")
    alt = (
        "Similarity of errors with Newton, gradient descent and online gradient descent. Published: the transformer's"
        " falls from left to right, the LSTM's rises. Ours: both fall, the LSTM's less."
    )
    return Figure("lstm", figure, columns, alt, method="trained")


def nonlinear(study: Study, ridge: float, kernel: float) -> Figure:
    """Error of each layer on ReLU-network targets, with the best linear rule and the best kernel rule."""
    each = np.array([errors(run.published) for run in study.runs])  # (S, L + 1, P)
    runs, prompts = each.mean(-1), each.mean(0)
    found, between = runs.mean(0), runs.var(0, ddof=1) / len(runs) if len(runs) > 1 else 0.0
    stderrs = np.sqrt(prompts.var(-1, ddof=1) / prompts.shape[1] + between)
    with style():
        figure, axis = canvas(height=3.1)
        axis.errorbar(study.layers, found, 2 * stderrs, fmt="-o", color=MODEL, markersize=5)
        for level, key, label, below in (
            (ridge, "least_squares", "best ridge regression", False),
            (kernel, "bayes", "best rule linear in the labels", True),
        ):
            axis.axhline(level, color=COLOURS[key], linestyle="--", linewidth=1.3)
            axis.annotate(
                label, (study.layers[-1], level), xytext=(0, -4 if below else 4), textcoords="offset points",
                ha="right", va="top" if below else "bottom", fontsize=9, color=COLOURS[key],
            )  # fmt: skip
        axis.set(xlabel="layer", ylabel="mean squared error", ylim=(0, None))
        axis.set_xticks(study.layers)
    columns = {"layer": study.layers, "error": found, "stderr": stderrs, "ridge": np.array([ridge])}
    columns["kernel"] = np.array([kernel])
    alt = "Probe error against the layer on network targets: it falls to near the lower of two dashed lines."
    return Figure("nonlinear", figure, columns, alt, method="trained")


def quasi_newton(newton: list[Similarity], rivals: dict[str, list[Similarity]]) -> Figure:
    """Best similarity less Newton's, layer by layer, mean over runs, for gradient descent and quasi-Newton methods."""
    own = np.array([found.best()[1] for found in newton])
    layers = np.arange(own.shape[1])
    keys = ("gd", "bayes", "block", "least_squares")
    columns = {"layer": layers, "newton": own.mean(0)}
    with style():
        figure, axis = canvas(height=3.3)
        axis.axhline(0, color=COLOURS["newton"], linewidth=1.6)
        axis.annotate(
            "Newton", (layers[-1], 0), xytext=(0, 5), textcoords="offset points", ha="right", fontsize=9,
            color=COLOURS["newton"],
        )  # fmt: skip
        for (label, runs), key, mark in zip(rivals.items(), keys, ("o", "s", "^", "v"), strict=True):
            gap = (np.array([found.best()[1] for found in runs]) - own).mean(0)
            axis.plot(layers[1:], gap[1:], f"-{mark}", color=COLOURS[key], markersize=4.5, linewidth=1.3, label=label)
            columns[label.replace(" ", "_")] = gap
        axis.set(xlabel="layer", ylabel="best similarity less Newton's")
        axis.set_xticks(layers[1:])
        axis.legend(fontsize=9)
    alt = (
        "Best similarity of errors less Newton's, against the layer: gradient descent lies slightly above zero, L-BFGS"
        " slightly below, conjugate gradients further below, and so does BFGS up to layer five."
    )
    return Figure("quasi_newton", figure, columns, alt, method="trained")
