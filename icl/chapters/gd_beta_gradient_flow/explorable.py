"""Chapter 5's explorable: the flow of GD-β, from zero or any other start of its plane."""

from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.theory import gd_beta

CONTROLS = (
    Slider("n", "<i>n</i>", "examples", 1, 100, unit="examples"),
    Slider("d", "<i>d</i>", "covariates", 1, 50, unit="covariates"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 5, 0.05),
    Slider("beta_norm", "‖<i>β</i>*‖", "mean task", 0, 6, 0.1),
    Slider("start", "<i>Γ</i><sub>0</sub>", "step at the start", -0.5, 1.5, 0.05),
)


def explorable(parameters: Parameters) -> Explorable:
    """Four panels over n, d, σ² and the start: the flow's plane, step and error, excess, bounds."""
    start = {control.name: getattr(parameters, control.name, 0.0) for control in CONTROLS}
    law = PromptLaw.isotropic(parameters.d, parameters.n, parameters.sigma2)
    step, excess = gd_beta.optimal_gamma(law)[0, 0], gd_beta.minimal_risk(law) - law.sigma2
    return Explorable(
        "gradient_flow",
        CONTROLS,
        (
            "The plane of the flow: error of beta and step along it; from any start it goes to one point.",
            "The step along and across the error of beta, and that error, over time.",
            "Excess risk and the squared error of beta over time, with its bound.",
            "Excess risk at the minimum against context length, between its two bounds.",
        ),
        {
            "gamma_star": Number("final step Γ*"),
            "overshoot": Number("overshoot along", "gd"),
            "excess": Number("least excess risk", "gd"),
            "rate": Number("final rate of <i>β</i>", "bayes"),
            "bound": Number("guaranteed, 4/(<i>n</i>+2)"),
            "factor": Number("at most / at least"),
        },
        f"At the parameters of this run the flow ends at the step Γ* = {step:.4f}, with excess risk {excess:.4f}.",
        start,
        script="gd_beta_gradient_flow",
    )
