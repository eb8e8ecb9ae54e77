"""Chapter 4's explorable: the price of leaving the MLP out, between its bounds."""

import numpy as np

from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.theory import mlp_benefit as theory

CONTROLS = (
    Slider("beta_norm", "‖<i>β</i>*‖", "mean task", 0.1, 100, 0.1, log=True),
    Slider("n", "<i>n</i>", "examples", 1, 1000, log=True, unit="examples"),
    Slider("d", "<i>d</i>", "covariates", 1, 50, unit="covariates"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 20, 0.05),
)


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over ‖β*‖, n, d and σ²: the gap between attention and the block against ‖β*‖ and against n.

    With ‖β*‖ = 0 there is no gap; the slider then starts at its least value.
    """
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    size = max(parameters.beta_norm, CONTROLS[0].least)
    block = theory.ltb_minimal_risk(PromptLaw.isotropic(d, n, sigma2))
    attention = float(theory.isotropic_lsa_risk(d, n, sigma2, np.array(size)))
    return Explorable(
        "mlp_benefit",
        CONTROLS,
        (
            "The gap in units of its lower bound against the size of the mean task, with the upper bound.",
            "The gap in units of its lower bound against the context length, with the upper bound.",
        ),
        {
            "lsa": Number("least risk, attention", "attention_only"),
            "ltb": Number("least risk, block", "block"),
            "gap": Number("gap", "attention_only"),
            "ratio": Number("gap / lower bound", "attention_only"),
            "lower": Number("lower bound"),
            "upper": Number("upper bound", "gd"),
        },
        f"At d = {d}, n = {n}, σ² = {sigma2:g} and ‖β*‖ = {size:g} attention alone reaches risk {attention:.4f}"
        f" and the block {block:.4f}.",
        {"beta_norm": size, "n": n, "d": d, "sigma2": sigma2},
    )
