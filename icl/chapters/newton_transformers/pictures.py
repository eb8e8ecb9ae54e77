"""Chapter 6's pictures of the algorithms: rates, step sizes, one alpha for all."""

import numpy as np

from icl.chapters.newton_transformers.experiments import Steps
from icl.chapters.newton_transformers.fixed_alpha import FixedAlpha
from icl.figures import COLOURS, INK, Figure, canvas, style

LABELS = {"newton": "Newton", "gd": "gradient descent"}


def rates(steps: Steps, predicted: dict[str, np.ndarray], factors, errors: np.ndarray) -> Figure:
    """Left: steps to a relative accuracy of 1e-8 against kappa, `predicted` as lines. Right: error against Newton steps
    by alpha."""
    k = np.arange(errors.shape[1])
    columns = {"kappa": steps.kappas, "newton": steps.newton, "gd": steps.gd, "k": k}
    shades = ("preconditioned", "newton", "trained_exact", "gd", "zero")
    with style():
        figure, (left, right) = canvas(1, 2, height=3.5)
        for name, run in (("gd", steps.gd), ("newton", steps.newton)):
            left.plot(steps.kappas, predicted[name], color=COLOURS[name], linewidth=1.4, alpha=0.7)
            left.plot(steps.kappas, run, "o", color=COLOURS[name], markersize=5)
            left.annotate(
                LABELS[name], (steps.kappas[-4], run[-4]), xytext=(-6, 9), textcoords="offset points", ha="right",
                color=COLOURS[name],
            )  # fmt: skip
        left.set(xscale="log", yscale="log", ylim=(1, None), xlabel=r"condition number $\kappa(S)$")
        left.set_title("steps to a relative accuracy of $10^{-8}$", fontsize=10)
        for factor, curve, shade in zip(factors, errors, shades, strict=True):
            label = rf"$\alpha = {factor:g} / \lambda_{{\max}}^2$"
            shown = np.where(curve < 1e3, np.maximum(curve, 1e-15), np.nan)
            right.plot(k, shown, color=COLOURS[shade], label=label, linewidth=1.7)
            columns[f"error_alpha_{factor:g}"] = np.minimum(curve, 1e300)
        right.set(yscale="log", ylim=(1e-15, 1e3), xlabel="Newton steps $k$")
        right.set_title("distance from least squares, relative", fontsize=10)
        right.legend(fontsize=8.5, loc="lower left")
    alt = (
        "Left, both axes logarithmic: the steps of gradient descent grow in proportion to the condition number,"
        " Newton's hardly at all; every run lies on its predicted curve. Right: the error against Newton steps falls to"
        " rounding for step sizes inside the range, soon stays level at its end, and grows beyond it."
    )
    return Figure("rates", figure, columns, alt)


def fixed_alpha(found: FixedAlpha, limit: float | None) -> Figure:
    """Risk against Newton steps: exact mean and median with one alpha, mean with alpha per prompt, its limit."""
    k = np.arange(len(found.mean))
    with style():
        figure, axis = canvas(height=3.4)
        axis.plot(k, found.mean, "o-", color=COLOURS["gd"], label=r"mean over prompts, one $\alpha$ for all (exact)")
        axis.plot(
            k, found.median, "s--", color=COLOURS["gd"], markersize=4, label=r"median prompt, one $\alpha$ for all"
        )
        axis.plot(
            k, found.per_prompt.mean, "o-", color=COLOURS["newton"], markersize=4.5,
            label=r"mean over prompts, $\alpha = 1/\lambda_{\max}^2$ of each",
        )  # fmt: skip
        if limit is not None:
            axis.axhline(limit, color=INK, linewidth=0.9, linestyle="--")
            axis.annotate("least squares", (0, limit), xytext=(2, 3), textcoords="offset points", fontsize=9)
        top = max(30 * found.mean[0], 10 * found.median.max())
        low = 0.6 * min(found.median.min(), found.per_prompt.mean.min(), limit or np.inf)
        axis.set(yscale="log", xlabel="Newton steps $k$", ylabel="risk", ylim=(low, min(top, 3 * found.mean.max())))
        axis.set_xticks(k)
        axis.legend(fontsize=9, loc="upper right")
    columns = {"k": k, "mean": np.minimum(found.mean, 1e300), "median": found.median}
    columns |= {"per_prompt": found.per_prompt.mean, "per_prompt_stderr": found.per_prompt.stderr}
    alt = (
        "Risk against the number of Newton steps. With one step size for all prompts the median falls step by step; the"
        " mean follows at first and leaves through the top of the picture once rare prompts dominate it. With a step"
        " size for each prompt the mean falls too."
    )
    return Figure("fixed_alpha", figure, columns, alt, method="monte-carlo")
