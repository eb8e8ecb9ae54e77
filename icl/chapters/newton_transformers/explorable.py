"""Chapter 6's explorable: Newton, gradient descent and the transformer that is Newton, by steps and condition."""

from icl.chapters.newton_transformers.constructed import Walk
from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import newton as theory

CONTROLS = (
    Slider("k", "<i>k</i>", "Newton steps", 0, 12, unit="steps", film="layer"),
    Slider("condition", "<i>κ</i>(<i>S</i>)", "condition number", 1, 10_000, 0.5, log=True),
)


def explorable(parameters: Parameters, walk: Walk) -> Explorable:
    """Three panels over k and kappa: residual by eigenvalue, by steps, and design A on the page's prompt."""
    start = {"k": parameters.k, "condition": parameters.condition}
    left = float(theory.residual(1 / parameters.condition, parameters.k, 1.0))
    prompt = walk.prompt
    return Explorable(
        "newton",
        CONTROLS,
        (
            "What Newton and gradient descent leave of the error in each direction, against its eigenvalue.",
            "What both leave of the error in the slowest direction, against the number of steps.",
            "The answer of design A to one prompt against its number of Newton layers, with the least-squares answer.",
        ),
        {
            "layers": Number("layers of A, D, B"),
            "paper": Number("layers of Theorem 5.1"),
            "left": Number("left over by Newton, slowest direction", "newton"),
            "gd": Number("steps of gradient descent to that", "gd"),
            "answer": Number("the transformer's answer", "newton"),
            "limit": Number("least squares", "least_squares"),
        },
        f"At κ = {parameters.condition:g}, {parameters.k} Newton steps leave {left:.3g} of the slowest direction.",
        start,
        script="newton_transformers",
        data={
            "X": prompt.X[0].tolist(),
            "y": prompt.y[0].tolist(),
            "query": prompt.x_query[0].tolist(),
            "alpha": walk.alpha,
            "least_squares": walk.least_squares,
        },
    )
