"""Chapter 2's explorable: what a step does to each direction of the covariates."""

import numpy as np

from icl.explorables import Choice, Explorable, Number, Slider
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.theory import preconditioned_gd as theory

CONTROLS = (
    Slider("condition", "<i>κ</i>", "condition number of <i>H</i>", 1, 1000, log=True),
    Slider("n", "<i>n</i>", "examples", 1, 1000, log=True, unit="examples"),
    Slider("d", "<i>d</i>", "covariates", 1, 50, unit="covariates"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 20, 0.05),
    Choice("prior", "<i>w</i>", "law of the task", {"identity": "w ~ N(0, I)", "inverse": "w ~ N(0, H⁻¹)"}),
)


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over κ, n, d, σ² and the prior: the step in each direction, and the excess risk it leaves there."""
    start = {control.name: getattr(parameters, control.name, "identity") for control in CONTROLS}
    h = np.geomspace(1, 1 / parameters.condition, parameters.d)
    law = PromptLaw(parameters.n, np.diag(h), np.eye(len(h)), np.zeros(len(h)), parameters.sigma2)
    weak, strong = theory.shrinkage(law)[[0, -1]]
    return Explorable(
        "preconditioned_gd",
        CONTROLS,
        (
            "How far each direction is pulled, against its eigenvalue: by the learned step, by plain gradient descent"
            " and by the inverse of H.",
            "The excess risk that each of the three leaves in a direction, as a share of the signal there.",
        ),
        {
            "learned": Number("excess risk, learned", "preconditioned"),
            "plain": Number("plain step, more by", "gd"),
            "inverse": Number("<i>H</i>⁻¹, more by"),
            "strong": Number("share at largest <i>h</i>", "preconditioned"),
            "weak": Number("share at least <i>h</i>", "preconditioned"),
        },
        f"With tasks w ~ N(0, I), κ = {parameters.condition:g} and n = {parameters.n} the learned step goes"
        f" {strong:.3f} of the way to least squares in the strongest direction and {weak:.3f} in the weakest.",
        start,
    )
