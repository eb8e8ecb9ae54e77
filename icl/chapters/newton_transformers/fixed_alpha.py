"""Chapter 6: the risk of Newton's method with one alpha for all prompts, exact and sampled where it explodes."""

import warnings
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.special import gammaln

from icl.chapters.newton_transformers.experiments import gram
from icl.estimates import Estimate, monte_carlo
from icl.solvers.iterations import newton_matrices
from icl.solvers.prefixes import StepSizeWarning
from icl.theory import newton as theory


@dataclass(frozen=True)
class FixedAlpha:
    """Risk over isotropic prompts after k = 0, …, K steps: arrays (K + 1,), and estimates with their errors."""

    mean: np.ndarray  # exact, one alpha for all
    median: np.ndarray  # of the sampled prompts, one alpha for all
    per_prompt: Estimate  # alpha = 1 / λ_max² of each prompt


def fixed_alpha_risks(d: int, n: int, sigma2: float, k: int, count: int, rng: np.random.Generator) -> FixedAlpha:
    """The three curves, from `count` random S; each prompt's risk with task, noise and query integrated out."""
    alpha = theory.whole_range_alpha(d, n)
    S = _random_gram(d, n, count, rng)
    fixed, adapted = (_risks(S, sigma2, k, choice) for choice in (np.full(count, alpha), None))
    mean = np.array([theory.mean_risk(d, n, sigma2, j, alpha) for j in range(k + 1)])
    spread = adapted.std(1, ddof=1) / np.sqrt(count)
    return FixedAlpha(mean, np.median(fixed, axis=1), Estimate(adapted.mean(1), spread, count))


def mean_risk_estimate(d: int, n: int, sigma2: float, k: int, count: int, rng: np.random.Generator) -> Estimate:
    """The mean risk after k steps at `whole_range_alpha`, by Monte Carlo that reaches the rare prompts on purpose.

    Prompts with alpha λ_max² ≤ 2 are drawn plainly. The others, which carry the mean once it explodes, are drawn with
    the first covariate stretched by s: such a draw has the weight s^n exp(−(1 − s^{−2}) S_11 / 2). Only draws whose top
    eigenvector q lies near that axis are kept, softly, by q_1^{2m} / E q_1^{2m}; its direction says nothing about the
    risk. s and m place the draws where risk times density is largest.
    """
    alpha, bound = theory.whole_range_alpha(d, n), np.sqrt(2 / theory.whole_range_alpha(d, n))
    aim = max(n + 2.0 ** (k + 3), bound)  # where λ^{n/2 + 2^{k+2}} e^{−λ/2} peaks, or the edge of the range
    stretch, tilt = np.sqrt(aim / n), 1 - n / aim
    m = round(tilt * aim / 2)
    log_norm = gammaln(m + 0.5) + gammaln(d / 2) - gammaln(0.5) - gammaln(m + d / 2)  # E q_1^{2m}, q uniform

    def plain(B):
        S = _random_gram(d, n, B, rng)
        inside = np.linalg.eigvalsh(S)[:, -1] <= bound
        risks = np.zeros(B)
        risks[inside] = _risks(S[inside], sigma2, k, np.full(inside.sum(), alpha))[-1]
        return risks

    def rare(B):
        S = _random_gram(d, n, B, rng)
        S[:, 0] *= stretch
        S[:, :, 0] *= stretch
        found, U = np.linalg.eigh(S)
        outside = found[:, -1] > bound
        S, q = S[outside], np.abs(U[outside, 0, -1])
        log_weight = n * np.log(stretch) - tilt * S[:, 0, 0] / 2 + 2 * m * np.log(np.maximum(q, 1e-300)) - log_norm
        values = np.zeros(B)
        values[outside] = np.exp(log_weight) * _risks(S, sigma2, k, np.full(len(S), alpha))[-1]
        return values

    parts = [monte_carlo(draw, count, chunk=2000) for draw in (plain, rare)]
    return Estimate(sum(part.mean for part in parts), float(np.hypot(*(part.stderr for part in parts))), count)


def _random_gram(d, n, B, rng):
    """B draws of X'X, X (n, d) standard normal, by Bartlett's triangular factor where n ≥ d."""
    if n < d:
        return gram(rng.standard_normal((B, n, d)))
    L = np.tril(rng.standard_normal((B, d, d)), -1)
    L[:, range(d), range(d)] = np.sqrt(rng.chisquare(n - np.arange(d), (B, d)))
    return L @ np.swapaxes(L, 1, 2)


def _risks(S, sigma2, k, alpha):
    """sigma2 + |I − M_j S|² + sigma2 tr(M_j S M_j) for j ≤ k, (k + 1, B): each prompt's risk, H = Psi = I."""
    if not len(S):
        return np.zeros((k + 1, 0))
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", StepSizeWarning)  # prompts out of range are the point
        return sigma2 + _bias_and_variance(S, sigma2, list(islice(newton_matrices(S, alpha), k + 1)))


def _bias_and_variance(S, sigma2, matrices):
    bias = [((np.eye(S.shape[1]) - M @ S) ** 2).sum((1, 2)) for M in matrices]
    variance = [np.einsum("bij,bij->b", M @ S, M) for M in matrices]
    return np.array(bias) + sigma2 * np.array(variance)
