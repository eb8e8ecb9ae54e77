"""Chapter 7: every classical learner on the chapter's prompts, at every prefix and after every number of steps."""

from dataclasses import dataclass

import numpy as np

from icl.estimates import Estimate
from icl.parameters import Parameters
from icl.prompts import PromptLaw, conditioned_covariance
from icl.solvers import iterations, prefixes

PREFIX_D, PREFIX_N = 20, 60  # all prefixes are solved at this many covariates and examples at most
MOST_STEPS = 1000
COMPARED_STEPS = 8  # of all prefixes at once and of the iterations as written
CONJUGATE_STEPS = 3  # of BFGS and L-BFGS beside conjugate gradients


@dataclass(frozen=True)
class Sequences:
    """Prompts as sequences: X (B, n + 1, d), y (B, n + 1); position t is predicted from the t pairs before it."""

    X: np.ndarray
    y: np.ndarray
    sigma2: float

    @property
    def n(self) -> int:
        """The longest prefix."""
        return self.X.shape[1] - 1


def sequences(parameters: Parameters, tasks: int, rng: np.random.Generator) -> Sequences:
    """The chapter's prompts with the query as the last pair, at PREFIX_D covariates and PREFIX_N examples at most."""
    d, n = min(parameters.d, PREFIX_D), min(parameters.n, PREFIX_N)
    law = PromptLaw(n, conditioned_covariance(d, parameters.condition, rng), np.eye(d), np.zeros(d), parameters.sigma2)
    batch = law.sample(rng, tasks)
    X = np.concatenate([batch.X, batch.x_query[:, None]], 1)
    return Sequences(X, np.concatenate([batch.y, batch.y_query[:, None]], 1), parameters.sigma2)


def disagreement(data: Sequences) -> tuple[float, float]:
    """Newton to k = COMPARED_STEPS steps and GD to 2^k, closed forms against recursions: largest difference over the
    largest size; and the same of closed forms that are a step ahead."""
    k = COMPARED_STEPS
    found = prefixes.decompose(data.X, data.y)
    pairs = (
        (prefixes.newton(found, range(k + 2)), iterations.newton(), range(k + 1)),
        (prefixes.gradient_descent(found, range(2**k + 2)), _spectral_gd, range(2**k + 1)),
    )
    off = []
    for closed, method, steps in pairs:
        run = iterations.all_prefixes(data.X, data.y, steps, method)
        off.append([np.abs(fast - run).max() / np.abs(run).max() for fast in (closed[..., :-1], closed[..., 1:])])
    return tuple(np.max(off, axis=0))


def distance_from_conjugate_gradients(data: Sequences) -> dict[str, float]:
    """Largest difference of BFGS's and L-BFGS's predictions from those of CG, over the largest, by line search."""
    steps = range(CONJUGATE_STEPS + 1)
    expected = iterations.all_prefixes(data.X, data.y, steps, iterations.conjugate_gradients)
    found = {}
    for search in ("exact", "backtracking"):
        runs = [
            iterations.all_prefixes(data.X, data.y, steps, method)
            for method in (iterations.bfgs(search), iterations.lbfgs(search=search))
        ]
        found[search] = max(float(np.abs(run - expected).max() / np.abs(expected).max()) for run in runs)
    return found


def errors(data: Sequences) -> dict[str, tuple[np.ndarray, Estimate]]:
    """Mean squared error of each learner at the longest prefix: step counts, and the mean with its standard error.

    All three are (K,), with K of the learner's own; least squares and ridge, which take no steps, have K = 1.
    """
    X, y, found = data.X, data.y, prefixes.decompose(data.X, data.y)
    few, many = np.arange(25), np.unique(np.geomspace(1, MOST_STEPS, 60).astype(int))
    run = lambda method: iterations.all_prefixes(X, y, few, method)
    predictions = {
        "newton": (few, prefixes.newton(found, few)),
        "gd": (np.r_[0, many], prefixes.gradient_descent(found, np.r_[0, many])),
        "cg": (few, run(iterations.conjugate_gradients)),
        "bfgs": (few, run(iterations.bfgs("backtracking"))),
        "lbfgs": (few, run(iterations.lbfgs(search="backtracking"))),
        "least_squares": (few[:1], prefixes.least_squares(found)[..., None]),
        "ridge": (few[:1], prefixes.ridge(found, [data.sigma2])),
    }
    return {name: (steps, _mean_square(data, values[:, -1], -1)) for name, (steps, values) in predictions.items()}


def errors_by_length(data: Sequences, newton_steps) -> dict[str, Estimate]:
    """Mean squared error at every prefix length 0, …, n: Newton after each of these steps, least squares, ridge."""
    found = prefixes.decompose(data.X, data.y)
    newton = prefixes.newton(found, newton_steps)
    values = {f"newton{k}": newton[..., j] for j, k in enumerate(newton_steps)}
    values["least_squares"] = prefixes.least_squares(found)
    values["ridge"] = prefixes.ridge(found, [data.sigma2])[..., 0]
    return {name: _mean_square(data, value, slice(None)) for name, value in values.items()}


def _mean_square(data, predictions, position):
    """The mean over prompts of (prediction − y)²; predictions (B, K) at one position, or (B, T) at all."""
    target = data.y[:, position]
    squares = (predictions - (target if predictions.shape == target.shape else target[:, None])) ** 2
    return Estimate(squares.mean(0), squares.std(0, ddof=1) / np.sqrt(len(squares)), len(squares))


def _spectral_gd(S, b):
    """GD with step 1 / λ_max of each problem; a problem without data stays at 0."""
    top = np.linalg.eigvalsh(S)[:, -1]
    return iterations.gradient_descent(np.divide(1, top, out=np.zeros_like(top), where=top > 0))(S, b)
