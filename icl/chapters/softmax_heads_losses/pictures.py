"""Chapter 9's pictures."""

import numpy as np

from icl.chapters.softmax_heads_losses.fits import Fitted
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.theory import one_step_gd, softmax_heads

SHARP = 0.6  # the second pair of the left panel, q √d


def weights_and_risk(d: int, n: int, sigma2: float, best_q: float, one_head: float, fitted) -> Figure:
    """Left: what heads do with scores. Right: the risk of a pair ±q against q, over linear attention and the floor."""
    r, z = np.sqrt(d), scores(n)
    eta = one_step_gd.step_size(d, n, sigma2)
    q = np.geomspace(0.02, 1.6, 17) / np.sqrt(d)
    risks = np.array([softmax_heads.pair_risk(each, d, n, sigma2).risk for each in q])
    pairs = {"best": best_q, "sharp": SHARP * 2 / np.sqrt(d)}
    weights = {name: pair_weights(value, d, n, sigma2, z) for name, value in pairs.items() if value > 0}
    linear = one_step_gd.minimal_risk(d, n, sigma2)
    floor = softmax_heads.score_floor(d, n, sigma2, zero_sum=True)
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6)
        left.plot(r * z, eta * r * z, color=COLOURS["gd"], label="linear")
        marks = {
            "best": ("o", COLOURS["attention_only"], "best pair ±q"),
            "sharp": ("D", COLOURS["newton"], "a sharper pair"),
        }
        for name, values in weights.items():
            marker, colour, label = marks[name]
            left.plot(r * z, values, marker, color=colour, markersize=5, label=label)
        left.axhline(0, color=INK, linewidth=0.6)
        left.set(xlabel="score $x_i^T x$", ylabel="weight of the label $y_i$")
        left.legend(loc="upper left")
        right.plot(q, risks, color=COLOURS["attention_only"])
        levels = {
            "linear attention": (linear, "gd", -4, "top"),
            "floor of zero-sum weights": (floor, "bayes", 4, "bottom"),
        }
        for text, (level, colour, shift, va) in levels.items():
            right.axhline(level, color=COLOURS[colour], linewidth=1.4, linestyle="--")
            right.annotate(text, (q[0], level), xytext=(2, shift), textcoords="offset points", va=va, fontsize=9.5)
        right.annotate("two heads ±q", (q[0], risks[0]), xytext=(2, 5), textcoords="offset points", fontsize=9.5)
        found = isinstance(fitted, Fitted)
        fitted_q = np.trace(fitted.M[0] - fitted.M[1]) / (2 * d) if found else np.nan
        if found:
            right.errorbar(
                abs(fitted_q), fitted.risk.mean, 5 * fitted.risk.stderr, fmt="o", color=COLOURS["trained_sampled"]
            )
            right.annotate(
                "fitted",
                (abs(fitted_q), fitted.risk.mean),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=9.5,
            )
        highest = max(risks.max(), linear, floor + 0.1)
        top = highest + 0.12 * (highest - floor)
        right.set(xscale="log", xlabel="$q$", ylabel="risk", ylim=(floor - 0.12 * (top - floor), top))
    columns = {"score": r * z, "linear": eta * r * z, **weights, "q": q, "pair": risks}
    columns |= {
        "levels": np.array([linear, floor, one_head]),
        "fitted": np.array([fitted_q, fitted.risk.mean if found else np.nan]),
    }
    alt = (
        "Left: weights against scores. Linear attention is a straight line through zero; the best pair of softmax heads"
        " bends up gently around the mean score; a sharper pair puts most weight on the largest and smallest scores."
        " Right: the risk of two heads against q is flat, dips a little and rises steeply; linear attention lies below."
    )
    return Figure("weights_and_risk", figure, columns, alt, method="trained")


def scores(n: int) -> np.ndarray:
    """n typical components along the query, (n,): evenly spaced on a standard normal's scale, one set apart."""
    z = np.linspace(-1.7, 1.7, n) if n > 1 else np.zeros(1)
    z[-1] += 0.5
    return z


def pair_weights(q: float, d: int, n: int, sigma2: float, z: np.ndarray) -> np.ndarray:
    """What the pair ±q with its best V gives to labels whose components are z (n,), for |x|² = d: (n,)."""
    V = softmax_heads.pair_risk(q, d, n, sigma2).V
    up, down = np.exp(q * np.sqrt(d) * z), np.exp(-q * np.sqrt(d) * z)
    return V[0] * up / up.sum() + V[1] * down / down.sum()


def masks_in_depth(layers: list[int], found: dict[str, np.ndarray], end: float, bayes: float) -> Figure:
    """Risk against depth with the best shared step, causal and prefix mask; `end`: of the causal stack at its end."""
    with style():
        figure, axis = canvas(height=3.0)
        for name, colour in (("causal", "block"), ("prefix", "gd")):
            axis.plot(layers, found[name], "o-", color=COLOURS[colour], label=f"{name} mask, best shared step")
        axis.axhline(bayes, color=COLOURS["bayes"], linestyle="--", linewidth=1.4)
        axis.annotate("Bayes", (layers[0], bayes), xytext=(0, -4), textcoords="offset points", va="top", fontsize=9.5)
        if np.isfinite(end):
            axis.axhline(end, color=COLOURS["block"], linestyle=":", linewidth=1.4, label="causal mask, run to its end")
        axis.set(xscale="log", xlabel="layers", ylabel="risk", ylim=(0, None))
        axis.set_xticks(layers, [str(k) for k in layers])
        axis.minorticks_off()
        axis.legend()
    columns = {"layers": np.array(layers), **found, "causal_end": np.array([end]), "bayes": np.array([bayes])}
    alt = (
        "Risk against the number of layers. Both curves start together at one layer; the prefix mask falls to the Bayes"
        " level, the causal mask stays well above it."
    )
    return Figure("masks_in_depth", figure, columns, alt, method="monte-carlo")
