"""Chapter 7's other comparisons: an LSTM, quasi-Newton methods and networks as targets."""

import warnings
from dataclasses import dataclass

import numpy as np
import torch

from icl import probes
from icl.chapters.trained_transformers.probing import (
    DRAWS,
    GD_STEPS,
    NEWTON_STEPS,
    Algorithm,
    Positions,
    Queries,
    Similarity,
    errors,
    similarity,
)
from icl.chapters.trained_transformers.study import Study, advantage, foretold, over_runs
from icl.estimates import Estimate
from icl.solvers import iterations, online, prefixes
from icl.solvers.prefixes import StepSizeWarning
from icl.targets import KAPPA

ONLINE_RATES = np.geomspace(0.01, 1.0, 25)
HUGE = 1e100  # stands for what diverged: its square is still a number
PENALTIES = np.geomspace(0.01, 100.0, 25)


def online_gradient_descent(test: Positions) -> Algorithm:
    """One pass over the sequence at each of 25 rates; residuals over all positions, the first included."""
    predictions = online.online_gradient_descent(test.X, test.y, ONLINE_RATES)
    return Algorithm(ONLINE_RATES, np.moveaxis(predictions - test.y[..., None], -1, 0))


def lstm_residuals(model: torch.nn.Module, test: Positions) -> np.ndarray:
    """Residuals (P, T) of a trained LSTM, which answers at the first position too."""
    with torch.no_grad():
        found = model(torch.from_numpy(test.X).float(), torch.from_numpy(test.y).float())
    return found.double().numpy() - test.y


@dataclass(frozen=True)
class Closeness:
    """Similarity of S runs of M models with each of A algorithms at its best setting: (S, M, A), and bootstrap samples,
    (S, DRAWS, M, A)."""

    value: np.ndarray
    draws: np.ndarray

    def difference(self, a: tuple[int, int], b: tuple[int, int]) -> Estimate:
        """Entry a minus entry b, mean over runs."""
        gap = lambda table: table[..., *a] - table[..., *b]
        return over_runs(gap(self.value), gap(self.draws))


def closeness(models: list[list[np.ndarray]], algorithms: list[Algorithm], bootstrap: int) -> Closeness:
    """Of each model's runs' residuals, each (P, T); all share the bootstrap samples drawn from `bootstrap`."""
    table = [
        [similarity(np.array(runs), algorithm, np.random.default_rng(bootstrap)) for algorithm in algorithms]
        for runs in models
    ]
    best = lambda part: np.array([[getattr(cell, part).max(-1) for cell in row] for row in table])
    return Closeness(np.moveaxis(best("map"), -1, 0), best("draws").transpose(3, 2, 0, 1))


def quasi_newton(test: Positions) -> dict[str, Algorithm]:
    """Conjugate gradients, BFGS and L-BFGS (memory 2), the latter two with a backtracking line search.

    With exact line searches all three are conjugate gradients (Nocedal and Wright 2006, Theorem 6.4).
    """
    solvers = {
        "conjugate gradients": iterations.conjugate_gradients,
        "BFGS": iterations.bfgs("backtracking"),
        "L-BFGS": iterations.lbfgs(2, "backtracking"),
    }
    steps = np.arange(0, 25)
    return {name: Algorithm.of(test, steps, test.iterated(steps, solver)) for name, solver in solvers.items()}


def whole(rival: Algorithm, test: Positions) -> Algorithm:
    """The same over all positions, the first included."""
    return Algorithm(rival.steps, test.whole(rival.residuals))


def best_linear(train: Queries, test: Queries) -> np.ndarray:
    """Residuals (P, R) of ridge regression with the penalty, of 25, that is best on `train`."""
    residuals = lambda data, p: prefixes.ridge(data.prefixes, p) - data.answers[..., None]
    chosen = PENALTIES[(residuals(train, PENALTIES) ** 2).mean((0, 1)).argmin()]
    return residuals(test, [chosen])[..., 0]


def relu_kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """E f(a) f(b), (P, m, r), of the ReLU networks of `icl.targets`, for A (P, m, d) and B (P, r, d).

    KAPPA |a||b| (sin θ + (π − θ) cos θ) / 2π, θ the angle: Cho and Saul (2009), eq. (6) with n = 1.
    """
    norms = np.linalg.norm(A, axis=-1)[..., None] * np.linalg.norm(B, axis=-1)[:, None]
    cosine = np.clip(A @ np.swapaxes(B, 1, 2) / norms, -1, 1)
    angle = np.arccos(cosine)
    return KAPPA * norms * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)


