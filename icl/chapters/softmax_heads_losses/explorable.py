"""Chapter 9's explorable: how sharp should two softmax heads be?"""

import numpy as np

from icl.chapters.softmax_heads_losses.pictures import scores
from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import one_step_gd, softmax_heads

CONTROLS = (
    Slider("sharpness", "<i>q</i>√<i>d</i>", "sharpness", 0.1, 1.5, log=True),
    Slider("n", "<i>n</i>", "examples", 2, 200, log=True, unit="examples"),
    Slider("d", "<i>d</i>", "covariates", 1, 30, unit="covariates"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 5, 0.05),
)
START = 0.3  # sharpness


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over q√d, n, d and σ²: weights against scores, and the pair's risk between the others'."""
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    yours = softmax_heads.pair_risk(START / np.sqrt(d), d, n, sigma2).risk
    linear = one_step_gd.minimal_risk(d, n, sigma2)
    return Explorable(
        "softmax_heads_losses",
        CONTROLS,
        (
            "Weights of twenty labels against their scores: a line for linear attention, dots for two softmax heads.",
            "Risk against the number of examples: linear attention, centred descent and the floors; yours as a dot.",
        ),
        {
            "yours": Number("two heads ±<i>q</i>", "attention_only"),
            "limit": Number("limit <i>q</i> → 0"),
            "linear": Number("linear attention", "gd"),
            "zero_sum": Number("floor, sum 0", "bayes"),
            "floor": Number("floor of all weights", "newton"),
        },
        f"At d = {d}, n = {n} and σ² = {sigma2:g} two softmax heads with q√d = {START:g} have risk {yours:.4f}, their "
        f"limit q → 0 {softmax_heads.centred_risk(d, n, sigma2):.4f}, linear attention {linear:.4f}.",
        {"sharpness": START, "n": n, "d": d, "sigma2": sigma2},
        data={"z": [float(f"{z:.4f}") for z in scores(20)]},
    )
