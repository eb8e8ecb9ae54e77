"""Chapter 7's pictures of the similarity of errors between trained transformers and algorithms."""

import numpy as np
from matplotlib.colors import Normalize

from icl.chapters.trained_transformers.probing import Similarity
from icl.chapters.trained_transformers.published_numbers import SimilarityMaps
from icl.estimates import Estimate
from icl.figures import COLOURS, INK, Figure, canvas, style

_DOT = {"color": "#ffffff", "markeredgecolor": "#000000", "markersize": 3.8}  # seen on every colour of a heat map


def similarity_maps(
    newton: list[Similarity], gd: list[Similarity], published: SimilarityMaps, *, name: str = "similarity_maps"
) -> Figure:
    """Similarity of errors, layers against step counts: published (left) and ours (right), Newton and GD.

    Ours is the map of the first run; every run has its best-matching step counts, with bootstrap intervals.
    """
    newton = [found.among(found.steps[1:]) for found in newton]
    gd = [found.among(published.gd_steps) for found in gd]
    panels = {
        ("newton", "published"): (published.newton_steps, published.newton.T),
        ("newton", "ours"): (newton[0].steps, newton[0].map[1:]),
        ("gd", "published"): (published.gd_steps, published.gd.T),
        ("gd", "ours"): (gd[0].steps, gd[0].map[1:]),
    }
    columns, scale = {}, Normalize(0.5, 1.0)
    with style():
        figure, axes = canvas(2, 2, height=6.4, height_ratios=[1.5, 1])
        for axis, ((algorithm, whose), (steps, table)) in zip(axes.flat, panels.items(), strict=True):
            layers = np.arange(1, len(table) + 1)
            mesh = axis.imshow(table.T, origin="lower", aspect="auto", cmap="viridis", norm=scale)
            if whose == "ours":
                columns |= _best_steps(axis, newton if algorithm == "newton" else gd, algorithm)
            else:
                axis.plot(layers - 1, table.argmax(1), "o", **_DOT)
            axis.set_xticks(layers - 1, [str(layer) for layer in layers], fontsize=8)
            shown = np.arange(len(steps))[:: 4 if algorithm == "newton" else 2]
            axis.set_yticks(shown, [str(steps[i]) for i in shown], fontsize=8)
            kind = "Newton" if algorithm == "newton" else "gradient descent"
            axis.set_title(f"{kind}, {whose}", fontsize=10)
            columns |= {f"{algorithm}_{whose}_layer": np.repeat(layers, len(steps))}
            columns |= {
                f"{algorithm}_{whose}_steps": np.tile(steps, len(layers)),
                f"{algorithm}_{whose}": table.ravel(),
            }
        for axis in axes[:, 0]:
            axis.set_ylabel("steps")
        for axis in axes[1]:
            axis.set_xlabel("layer")
        bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", fraction=0.035, pad=0.02, extend="min")
        bar.set_label("similarity of errors", fontsize=9)
    alt = (
        "Four heat maps of the similarity of errors, layers across and algorithm steps upwards, dots at each layer's"
        " best match, ours with intervals. For Newton, published and ours alike, the ridge of the map climbs a straight"
        " line; for gradient descent, whose step axis is logarithmic, it does too."
    )
    return Figure(name, figure, columns, alt, method="trained")


def _best_steps(axis, runs: list[Similarity], algorithm: str) -> dict[str, np.ndarray]:
    """Dots and bars at the best-matching step counts of each run's layers 1, 2, …; returns them as columns."""
    columns = {}
    for run, found in enumerate(runs):
        best, low, high = (steps[1:] for steps in (found.best()[0], *found.interval()))
        place, down, up = (np.searchsorted(found.steps, steps) for steps in (best, low, high))
        shift = 0.22 * (run - (len(runs) - 1) / 2)
        bars = np.maximum([place - down, up - place], 0)
        at = np.arange(len(best)) + shift
        axis.errorbar(at, place, bars, fmt="none", ecolor="#ffffff", elinewidth=2.6)
        axis.errorbar(at, place, bars, fmt="o", ecolor="#000000", elinewidth=1.0, **_DOT)
        columns |= {f"{algorithm}_best_{run}": best, f"{algorithm}_low_{run}": low, f"{algorithm}_high_{run}": high}
    return columns


def similarity_parts(parts: dict[str, list[list[Similarity]]], d: int, *, name: str = "similarity_parts") -> Figure:
    """Best similarity with Newton and GD against the layer: over all positions, the first ones, the last ones."""
    columns = {}
    with style():
        figure, axes = canvas(1, len(parts), height=3.2, sharey=True)
        for axis, (label, pair) in zip(axes, parts.items(), strict=True):
            for runs, key, mark, size in zip(pair, ("newton", "gd"), ("-o", "--s"), (4, 7.5), strict=True):
                for run, found in enumerate(runs):
                    best = found.best()[1][1:]
                    layers = np.arange(1, len(best) + 1)
                    named = {"label": "Newton" if key == "newton" else "GD"} if run == 0 else {}
                    axis.plot(
                        layers, best, mark, color=COLOURS[key], markersize=size, markerfacecolor="none", linewidth=1.0,
                        **named,
                    )  # fmt: skip
                    columns |= {"layer": layers, f"{label.replace(' ', '_')}_{key}_{run}": best}
            axis.set(xlabel="layer", title=label, ylim=(0, 1.03))
            axis.set_xticks(layers[1::2])
        axes[0].set_ylabel("best similarity")
        axes[0].legend(fontsize=9, loc="lower left")
    alt = (
        "Best similarity of errors against the layer. Over all positions and over the first ones, up to"
        f" {d} examples, it stays near one. Over the last positions it falls from above 0.8 with the layers."
        " Newton and gradient descent lie on top of each other everywhere."
    )
    return Figure(name, figure, columns, alt, method="trained")


def similarity_steps(etas: np.ndarray, fixed: list[Estimate], adapted: Estimate) -> Figure:
    """Newton's advantage in similarity over gradient descent, against GD's fixed step size; and with adapted steps."""
    means, errors = (np.array([getattr(found, part) for found in fixed]) for part in ("mean", "stderr"))
    with style():
        figure, axis = canvas(height=2.9)
        axis.axhline(0, color=INK, linewidth=0.8, linestyle=":")
        axis.axhline(
            adapted.mean, color=COLOURS["gd"], linewidth=1.2, label=r"$\eta = 1/\lambda_{\max}$ of each context"
        )
        axis.errorbar(etas, means, 2 * errors, fmt="o", color=COLOURS["gd"], markersize=4.5, label="one step for all")
        axis.set(xscale="log", xlabel=r"step size $\eta$ of gradient descent", ylabel="Newton less GD")
        axis.set_xticks(etas, [f"{eta:g}" for eta in etas])
        axis.minorticks_off()
        axis.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 0.97))
    columns = {"eta": etas, "advantage": means, "stderr": errors, "adapted": np.array([adapted.mean])}
    alt = "Similarity with Newton less similarity with gradient descent, for several step sizes: none surely above 0."
    return Figure("similarity_steps", figure, columns, alt, method="trained")
