"""Chapter 4's pictures of prompts: one worked by hand, and what attention estimates over many."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from icl.figures import COLOURS, INK, Figure, canvas, style


def attention_and_block(X: np.ndarray, y: np.ndarray, x: np.ndarray, beta: np.ndarray) -> Figure:
    """One prompt through attention alone and through the block that is GD-β from `beta` with Gamma = I, in numbers."""
    n, scores = len(X), X @ x
    starts = {"attention_only": 0 * beta, "block": beta}
    values = {key: y - X @ start for key, start in starts.items()}
    with style():
        figure, axes = canvas(1, 2, height=3.5)
        for axis, (key, start) in zip(axes, starts.items(), strict=True):
            axis.set(xlim=(-0.6, n + 0.6), ylim=(-0.6, 3.3), xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
            axis.set_title("attention" if key == "attention_only" else "attention, then the MLP")
            sum_at, answer_at = ((n - 1) / 2, 1.75), (n, 3.0)
            for i in range(n):
                _box(axis, (i, 0), f"{_column(X[i])}; {y[i]:g}")
                _arrow(axis, (i, 0.2), (sum_at[0] + (i - sum_at[0]) * 0.5, 1.53), COLOURS[key])
                product = f"{_times(values[key][i])} · {_times(scores[i])}"
                axis.text(i, -0.42, product, ha="center", va="center", fontsize=9.5)
            _box(axis, (n, 0), f"{_column(x)}; 0")
            total = values[key] @ scores / n
            _box(axis, sum_at, f"sum / {n} = {total:g}", COLOURS[key])
            own = start @ x
            _arrow(axis, (sum_at[0] + 0.55, 1.97), (answer_at[0] - 0.2, 2.72), COLOURS[key])
            _arrow(axis, (n, 0.2), (n, 2.75), COLOURS[key], dashed=not own)
            axis.text(n + 0.1, 1.5, f"{own:g}", fontsize=9.5, va="center")
            _box(axis, answer_at, f"{total + own:g}", COLOURS[key])
            axis.text(n - 0.22, 3.0, "answer", fontsize=9.5, ha="right", va="center")
    columns = {"score": scores} | {f"value_{key}": value for key, value in values.items()}
    columns |= {"answers": np.array([values[key] @ scores / n + start @ x for key, start in starts.items()])}
    alt = (
        "Two diagrams of one prompt. In both, each example sends its value times its score into a sum, which goes to"
        " the answer at the query. With attention alone nothing else arrives there; in the block the query's own"
        " covariates go there too, through w1, and the values are residuals."
    )
    return Figure("attention_and_block", figure, columns, alt)


def _times(value: float) -> str:
    return f"{value:g}" if value >= 0 else f"(−{-value:g})"


def _column(x: np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in x).replace("-", "−")


def _box(axis, at, text: str, colour: str = INK) -> None:
    box = dict(boxstyle="round,pad=0.35", facecolor="none", edgecolor=colour, linewidth=1.3)
    axis.text(*at, text, ha="center", va="center", fontsize=9.5, bbox=box)


def _arrow(axis, start, end, colour: str, *, dashed: bool = False) -> None:
    line = dict(arrowstyle="-|>", color=colour, linewidth=1.3, linestyle="--" if dashed else "-", shrinkA=0, shrinkB=0)
    axis.annotate("", end, start, arrowprops=line)


def number_one(one_head: np.ndarray, many_heads: np.ndarray) -> Figure:
    """Histograms over prompts of what attention returns for the number one, with one head and with any number."""
    edges = np.linspace(0.0, 2.5, 51)
    centres = (edges[1:] + edges[:-1]) / 2
    columns = {"estimate": centres}
    with style():
        figure, axis = canvas(height=3.2)
        for name, estimates, key in (("one head", one_head, "attention_only"), ("any number", many_heads, "gd")):
            density = np.histogram(estimates, edges)[0] / (len(estimates) * np.diff(edges))
            axis.plot(centres, density, color=COLOURS[key], drawstyle="steps-mid", label=f"attention, {name} of heads"
                      if key == "gd" else "attention, one head")  # fmt: skip
            columns[name.replace(" ", "_")] = density
        axis.axvline(1, color=COLOURS["block"], linewidth=2.5, label="the block: always 1")
        axis.set(xlabel="estimate of the number one", ylabel="density over prompts", xlim=(0, 2.5), ylim=(0, None))
        axis.yaxis.set_major_locator(MaxNLocator(4))  # fewer decimals: the label keeps its room
        axis.legend(fontsize=9)
    alt = (
        "Densities over prompts of attention's estimate of the number one: wide with its mode below 1 for one head,"
        " narrower for any number of heads; a vertical line at 1 for the block."
    )
    return Figure("number_one", figure, columns, alt, method="monte-carlo")
