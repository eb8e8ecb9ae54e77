"""Chapter 11's explorable: layers against the spectrum of every prompt's covariance."""

import numpy as np

from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import when_depth_pays as theory

CONTROLS = (
    Slider("layers", "<i>L</i>", "layers", 1, 12, unit="layers"),
    Slider("d", "<i>d</i>", "covariates", 1, 60, unit="covariates"),
    Slider("condition", "<i>κ</i>", "condition number", 1, 10_000, log=True),
)


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over L, d and κ: what is left of each direction, and of the risk against the number of layers."""
    d, condition, L = parameters.d, parameters.condition, parameters.layers
    eigenvalues = theory.spectrum(d, condition)
    free, shared = theory.least_excess(eigenvalues, L), theory.shared_step(eigenvalues, L)
    looped = theory.excess(np.full(L, shared), eigenvalues)
    return Explorable(
        "when_depth_pays",
        CONTROLS,
        (
            "What the layers leave of each direction against its eigenvalue, with own steps and with one step for all.",
            "The share of the risk that is left against the number of layers, on a logarithmic axis.",
        ),
        {
            "free": Number("left with own steps", "gd"),
            "shared": Number("left with one step", "preconditioned"),
            "newton": Number("left by Newton", "newton"),
            "step": Number("the one step, times <i>λ</i><sub>max</sub>"),
        },
        f"With d = {d} and κ = {condition:g}, {L} layers with steps of their own leave {free / d:.4f} of the risk of "
        f"predicting 0, and {L} with one step for all {looped / d:.4f}.",
        {"layers": L, "d": d, "condition": condition},
    )
