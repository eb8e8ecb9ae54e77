"""Tasks that are not Gaussian, and the best preconditioner found by regression, with no formula in between."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.estimates import Estimate
from icl.prompts import PromptLaw, Prompts
from icl.search import Sampler
from icl.solvers.linear import gradient_step
from icl.theory import preconditioned_gd as theory


@dataclass(frozen=True)
class OtherTasks:
    """Prompts whose x and noise are `law`'s, but whose task vectors come from `draw(rng, B)`, (B, d)."""

    law: PromptLaw
    draw: Callable[[np.random.Generator, int], np.ndarray]

    @property
    def d(self) -> int:
        """Number of covariates."""
        return self.law.d

    @property
    def n(self) -> int:
        """Context length."""
        return self.law.n

    def sample(self, rng: np.random.Generator, B: int) -> Prompts:
        """B prompts: those of `law`, relabelled."""
        old, beta = self.law.sample(rng, B), self.draw(rng, B)
        change = beta - old.beta
        y = old.y + np.einsum("bnd,bd->bn", old.X, change)
        return Prompts(old.X, y, old.x_query, old.y_query + (old.x_query * change).sum(1), beta)


def sparse_tasks(law: PromptLaw) -> OtherTasks:
    """One coordinate, drawn at random, is ±√d and all others are 0: E ww' = I."""

    def draw(rng, B):
        beta = np.zeros((B, law.d))
        beta[np.arange(B), rng.integers(law.d, size=B)] = np.sqrt(law.d) * rng.choice([-1.0, 1.0], B)
        return beta

    return OtherTasks(law, draw)


def rademacher_tasks(law: PromptLaw) -> OtherTasks:
    """Every coordinate is ±1: E ww' = I."""
    return OtherTasks(law, lambda rng, B: rng.choice([-1.0, 1.0], (B, law.d)))


@dataclass(frozen=True)
class Regression:
    """The best preconditioner found by regressing tasks on gradients: (d, d) with errors, and two summaries.

    `ratio` is tr(Gamma P^{-1}) / d against a prediction P; `risk` is the mean of Gamma's on the prompts that made it
    and on as many others: the one is as much below the least risk as the other above it, up to 1/prompts².
    """

    Gamma: Estimate
    ratio: Estimate
    risk: Estimate


def best_matrix(sampler: Sampler, law: PromptLaw, prompts: int, rng: np.random.Generator) -> Regression:
    """Gamma minimising E|Gamma X'y/n − w|²_H over `prompts` draws of `sampler`, beside `law`'s prediction.

    Errors are those of linear regression with heteroscedastic residuals (White's), no normality assumed.
    """
    m, w = _gradients_and_tasks(sampler, prompts, rng)
    gram_inverse = np.linalg.inv(m.T @ m / prompts)
    Gamma = (w.T @ m / prompts) @ gram_inverse
    residual, leverage = w - m @ Gamma.T, m @ gram_inverse
    errors = np.sqrt((residual**2).T @ leverage**2) / prompts
    P_inverse = np.linalg.inv(theory.preconditioner(law))
    influence = ((leverage @ P_inverse) * residual).sum(1) / law.d  # of tr(Gamma P^{-1}) / d
    ratio = Estimate(float(np.trace(Gamma @ P_inverse)) / law.d, float(influence.std() / np.sqrt(prompts)), prompts)
    m, w = _gradients_and_tasks(sampler, prompts, rng)
    fitted, others = (((miss @ law.H) * miss).sum(1) + law.sigma2 for miss in (residual, w - m @ Gamma.T))
    error = np.sqrt((fitted.var(ddof=1) + others.var(ddof=1)) / prompts) / 2
    risk = Estimate(float(fitted.mean() + others.mean()) / 2, float(error), 2 * prompts)
    return Regression(Estimate(Gamma, errors, prompts), ratio, risk)


def _gradients_and_tasks(sampler, prompts, rng, *, chunk=20_000):
    chunk = max(100, min(chunk, 2_000_000 // (sampler.n * sampler.d)))
    parts = [sampler.sample(rng, min(chunk, prompts - first)) for first in range(0, prompts, chunk)]
    gradients = [gradient_step(part.X, part.y, 1 / sampler.n) for part in parts]
    return np.concatenate(gradients), np.concatenate([part.beta for part in parts])


def plain_gd_by_regression(law: PromptLaw, prompts: int, rng: np.random.Generator) -> tuple[Estimate, Estimate]:
    """(eta, risk): the best single number in front of x'X'y, by regression on one half of the prompts.

    The risk is measured on the other half.
    """
    half = prompts // 2
    m, w = _gradients_and_tasks(law, half, rng)
    m *= law.n
    cross, square = ((w @ law.H) * m).sum(1), ((m @ law.H) * m).sum(1)
    eta = cross.mean() / square.mean()
    error = (cross - eta * square).std() / square.mean() / np.sqrt(half)
    m, w = _gradients_and_tasks(law, half, rng)
    miss = w - eta * law.n * m
    losses = ((miss @ law.H) * miss).sum(1) + law.sigma2
    risk = Estimate(float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(half)), half)
    return Estimate(float(eta), float(error), half), risk


def further_off(estimates: list[Estimate], predicted: float) -> Estimate:
    """The estimate that is furthest from `predicted` in its own standard errors."""
    return max(estimates, key=lambda estimate: abs(estimate.mean - predicted) / estimate.stderr)
