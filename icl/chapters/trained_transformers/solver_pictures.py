"""Chapter 7's picture of the algorithms: every solver on the same prompts."""

import numpy as np

from icl.estimates import Estimate
from icl.figures import COLOURS, Figure, canvas, style

LOOKS = {  # colour, line, label
    "newton": ("newton", "-", "Newton"),
    "gd": ("gd", "-", "gradient descent"),
    "cg": ("block", "--", "conjugate gradients"),
    "bfgs": ("trained_exact", "-.", "BFGS"),
    "lbfgs": ("trained_sampled", ":", "L-BFGS"),
    "least_squares": ("least_squares", "--", "least squares"),
    "ridge": ("bayes", "--", "ridge"),
}


def solvers(by_steps: dict, by_length: dict[str, Estimate], sigma2: float) -> Figure:
    """Left: mean squared error against the number of steps, all examples. Right: against the number of examples."""
    columns = {}
    with style():
        figure, (left, right) = canvas(1, 2, height=3.7, sharey=True)
        for name, (steps, estimate) in by_steps.items():
            colour, line, label = LOOKS[name]
            if len(steps) == 1:
                left.axhline(estimate.mean[0], color=COLOURS[colour], linestyle=line, linewidth=1.2)
            else:
                left.plot(steps, estimate.mean, line, color=COLOURS[colour], label=label, linewidth=1.7)
                columns[f"{name}_steps"] = steps
            columns[name] = estimate.mean
        left.set_xscale("symlog", linthresh=1, linscale=0.4)
        left.set(yscale="log", xlabel="steps", ylabel="mean squared error", xlim=(0, 1000))
        left.set_xticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
        left.legend(fontsize=8.5)
        newton = [name for name in by_length if name.startswith("newton")]
        for j, name in enumerate(newton):
            label = f"Newton, {name.removeprefix('newton')} steps"
            shade = 0.55 + 0.45 * (j + 1) / len(newton)
            _along(right, by_length[name], COLOURS["newton"], "-", label, shade)
        for name in ("least_squares", "ridge"):
            colour, line, label = LOOKS[name]
            _along(right, by_length[name], COLOURS[colour], line, label, 1.0)
        right.set(yscale="log", xlabel="examples in the context")
        right.legend(fontsize=8.5, loc="upper right")
        low = min(estimate.mean.min() for estimate in by_length.values())
        right.set_ylim(max(0.4 * low, 0.3 * sigma2, 1e-10), 6 * by_length["ridge"].mean[0])
    columns |= {f"length_{name}": estimate.mean for name, estimate in by_length.items()}
    alt = (
        "Left: mean squared error against steps for Newton, gradient descent, conjugate gradients, BFGS and L-BFGS,"
        " with the levels of least squares and ridge. Right: mean squared error against the number of examples for"
        " Newton stopped after several numbers of steps, for least squares and for ridge."
    )
    return Figure("solvers", figure, columns, alt, method="monte-carlo")


def _along(axis, estimate, colour, line, label, shade):
    axis.plot(np.arange(len(estimate.mean)), estimate.mean, line, color=colour, label=label, linewidth=1.6, alpha=shade)