def kernel_rule(test: Queries) -> np.ndarray:
    """Residuals (P, R) of k' K⁻¹ y: for these targets the best rule among those linear in the labels."""
    K, k = relu_kernel(test.X, test.X), relu_kernel(test.X, test.queries)
    return np.einsum("pnr,pn->pr", k, np.linalg.solve(K, test.y[..., None])[..., 0]) - test.answers


def network_rules(study: Study, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (P, R) of the best ridge regression, fitted on prompts from `rng`, and of the kernel rule."""
    train = Queries.draw(study.recipe, len(study.test.y), rng)
    return best_linear(train, study.test), kernel_rule(study.test)


def mean_error(residuals: np.ndarray) -> float:
    """Mean squared error of residuals of any shape."""
    return float((residuals**2).mean())


def own(study: Study) -> np.ndarray:
    """Residuals (S, P, R) of the runs' own outputs."""
    return np.array([run.own for run in study.runs])


def noise_levels(study: Study) -> tuple[float, float]:
    """Mean squared errors, less the noise, of the Bayes predictor and of the models' own outputs, mean over runs."""
    bayes = foretold(study.recipe, study.test) - study.test.answers
    return mean_error(bayes) - study.noise, mean_error(own(study)) - study.noise


def fixed_steps(study: Study, newton: list[Similarity]) -> tuple[np.ndarray, list[Estimate]]:
    """Newton's advantage in similarity over gradient descent with one step size for all contexts, for six of them.

    Returns the step sizes (6,) and as many estimates; `newton` is what `Study.similarities` gives for Newton.
    """
    etas, found = np.array([0.002, 0.005, 0.01, 0.02, 0.03, 0.05]), []
    for eta in etas:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StepSizeWarning)  # on some contexts the larger ones diverge: that is shown
            predictions = prefixes.gradient_descent(study.test.prefixes, GD_STEPS, eta=float(eta))
        residuals = np.moveaxis(predictions - study.test.answers[..., None], -1, 0)
        residuals = np.nan_to_num(residuals, nan=HUGE, posinf=HUGE, neginf=-HUGE).clip(-HUGE, HUGE)
        (with_gd,) = study.similarities(Algorithm(GD_STEPS, residuals))
        found.append(advantage(newton, with_gd))
    return etas, found


def start_advantages(study: Study, gd: list[Similarity]) -> dict[str, float]:
    """Newton's advantage in similarity over `gd` from other starts, least and most: alpha λ_max² = ¼, ½, 1.5 and 1.9,
    and alpha = 1 / |S S'|_F."""
    found, tested = study.test.prefixes, []
    squares = (found.eigenvalues / found.largest[..., None]) ** 2
    for factor in (0.25, 0.5, 1.5, 1.9, 1 / np.linalg.norm(squares, axis=-1)[..., None]):
        left, answers = 1 - factor * squares, []
        for _ in NEWTON_STEPS:
            answers.append((found.inverse_weights * (1 - left)).sum(-1) - study.test.answers)
            left = left**2
        (alike,) = study.similarities(Algorithm(NEWTON_STEPS, np.array(answers)))
        tested.append(advantage(alike, gd).mean)
    return {"start_least": min(tested), "start_most": max(tested)}


def least_squares_errors(test: Positions) -> np.ndarray:
    """Mean squared error (T − 1,) of least squares after 1, 2, … examples."""
    return ((prefixes.least_squares(test.prefixes) - test.answers) ** 2).mean(0)


def ratio(above: np.ndarray, below: np.ndarray, rng: np.random.Generator) -> Estimate:
    """Mean squared error over mean squared error, of residuals (P, R) on the same prompts; of several runs, (S, P, R),
    the mean of their ratios."""
    pair = np.stack(np.broadcast_arrays(errors(above), errors(below)), axis=-1).reshape(-1, above.shape[-2], 2)
    draws = probes.resampled_means(pair.swapaxes(0, 1), DRAWS, rng)
    of = lambda means: means[..., 0] / means[..., 1]
    return over_runs(of(pair.mean(1)), of(draws).T)
