"""Chapter 13's picture."""

import numpy as np

from icl.estimates import Estimate
from icl.figures import COLOURS, Figure, canvas, style
from icl.theory import zero_answer as theory


def risk_against_d(d: int, sigma2: float, measured: Estimate) -> Figure:
    """The risk of the answer 0 against the number of covariates, and what was measured at d."""
    sizes = np.arange(1, 2 * d + 1)
    risks = np.array([theory.risk(size, sigma2) for size in sizes])
    with style():
        figure, axis = canvas()
        axis.plot(sizes, risks, color=COLOURS["zero"], label="predicted")
        axis.errorbar(d, measured.mean, 5 * measured.stderr, fmt="o", color=COLOURS["gd"], label="measured")
        axis.set(xlabel="covariates d", ylabel="risk")
        axis.legend()
    columns = {"d": sizes, "predicted": risks, "measured": [measured.mean], "stderr": [measured.stderr]}
    return Figure("risk_against_d", figure, columns, "The risk of the answer 0 grows in step with d.", "monte-carlo")
