"""Chapter 11's pictures."""

import numpy as np

from icl.estimates import Estimate
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.theory import when_depth_pays as theory

SHADES = (0.6, 0.7, 0.85, 1.0)  # of the curves for 1 to 4 layers


def depth(eigenvalues: np.ndarray, n: int, sigma2: float, layers: int, sampled: Estimate) -> Figure:
    """What 1 to 4 layers leave of each direction, and the excess risk against the number of layers."""
    d, most = len(eigenvalues), max(6, layers)
    grid = np.geomspace(eigenvalues.min() / 1.6, eigenvalues.max() * 1.12, 240)
    count = np.arange(1, most + 1)
    free = np.array([theory.least_excess(eigenvalues, L) for L in count])
    steps = [theory.shared_step(eigenvalues, L) for L in count]
    shared = np.array([theory.excess(np.full(L, a), eigenvalues) for L, a in zip(count, steps, strict=True)])
    short_count = np.arange(1, theory.MOST_SHORT + 1)
    m, noise = theory.moments(eigenvalues, n, 2 * theory.MOST_SHORT), sigma2 / n
    short = np.array([theory.short_excess(theory.short_steps(m, noise, L), m, noise) for L in short_count])
    columns = {"layers": count, "own_steps": free, "one_step": shared, "short_layers": short_count, "n_examples": short}
    columns |= {"sampled_layers": [layers], "sampled": [sampled.mean], "sampled_stderr": [sampled.stderr]}
    columns |= {"eigenvalue": grid, "eigenvalues": eigenvalues}
    shown = lambda values: np.where(values > 1e-9 * d, values, np.nan)  # nothing left: off a logarithmic axis
    with style():
        figure, (left, right) = canvas(1, 2, height=3.7)
        for L, shade in zip(range(1, 5), SHADES, strict=True):
            a = theory.free_steps(eigenvalues, L)
            p = lambda x, a=a: np.prod(1 - a[:, None] * x, axis=0)
            columns[f"left_by_{L}"] = p(grid)
            look = dict(color=COLOURS["gd"], alpha=shade, linewidth=2.2 * shade**2)
            left.plot(grid, p(grid), label=f"{L} layer" + "s" * (L > 1), **look)
            left.plot(eigenvalues, p(eigenvalues), "o", color=COLOURS["gd"], alpha=shade, markersize=4)
        left.axhline(0, color=INK, linewidth=0.8)
        left.set(xscale="log", ylim=(-1.05, 1.05), xlabel=r"eigenvalue $\lambda$ of $H$")
        left.set_title(r"what is left: $p(\lambda)$")
        left.legend(loc="lower left")
        right.plot(short_count, shown(short), "s-", color=COLOURS["bayes"], label=f"own steps, n = {n}")
        right.plot(count, shown(shared), "o-", color=COLOURS["preconditioned"], label="one step, endless")
        right.plot(count, shown(free), "o-", color=COLOURS["gd"], label="own steps, endless")
        if sampled.mean > 1e-9 * d:
            mark = dict(fmt="D", markersize=9, markerfacecolor="none", color=COLOURS["trained_sampled"])
            right.errorbar(layers, sampled.mean, 5 * sampled.stderr, label="random prompts", **mark)
        right.set(yscale="log", xlabel="layers", xticks=count)
        right.set_title("excess risk")
        kept = np.r_[free, shared, short]
        kept = kept[kept > 1e-9 * d]
        if kept.size:
            right.set_ylim(kept.min() / (kept.max() / kept.min()) ** 0.7, 2 * kept.max())
        right.legend(loc="lower left")
    alt = (
        "Left: the residual polynomial for one to four layers against the eigenvalue; each further layer adds a zero."
        " Right: excess risk against layers: with a step for each layer it falls steeply, to nothing at as many layers"
        " as eigenvalues; with one step for all, slowly; with a short context it levels off."
    )
    return Figure("depth", figure, columns, alt, method="monte-carlo")


