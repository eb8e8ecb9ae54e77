"""Chapter 6's picture of one prompt on its way through design A, and the table of the five designs."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Canvas

from icl.chapters.newton_transformers.constructed import Walk
from icl.constructions.newton_interleaved import design_b
from icl.constructions.newton_schulz import design_c
from icl.constructions.newton_transformer import Design, design_a, design_a_prime, design_d
from icl.figures import COLOURS, INK, SIGNED, Figure, style

PAPER_LAYERS = 8  # k + 8, Fu et al. (2024), Theorem 5.1


def walk(found: Walk) -> Figure:
    """Above: all tokens before and after some layers. Below: the answer after each layer."""
    slots, layers = found.design.slots, len(found.tokens) - 1
    k = layers - 2
    stages = {0: "input", 1: "layer 1"}
    stages |= {1 + j: f"layer {1 + j}" for j in (k // 2, k)} | {layers: f"layer {layers}"}
    blocks = {name: slots[name] for name in slots.sizes}
    with style():
        figure = Canvas(figsize=(7.2, 5.0))
        grid = figure.add_gridspec(2, len(stages), height_ratios=[1.15, 1])
        for column, (stage, title) in enumerate(stages.items()):
            picture = found.tokens[stage]
            axis = figure.add_subplot(grid[0, column])
            axis.imshow(
                _to_scale(picture, blocks).T, cmap=SIGNED, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
            )
            axis.set_title(title, fontsize=9.5)
            axis.set_xticks([])
            centres = [(place.start + place.stop - 1) / 2 for place in blocks.values()]
            names = ["$x$", r"$\mu$", "$y$", "$o$"]
            axis.set_yticks(centres, names if column == 0 else [""] * len(names))
            axis.tick_params(length=0)
            for place in list(blocks.values())[1:]:
                axis.axhline(place.start - 0.5, color=INK, linewidth=0.5)
            axis.axvline(len(picture) - 1.5, color=INK, linewidth=0.8, linestyle=":")
        _answers(figure.add_subplot(grid[1, :]), found)
    columns = {f"tokens_{stage}": found.tokens[stage].ravel() for stage in stages}
    columns |= {"answers_newton": found.answers["A_prime"], "answers_schulz": found.answers["C"]}
    columns["least_squares"] = np.array([found.least_squares])
    alt = (
        "Above: the tokens of one prompt as a heat map, before and after some layers of design A. The row of covariates"
        " never changes, the block below it is filled in the first layer and refined by the following ones, and the"
        " last layer writes the query's answer. Below: the answers after each layer of designs A prime and C approach"
        " least squares."
    )
    return Figure("walk", figure, columns, alt)


def _to_scale(tokens, blocks):
    """The tokens with each slot divided by its largest entry, 0 where there is none."""
    shown = tokens.copy()
    for place in blocks.values():
        shown[:, place] /= np.abs(shown[:, place]).max() or 1.0
    return shown


def _answers(axis, found):
    a, c = found.answers["A_prime"], found.answers["C"]
    axis.plot(np.arange(2, len(a)), a[2:], "o-", color=COLOURS["newton"], markersize=4.5, label="A′: Newton")
    axis.plot(np.arange(1, len(c) + 1), c, "s--", color=COLOURS["trained_exact"], markersize=4, label="C: whitening")
    axis.axhline(
        found.least_squares, color=COLOURS["least_squares"], linestyle="--", linewidth=1.3, label="least squares"
    )
    axis.axhline(found.label, color=INK, linestyle=":", linewidth=1, label="the query's label")
    axis.set(xlabel="layers", ylabel="answer", xlim=(0.7, len(a) - 0.7))
    axis.set_xticks(range(1, len(a)))
    axis.figure.legend(fontsize=8.5, loc="outside lower center", ncols=4)


@dataclass(frozen=True)
class DesignTable:
    """The five designs for d covariates and k steps, counted from the built models, beside the paper's bound."""

    d: int
    k: int

    @property
    def designs(self) -> dict[str, tuple[Design, str, str]]:
        """Each design with its tokens and what a layer is made of."""
        d, k = self.d, self.k
        joint = "(<i>x</i>, <i>y</i>) in one token, query masked"
        return {
            "A": (design_a(d, k, 1.0), joint, "linear attention"),
            "D": (design_d(d, k, 1.0), joint, "linear attention, up to 3 heads"),
            "A′": (design_a_prime(d, k, 1.0), joint, "linear map, linear attention, 2 heads"),
            "B": (design_b(d, k, 1.0), "<i>x</i>, <i>y</i> interleaved, no mask", "ReLU attention, 2 heads, ReLU MLP"),
            "C": (design_c(d, k, 1.0), joint, "linear attention"),
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            _row(f"<strong>{name}</strong>", tokens, parts, design.layers, design.slots.width)
            for name, (design, tokens, parts) in self.designs.items()
        )
        paper = _row(
            "Theorem 5.1", "<i>x</i>, <i>y</i> interleaved", "ReLU and softmax attention, MLP", self.k + PAPER_LAYERS,
            "<i>O</i>(<i>d</i>)",
        )  # fmt: skip
        head = "".join(f"<th>{title}</th>" for title in ("design", "tokens", "a layer", "layers", "width"))
        return f'<table class="icl-claims"><thead><tr>{head}</tr></thead><tbody>{rows}{paper}</tbody></table>'

    def __repr__(self) -> str:
        counted = [f"{name}: {d.layers} layers, width {d.slots.width}" for name, (d, _, _) in self.designs.items()]
        return "\n".join([*counted, f"Theorem 5.1: {self.k + PAPER_LAYERS} layers, width O(d)"])


def _row(name, tokens, parts, layers, width) -> str:
    numbers = f'<td data-label="layers">{layers}</td><td data-label="width">{width}</td>'
    return f"<tr><td>{name}</td><td>{tokens}</td><td>{parts}</td>{numbers}</tr>"
