r"""Theorem 5.2 of Zhang, Wu and Bartlett (2024): the risk of GD-β and everything that minimises it.

GD-β takes one preconditioned gradient step from a learned start,

    f = <beta − (1/n) Gamma X'(X beta − y), x_query>,     beta (d,), Gamma (d, d).

With b = beta − beta_star, A = Psi + bb' and the moments of `moments` its risk E (f − y_query)² is the
polynomial (6.1). Completing the square in G = H^{1/2} Gamma H^{1/2} gives all minimisers at once, for
singular H and Psi too. Every function takes stacks of (beta, Gamma) along leading axes. Equation numbers
(6.1), (6.2) count this book's derivation; the paper may insert a factor ½, which could not be restored.
"""

from dataclasses import replace

import numpy as np

from icl.prompts import PromptLaw
from icl.theory import moments
from icl.validation import check_arrays, check_count


def risk(law: PromptLaw, beta, Gamma):
    """R(beta, Gamma), no factor ½ and with the query's noise: (...,) for beta (..., d), Gamma (..., d, d).

    Raises InputError for wrong shapes or entries that are not finite.
    """
    b, Gamma = offsets(law, beta, Gamma)
    HAH, N, weight = second_moments(law, b)
    step = -2 * (Gamma * HAH).sum((-2, -1)) + ((law.H @ Gamma @ N) * Gamma).sum((-2, -1))
    return law.sigma2 + weight + step  # eq. (6.1)


def excess(law: PromptLaw, beta, Gamma):
    """R(beta, Gamma) − R*, (...,): the completed square (6.2), a sum of two non-negative parts."""
    return sum(excess_parts(law, beta, Gamma))


def excess_parts(law: PromptLaw, beta, Gamma):
    """The parts of the excess, each (...,): b'P(Gamma)b of the start, tr[(G − G*) Omega (G − G*)'] of the step."""
    b, Gamma = offsets(law, beta, Gamma)
    of_start = np.einsum("...i,...ij,...j->...", b, curvature(law, Gamma), b)
    root, Omega = law.roots[0], moments.omega(law)
    Phi = moments.phi(law)
    off = root @ Gamma @ root - np.linalg.solve(Omega, Phi)  # G − G*; Omega and Phi commute
    return of_start, ((off @ Omega) * off).sum((-2, -1))  # eq. (6.2)


def curvature(law: PromptLaw, Gamma) -> np.ndarray:
    """P(Gamma), (..., d, d): half the Hessian of the risk in beta, never below 2/(n+2) H."""
    root, n, identity = law.roots[0], law.n, np.eye(law.d)
    G = root @ check_arrays("Gamma", Gamma, (law.d, law.d)) @ root
    rest = identity - G
    inner = rest.swapaxes(-1, -2) @ rest + G.swapaxes(-1, -2) @ G / n
    return root @ (inner + (G**2).sum((-2, -1))[..., None, None] / n * identity) @ root  # eq. (6.2)


def optimal_gamma(law: PromptLaw) -> np.ndarray:
    """Gamma* = Psi ((n+1)/n H Psi + tau/n I)^{-1}, (d, d): Theorem 5.2, valid for singular H and Psi.

    Differs from the paper's Psi H^{1/2} Omega^{-1} H^{-1/2} only where H cannot see it; symmetric for H > 0.
    """
    n, HPsi = law.n, law.H @ law.Psi
    inflated = (n + 1) / n * HPsi + moments.tau(law) / n * np.eye(law.d)
    return np.linalg.solve(inflated.T, law.Psi).T  # Theorem 5.2


def minimal_risk(law: PromptLaw) -> float:
    """R* = sigma2 + Σ φ_i (φ_i + tau) / ((n+1) φ_i + tau): Theorem 5.2 and, for the block, eq. (5.2)."""
    phi, tau = spectrum(law), moments.tau(law)
    return law.sigma2 + float((phi * (phi + tau) / ((law.n + 1) * phi + tau)).sum())  # eq. (5.2)


def spectrum(law: PromptLaw) -> np.ndarray:
    """Eigenvalues φ_1 ≥ … ≥ φ_d ≥ 0 of Phi, (d,)."""
    return np.clip(np.linalg.eigvalsh(moments.phi(law))[::-1], 0, None)


def range_projector(law: PromptLaw) -> np.ndarray:
    """Orthogonal projector on the range of H, (d, d): the directions in which covariates vary."""
    h, U = np.linalg.eigh(law.H)
    seen = U[:, h > 1e-10 * h[-1]]
    return seen @ seen.T


def distance_from_minimisers(law: PromptLaw, beta, Gamma, *, target=None, seen=None):
    """How far (beta, Gamma) is from the minimisers beta_star + Null H, Gamma* + {Δ: HΔH = 0}: (...,), relative.

    The larger of |Π b| / max(1, |Π beta_star|) and |Π (Gamma − Gamma*) Π| / |Π Gamma* Π|, Π the projector on the range
    of H. Another `target` (d, d) may stand for Gamma*, another matrix `seen` for Π.
    """
    b, Gamma = offsets(law, beta, Gamma)
    Pi = range_projector(law) if seen is None else seen
    size = lambda matrix: np.sqrt((matrix**2).sum((-2, -1)))
    target = Pi @ (optimal_gamma(law) if target is None else target) @ Pi
    start = np.linalg.norm(b @ Pi, axis=-1) / max(1.0, np.linalg.norm(Pi @ law.beta_star))
    return np.maximum(start, size(Pi @ Gamma @ Pi - target) / max(size(target), np.finfo(float).tiny))


def at_length(law: PromptLaw, n: int) -> PromptLaw:
    """The same prompts with n examples: evaluate `risk` there to see a trained (beta, Gamma) at another length."""
    return replace(law, n=check_count("n", n))


def offsets(law: PromptLaw, beta, Gamma):
    """b = beta − beta_star and Gamma as checked arrays, (..., d) and (..., d, d)."""
    d = law.d
    return check_arrays("beta", beta, (d,)) - law.beta_star, check_arrays("Gamma", Gamma, (d, d))


def second_moments(law: PromptLaw, b: np.ndarray):
    """HAH and N = (n+1)/n HAH + (tr(HA) + sigma2)/n H, (..., d, d), and tr(HA), (...,), with A = Psi + bb'."""
    H, n = law.H, law.n
    Hb = b @ H
    HAH = H @ law.Psi @ H + Hb[..., :, None] * Hb[..., None, :]
    weight = np.trace(H @ law.Psi) + (b * Hb).sum(-1)
    return HAH, (n + 1) / n * HAH + ((weight + law.sigma2) / n)[..., None, None] * H, weight