def turned(condition: float, found: dict[int, float], found_at: float) -> Figure:
    """Two looped layers at d = 2 along the turn, and the best matrices found at d = 3 (layers → excess)."""
    share = np.linspace(0, 1.2, 241)
    curves = {}
    for kappa in sorted({3.0, 10.0, max(condition, 1.5)}):
        pair = theory.spectrum(2, kappa)
        best, curve = theory.turn(pair)[1], []
        for b in share * best:
            curve.append(_least_over_a(pair, b))
        curves[kappa] = np.array(curve) / 2
    count = np.array(sorted(found))
    three = theory.spectrum(3, found_at)
    scalar = np.array([theory.excess(np.full(L, theory.shared_step(three, L)), three) for L in count])
    matrix = np.array([found[L] for L in count])
    with style():
        figure, (left, right) = canvas(1, 2, height=3.5)
        for kappa, colour in zip(curves, ("bayes", "newton", "gd"), strict=False):
            left.plot(share, curves[kappa], color=COLOURS[colour], label=rf"$\kappa$ = {kappa:g}")
        highest = max(curve.max() for curve in curves.values())
        left.set(xlabel="turn $b$, in units of the one that solves it", ylim=(0, 1.25 * highest or 1))
        left.set_title("$d$ = 2, two looped layers")
        left.legend(loc="upper left", ncols=3, columnspacing=1, handlelength=1.2)
        right.plot(count, scalar / 3, "o-", color=COLOURS["preconditioned"], label="best step")
        right.plot(count, matrix / 3, "D", color=COLOURS["trained_exact"], markersize=8, fillstyle="none",
                   markeredgewidth=1.6, label="best matrix found")  # fmt: skip
        right.set(xlabel="looped layers", xticks=count, ylim=(0, None))
        right.set_title(rf"$d$ = 3, $\kappa$ = {found_at:g}")
        right.legend()
    columns = {"turn": share, **{f"kappa_{kappa:g}".replace(".", "_"): curve for kappa, curve in curves.items()}}
    columns |= {"layers": count, "step": scalar / 3, "matrix": matrix / 3}
    alt = (
        "Left: the share of the risk that two looped layers leave at d = 2, against the size of a turn: from the best"
        " step at 0 it rises to a ridge or falls at once, and reaches 0 at the turn that solves every prompt. Right: at"
        " d = 3 the best matrix found lies below the best step for an even number of layers, on it for an odd one."
    )
    return Figure("turned", figure, columns, alt)


def _least_over_a(pair: np.ndarray, b: float) -> float:
    """The least over a of the excess of two layers with aI + bJ at d = 2: on a grid around the two ends, refined."""
    centre, width = 1.5 / pair.mean(), 1.5 / pair.mean()
    for _ in range(12):
        grid = np.linspace(centre - width, centre + width, 41)
        values = turned_excess(pair, grid, b)
        centre, width = grid[values.argmin()], width / 8
    return float(values.min())


def turned_excess(pair: np.ndarray, a: np.ndarray, b: float) -> np.ndarray:
    """tr Λ N²(N²)' for N = I − (aI + bJ)Λ at d = 2, for an array of a: the rotation does not matter."""
    one, two = pair
    top, bottom, z = 1 - a * one, 1 - a * two, b**2 * one * two  # N has the rows (top, b two), (−b one, bottom)
    across = b * (top + bottom)  # off the diagonal of N², times the other eigenvalue
    first, second = (top**2 - z) ** 2 + (across * two) ** 2, (bottom**2 - z) ** 2 + (across * one) ** 2
    return one * first + two * second


def newton(eigenvalues: np.ndarray, most: int) -> Figure:
    """The share of the risk left against layers: own steps, one step, and Newton's iteration in design A."""
    d, count = len(eigenvalues), np.arange(1, most + 1)
    free = np.array([theory.least_excess(eigenvalues, L) for L in count]) / d
    shared = [theory.excess(np.full(L, theory.shared_step(eigenvalues, L)), eigenvalues) / d for L in count]
    iterated = [
        theory.newton_excess(eigenvalues, L - 2, theory.newton_alpha(eigenvalues, L - 2)) / d for L in count[1:]
    ]
    columns = {"layers": count, "own_steps": free, "one_step": np.array(shared), "newton": np.r_[np.nan, iterated]}
    with style():
        figure, axis = canvas(height=3.4)
        labels = {"own_steps": ("a step for each layer", "gd"), "one_step": ("one step for all", "preconditioned")}
        labels["newton"] = ("Newton's iteration", "newton")
        for name, (label, colour) in labels.items():
            axis.plot(count, np.where(columns[name] > 1e-15, columns[name], np.nan), "o-", markersize=3.5,
                      color=COLOURS[colour], label=label)  # fmt: skip
        axis.set(yscale="log", xlabel="layers", ylim=(1e-10, 1.5))
        axis.set_title("share of the risk left, endless context")
        axis.legend(loc="lower left")
    alt = (
        "Share of the risk left against the number of layers. With a step for each layer it falls on a straight line of"
        " the logarithm, with one step for all it hardly falls, and Newton's iteration, behind at first, drops steeply."
    )
    return Figure("newton_begins", figure, columns, alt)
