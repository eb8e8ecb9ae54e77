"""Chapter 2's experiments: the preconditioner that training finds, what it buys, and when it misleads."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.effective import EffectiveParameters
from icl.parameters import Parameters
from icl.prompts import PromptLaw, Prompts, conditioned_covariance
from icl.search import OPEN, SCREENED, Restarts, descents
from icl.theory import moments

SHORT = 1e-3  # of what can be learned, may an end miss that is said to have reached the bottom


def covariance(parameters: Parameters, rotation: int) -> np.ndarray:
    """The chapter's H (d, d); its axes are drawn from `rotation`, the same for every condition number."""
    return conditioned_covariance(parameters.d, parameters.condition, np.random.default_rng(rotation))


def with_prior(H: np.ndarray, Psi: np.ndarray, parameters: Parameters) -> PromptLaw:
    """Prompts with x ~ N(0, H), w ~ N(0, Psi) and the chapter's n and sigma2."""
    return PromptLaw(parameters.n, H, Psi, np.zeros(len(H)), parameters.sigma2)


def random_prior(d: int, rng: np.random.Generator) -> np.ndarray:
    """A task covariance Psi (d, d) of full rank and mean eigenvalue 1, with axes unrelated to H's."""
    return conditioned_covariance(d, 10.0, rng) * d / np.geomspace(1, 0.1, d).sum()


def without_directions(matrix: np.ndarray, count: int) -> np.ndarray:
    """The PSD `matrix` (d, d) with its `count` smallest eigenvalues set to 0."""
    eigenvalues, Q = np.linalg.eigh(matrix)
    eigenvalues[:count] = 0
    return (Q * eigenvalues) @ Q.T


def turned(H: np.ndarray, angle: float) -> np.ndarray:
    """H (d, d) rotated by `angle` in the plane of its largest and its smallest principal axis; d = 1 stays as it is."""
    eigenvalues, Q = np.linalg.eigh(H)
    if len(H) > 1:
        low, high = Q[:, 0].copy(), Q[:, -1].copy()
        Q[:, 0] = np.cos(angle) * low - np.sin(angle) * high
        Q[:, -1] = np.sin(angle) * low + np.cos(angle) * high
    return (Q * eigenvalues) @ Q.T


def descend(law: PromptLaw, rng: np.random.Generator, count: int = 2) -> EffectiveParameters:
    """The best of `count` finished L-BFGS runs on the exact risk over all weights, each from an open label path.

    Of SCREENED times as many starts the lowest after a few iterations: an open path makes false valleys rare.
    """
    return descents(law, [dict(count=count, screened=SCREENED, **OPEN)], rng).best


def reached(law: PromptLaw, ends: Restarts, least: float) -> list[EffectiveParameters]:
    """The weights of those `ends` that reached the `least` risk, which were seen to take all that can be learned.

    Where noise is a million times what can be learned, a false valley lies within rounding's reach of the least risk.
    """
    nothing = moments.tau(law)
    learned = nothing - ends.risks >= (1 - SHORT) * (nothing - least)
    return [ends.weights[k] for k in np.flatnonzero(ends.reached(least) & learned)]


def nothing_to_learn(d: int) -> NotRun | None:
    """Why nothing can be measured in d = 1 dimension once a direction is taken away, or None."""
    return NotRun("d = 1: without its one direction there is nothing to learn") if d == 1 else None


def over_prompts(
    statistic: Callable[[Prompts], np.ndarray], law: PromptLaw, count: int, rng: np.random.Generator
) -> Estimate:
    """Mean of `statistic`, (B,) numbers for a batch of B prompts, over `count` fresh prompts of `law`."""
    return monte_carlo(lambda B: statistic(law.sample(rng, B)), count, chunk=max(100, 2_000_000 // (law.n * law.d)))


def squared_size(batches: np.ndarray, unit: np.ndarray) -> Estimate:
    """|E D|² / |unit|² for the matrix whose means over independent batches are `batches`, (K, d, d); K ≥ 3.

    Products of different batches only, so that noise adds nothing: the mean is 0 where E D = 0, and every entry of D
    counts. The error is that of a U-statistic (Hoeffding 1948): Hájek's part beside the part that remains at E D = 0.
    """
    K, D = len(batches), np.reshape(batches, (len(batches), -1)) / np.linalg.norm(unit)
    others = ~np.eye(K, dtype=bool)
    products, centred = D @ D.T, (D - D.mean(0)) @ (D - D.mean(0)).T
    noise = (centred[others] ** 2).sum() / (K * (K - 1)) ** 2
    towards = np.where(others, products, 0).sum(1) / (K - 1)  # each batch against the mean of the others
    variance = 2 * noise + max(0.0, 4 * towards.var(ddof=1) / K - 4 * noise)
    return Estimate(float(products[others].mean()), float(np.sqrt(variance)), K)


@dataclass(frozen=True)
class Stability:
    """Over random prompts, for Theorem 2's step: eta* lambda_max / 2, its mean, and the share above 1."""

    ratios: np.ndarray
    mean: Estimate
    unstable: Estimate


def stability(d: int, n: int, eta: float, prompts: int, rng: np.random.Generator) -> Stability:
    """lambda_max of Z'Z, the whitened Hessian of the prompt's own loss, against the step `eta`."""
    largest = np.empty(prompts)
    for k in range(0, prompts, 500):
        Z = rng.standard_normal((min(500, prompts - k), n, d))
        gram = Z @ np.swapaxes(Z, 1, 2) if n < d else np.swapaxes(Z, 1, 2) @ Z
        largest[k : k + 500] = np.linalg.eigvalsh(gram)[:, -1]
    ratios = eta * largest / 2
    mean = Estimate(float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(prompts)), prompts)
    above = float((ratios > 1).mean())
    return Stability(
        ratios, mean, Estimate(above, float(np.sqrt(max(above * (1 - above), 1 / prompts) / prompts)), prompts)
    )
