"""Chapter 8's explorable: the stairs of separate keys and queries, and the drop of a merged matrix."""

from icl.chapters.how_the_step_is_learned.experiments import spectra
from icl.explorables import Explorable, Number, Slider
from icl.parameters import Parameters
from icl.theory import how_the_step_is_learned as theory

CONTROLS = (
    Slider("slope", "slope", "of the spectrum", 0, 3, 0.1),
    Slider("start", "start", "of all factors", 1e-3, 0.75, 0.001, log=True),
    Slider("d", "<i>d</i>", "covariates", 1, 8, unit="covariates"),
    Slider("n", "<i>n</i>", "examples", 1, 1000, log=True, unit="examples"),
    Slider("sigma2", "<i>σ</i>²", "noise", 0, 5, 0.05),
)


def explorable(parameters: Parameters) -> Explorable:
    """Two panels over slope, start, d, n and σ²: the risk over time with its stairs, and what each head has learned."""
    d, n, sigma2, slope = parameters.d, parameters.n, parameters.sigma2, parameters.slope
    h, start = spectra(d, slope)["chapter"], 0.01
    stairs = theory.stairs(h, n, sigma2)
    times = theory.stair_times(h, n, sigma2, start * theory.factor_sizes(h, n, sigma2).min())
    return Explorable(
        "how_the_step_is_learned",
        CONTROLS,
        (
            "Risk over time, with keys and queries apart and merged, and the stairs.",
            "What every head has learned of its eigenvector, over time.",
        ),
        {
            "first": Number("first stair climbed at", "gd"),
            "last": Number("last stair climbed at", "gd"),
            "drop": Number("merged: half way at", "preconditioned"),
            "least": Number("least risk"),
            "top": Number("risk of predicting 0", "zero"),
        },
        f"At the parameters of this run the risk comes down from {stairs[0]:.4f} to {stairs[-1]:.4f} over {d} "
        f"stairs; from a start of {start:g} the first is climbed at time {times[0]:.0f}, the last at {times[-1]:.0f}.",
        {"slope": slope, "start": start, "d": d, "n": n, "sigma2": sigma2},
    )
