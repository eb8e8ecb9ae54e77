"""Chapter 10's ladders: fits at d = 8, 16, 24, 48 with n/d and σ²/d kept, their errors over those of d → ∞."""

from dataclasses import dataclass

import numpy as np

from icl.chapters.how_many_tasks.experiments import SIZES, budget, error_on_new, fits, scaled, short_prompts
from icl.estimates import Estimate, NotRun
from icl.parameters import Parameters
from icl.theory import how_many_tasks as theory

ENOUGH = 20  # fits that tell how far they spread


@dataclass(frozen=True)
class Ladder:
    """Errors of fits over those of the limit d → ∞, one row a size, one column a tau: means and standard errors.

    sizes (m,), lengths (m,) of the contexts, taus (k,), ratio and stderr (m, k).
    """

    sizes: np.ndarray
    lengths: np.ndarray
    taus: np.ndarray
    ratio: np.ndarray
    stderr: np.ndarray


def ladder(
    parameters: Parameters, taus: tuple[float, ...], stream, *, kappa=np.inf, ridge=0.0, share: float = 1.0
) -> Ladder:
    """Fits at every size of SIZES, `share` of the budget's, their errors on new tasks over the limit's.

    With finite `kappa` each fit draws round(kappa·d) tasks of its own; `stream(d)` is the generator of size d. Fewer
    fits than ENOUGH do not tell their own spread: it is taken from the size before, as it falls like 1/d.
    """
    means, errors = [], []
    counts = [(d, round(share * count)) for d, count in zip(SIZES, budget(parameters).fits, strict=True)]
    counts = [(d, count) for d, count in counts if count >= 2]  # one fit has no error
    for d, count in counts:
        n, sigma2 = scaled(parameters, d)
        K = None if np.isinf(kappa) else max(1, round(kappa * d))
        limits = [theory.limit(tau, n / d, K / d if K else np.inf, sigma2 / d, ridge)[0] for tau in taus]
        rng, draw, found = stream(d), short_prompts(d, n, sigma2), []
        for _ in range(count):
            tasks = None if K is None else rng.standard_normal((K, d))
            Gammas = fits(draw, [round(tau * d * d) for tau in taus], rng, tasks, ridge)
            found.append([error_on_new(Gamma, n, sigma2) for Gamma in Gammas] / np.array(limits))
        if len(found) >= ENOUGH or not errors:
            spread = d * np.std(found, 0, ddof=1)
        means.append(np.mean(found, 0))
        errors.append(spread / d / np.sqrt(len(found)))
    sizes = np.array([d for d, _ in counts])
    lengths = np.array([scaled(parameters, d)[0] for d in sizes])
    return Ladder(sizes, lengths, np.array(taus), np.array(means), np.array(errors))


def weighted_fit(basis: np.ndarray, values: np.ndarray, errors: np.ndarray) -> list[Estimate]:
    """Least squares of `values` (m,) with standard errors (m,) on the columns of `basis` (m, k): the coefficients."""
    A = basis / errors[:, None]
    covariance = np.linalg.inv(A.T @ A)
    means, spread = covariance @ A.T @ (values / errors), np.sqrt(np.diag(covariance))
    return [Estimate(float(mean), float(error), len(values)) for mean, error in zip(means, spread, strict=True)]


def exponent(found: Ladder, column: int) -> Estimate:
    """p of |ratio − 1| ∝ d^p, from a straight line through the logarithms."""
    above, errors = found.ratio[:, column] - 1, found.stderr[:, column]
    basis = np.stack([np.log(found.sizes), np.ones(len(found.sizes))], axis=1)
    return weighted_fit(basis, np.log(np.abs(above)), errors / np.abs(above))[0]


def coefficient(found: Ladder, column: int) -> Estimate:
    """c of ratio = 1 + c/d + c₂/d²."""
    basis = np.stack([1 / found.sizes, 1 / found.sizes**2], axis=1)
    return weighted_fit(basis, found.ratio[:, column] - 1, found.stderr[:, column])[0]


def at_infinity(found: Ladder, column: int) -> Estimate:
    """The ratio at d = ∞, from 1, 1/d and 1/d²."""
    basis = np.stack([1 / found.sizes**power for power in (0.0, 1.0, 2.0)], axis=1)
    return weighted_fit(basis, found.ratio[:, column], found.stderr[:, column])[0]


def task_averages(parameters: Parameters, kappa: float, stream) -> Ladder:
    """Exact error of endless prompts on new tasks over its limit's, for random sets of kappa·d tasks: one column."""
    count, rows = budget(parameters).tasks, []
    for d in SIZES:
        n, sigma2 = scaled(parameters, d)
        K, rng = max(1, round(kappa * d)), stream(d)
        limit = theory.endless_prompts(n / d, K / d, sigma2 / d)
        rows.append([_of_random_tasks(d, K, n, sigma2, rng) / limit for _ in range(count)])
    found, sizes = np.array(rows), np.array(SIZES)
    lengths = np.array([scaled(parameters, d)[0] for d in SIZES])
    errors = found.std(1, ddof=1) / np.sqrt(count)
    return Ladder(sizes, lengths, np.array([np.inf]), found.mean(1)[:, None], errors[:, None])


def _of_random_tasks(d, K, n, sigma2, rng) -> float:
    tasks = rng.standard_normal((K, d))
    return theory.errors_given(tasks.T @ tasks / K, n, sigma2, np.inf)[0]


def along_tasks(parameters: Parameters, kappas, rng: np.random.Generator, d: int = 24) -> dict[tuple, float]:
    """(d, K/d) → exact error on new tasks, endless prompts, mean over 40 random sets of K tasks."""
    n, sigma2 = scaled(parameters, d)
    counts = [max(1, round(kappa * d)) for kappa in kappas]
    mean = lambda K: float(np.mean([_of_random_tasks(d, K, n, sigma2, rng) for _ in range(40)]))
    return {(d, K / d): mean(K) for K in counts}


@dataclass(frozen=True)
class Climb:
    """The page's ladders by name, and what they say; for n < d, where corrections are of size 1/n, a reason instead."""

    parameters: Parameters
    ladders: dict[str, Ladder]

    def tends(self, name: str, column: int, limit: float) -> Estimate | NotRun:
        """The error at d = ∞, for a ladder whose ratios are to `limit`."""
        return self._unless_short(at_infinity(self.ladders[name], column) / (1 / limit))

    def coefficient(self, name: str, column: int) -> Estimate | NotRun:
        """See `coefficient`."""
        return self._unless_short(coefficient(self.ladders[name], column))

    def exponent(self, name: str, column: int) -> Estimate | NotRun:
        """See `exponent`."""
        return self._unless_short(exponent(self.ladders[name], column))

    def _unless_short(self, found: Estimate) -> Estimate | NotRun:
        short = self.parameters.n < self.parameters.d
        return NotRun("the ladder keeps n/d, and is climbed for n ≥ d") if short else found


def climb(parameters: Parameters, taus: tuple[float, ...], ridge: float, stream) -> Climb:
    """The page's ladders: endless tasks at `taus`, K = d/2, the same with a ridge, averages over sets of d/2 tasks."""
    of = lambda name: lambda d: stream(name, d)
    half = dict(kappa=0.5)
    return Climb(
        parameters,
        {
            "endless tasks": ladder(parameters, taus, of("endless tasks")),
            "few tasks": ladder(parameters, (2.0,), of("few tasks"), share=0.75, **half),
            "ridge": ladder(parameters, (1.0,), of("ridge"), ridge=ridge, share=0.5, **half),
            "sets of tasks": task_averages(parameters, 0.5, of("sets of tasks")),
        },
    )
