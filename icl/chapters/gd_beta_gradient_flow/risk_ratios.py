"""Chapter 5: how far GD-β is from the Bayes risk, averaged over contexts, and under a power law."""

from dataclasses import dataclass

import numpy as np

from icl.estimates import Estimate, monte_carlo
from icl.prompts import PromptLaw
from icl.theory import bayes_risk, gd_beta


@dataclass(frozen=True)
class ContextRisks:
    """Excess over sigma2 of the optimal GD-β and of the Bayes predictor, averaged over draws of X only."""

    gd_beta: Estimate
    bayes: Estimate


def context_risks(law: PromptLaw, draws: int, rng: np.random.Generator) -> ContextRisks:
    """Monte Carlo over X; the task, the label noise and the query are integrated out given X."""
    H, Psi, n, sigma2, root = law.H, law.Psi, law.n, law.sigma2, law.roots[1]
    Gamma, weighted = gd_beta.optimal_gamma(law), root @ H @ root

    def draw(B):
        X = rng.standard_normal((B, n, law.d)) @ law.roots[0]
        S = X.swapaxes(1, 2) @ X
        miss = Gamma @ S / n - np.eye(law.d)
        step = np.einsum("ij,bjk,kl,bil->b", H, miss, Psi, miss, optimize=True)
        step += sigma2 / n**2 * np.einsum("ij,bij->b", Gamma.T @ H @ Gamma, S)
        return np.stack([step, _posterior_variance(root @ S @ root, weighted, sigma2)], axis=1)

    found = monte_carlo(draw, draws, chunk=max(2, 2_000_000 // (n * law.d)))
    return ContextRisks(*(Estimate(float(found.mean[k]), float(found.stderr[k]), draws) for k in (0, 1)))


def _posterior_variance(M, weighted, sigma2):
    """tr(weighted (I + M/sigma2)^{-1}), (B,): what remains of the prior variance; without noise the unseen part."""
    identity = np.eye(M.shape[-1])
    if sigma2 > 0:
        left = np.linalg.solve(sigma2 * identity + M, np.broadcast_to(sigma2 * weighted, M.shape))
    else:
        left = (identity - np.linalg.pinv(M, rcond=1e-10, hermitian=True) @ M) @ weighted
    return np.trace(left, axis1=1, axis2=2)


RATE_LENGTHS = np.array([10, 32, 100, 316, 1000])


def power_law(n: int, *, d: int = 200, sigma2: float = 1.0) -> PromptLaw:
    """Eigenvalues φ_i = 1/i², i ≤ d: the worked example of Corollary 6.2."""
    return PromptLaw(n, np.eye(d), np.diag(np.arange(1.0, d + 1) ** -2), np.zeros(d), sigma2)


def power_law_risks(draws: int, rng: np.random.Generator) -> list[ContextRisks]:
    """Excess risks under the power law at every context length of RATE_LENGTHS."""
    return [context_risks(power_law(int(n)), draws, rng) for n in RATE_LENGTHS]


def log_slope(values: list[Estimate], at) -> Estimate:
    """Least-squares slope of log mean against log `at`, with its standard error."""
    x = np.log(at) - np.log(at).mean()
    weights = x / (x @ x)
    means, errors = (np.array([getattr(value, part) for value in values]) for part in ("mean", "stderr"))
    slope, error = weights @ np.log(means), np.sqrt(((weights * errors / means) ** 2).sum())
    return Estimate(float(slope), float(error), len(values))


def snr_ratio(sigma2: float, d: int = 8, n: int = 8) -> float:
    """Risk of the optimal GD-β over the Bayes risk, both exact, at H = Psi = I."""
    return gd_beta.minimal_risk(PromptLaw.isotropic(d, n, sigma2)) / bayes_risk.isotropic_bayes_risk(d, n, sigma2)
