"""Chapter 3's explorable: a target sets the length of the step, and nothing else."""

from icl.explorables import Choice, Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import nonlinear_targets as theory

TARGETS = {
    "linear": "wᵀx",
    "relu_network": "ReLU network",
    "sign": "sign(wᵀx)",
    "cubic_unit": "(wᵀx)³, |w| = 1",
    "cubic_gaussian": "(wᵀx)³, w ~ N(0, I)",
    "quadratic": "xᵀQx",
    "linear_quadratic": "wᵀx + ½ xᵀQx",
    "sine": "√2 sin(wᵀx)",
    "cosine": "√2 cos(wᵀx + φ)",
    "single_index": "tanh(2wᵀx), |w| = 1",
}
CONTROLS = (
    Choice("family", "<i>f</i>", "target", TARGETS),
    Slider("n", "<i>n</i>", "examples", 1, 1000, log=True, unit="examples"),
    Slider("d", "<i>d</i>", "covariates", 1, 50, unit="covariates"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 20, 0.05),
)


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over the target, n, d and σ²: the step against n, and what the risk is made of."""
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    steps = {name: n * theory.step_size(theory.moments(name, d), n, sigma2) for name in ("linear", "sign")}
    return Explorable(
        "nonlinear_targets",
        CONTROLS,
        (
            "The best step against the context length, for the chosen target and, faint, for the nine others.",
            "The least risk against the context length: noise, what is not linear, and what more examples remove.",
        ),
        {
            "a": Number("linear part <i>a</i>"),
            "half": Number("half a step at <i>n</i> ="),
            "alike": Number("like <i>w</i>ᵀ<i>x</i> with <i>σ</i>² ="),
            "step": Number("step <i>nη</i>*", "gd"),
            "explained": Number("risk explained", "gd"),
        },
        f"At d = {d}, n = {n} and σ² = {sigma2:g} the best step nη* is {steps['linear']:.3f} for linear targets and "
        f"{steps['sign']:.3f} for sign(wᵀx).",
        {"family": "sign", "n": n, "d": d, "sigma2": sigma2},
        data=TARGETS,
    )
