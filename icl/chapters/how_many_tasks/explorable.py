"""Chapter 10's explorable: prompts, tasks, contexts and noise against the error on new tasks and on seen ones."""

from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import how_many_tasks as theory

CONTROLS = (
    Slider("tau", "<i>P</i>/<i>d</i>²", "prompts", 0.1, 100, log=True),
    Slider("kappa", "<i>K</i>/<i>d</i>", "tasks", 0.1, 100, log=True),
    Slider("alpha", "<i>n</i>/<i>d</i>", "examples", 0.1, 1000, log=True),
    Slider("rho", "<i>σ</i>²/<i>d</i>", "noise", 0, 2, 0.05),
    Slider("ridge", "<i>λ</i>", "ridge", 0, 1, 0.01),
)


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over five ratios: the error for large d against the prompts, and against the tasks."""
    alpha, rho = parameters.n / parameters.d, min(20.0, parameters.sigma2 / parameters.d)
    start = {"tau": 2.0, "kappa": 0.5, "alpha": alpha, "rho": rho, "ridge": 0.0}
    new, seen = theory.limit(2.0, alpha, 0.5, rho)
    return Explorable(
        "how_many_tasks",
        CONTROLS,
        (
            "Error against the number of prompts, on new tasks and on seen ones, with a peak at d squared prompts.",
            "Error against the number of tasks, on new tasks and on seen ones, with a bend at d tasks.",
        ),
        {
            "new": Number("error on new tasks", "gd"),
            "seen": Number("error on seen tasks", "bayes"),
            "endless_prompts": Number("new, endless prompts"),
            "endless_tasks": Number("new, endless tasks"),
            "least": Number("endless both"),
            "zero": Number("answering 0"),
        },
        f"With 2d² prompts of d/2 tasks, at the n/d and σ²/d of this run, the error per dimension is {new:.4f} on new "
        f"tasks and {seen:.4f} on seen ones; endless prompts of endless tasks leave "
        f"{theory.endless_prompts(alpha, float('inf'), rho):.4f}.",
        start,
    )
