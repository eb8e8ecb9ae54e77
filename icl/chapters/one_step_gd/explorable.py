"""Chapter 1's explorable: a step of your own against the best one."""

from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import one_step_gd as theory

CONTROLS = (
    Slider("step", "<i>nη</i>", "your step", 0, 2, 0.01),
    Slider("n", "<i>n</i>", "examples", 1, 1000, log=True, unit="examples"),
    Slider("d", "<i>d</i>", "covariates", 1, 50, unit="covariates"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 20, 0.05),
)


def explorable(parameters: Parameters) -> Explorable:
    """One panel over nη, n, d and σ²: the risk of one step against its size."""
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    eta, least = theory.step_size(d, n, sigma2), theory.minimal_risk(d, n, sigma2)
    return Explorable(
        "one_step_gd",
        CONTROLS,
        ("The risk of one gradient step against its size: a parabola, its lowest point, and your step on it.",),
        {
            "eta": Number("best step <i>η</i>*"),
            "n_eta": Number("<i>nη</i>*"),
            "least": Number("least risk", "gd"),
            "yours": Number("risk of your step"),
            "lost": Number("above the least by"),
        },
        f"At d = {d}, n = {n} and σ² = {sigma2:g} the best step is η* = {eta:.4f}, with risk {least:.4f}; a step twice "
        f"as long has the risk of predicting 0, {theory.one_step_risk(2 * eta, d, n, sigma2):.4f}.",
        {"step": 1.0, "n": n, "d": d, "sigma2": sigma2},
    )
