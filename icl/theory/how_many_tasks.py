r"""Linear attention fitted to finitely many prompts of finitely many tasks: what it costs on seen and on new tasks.

x ~ N(0, I_d), noise sigma2, prompts with n examples, P of them, their tasks drawn from K vectors of N(0, I_d) or, for
K = ∞, ever new. The answer x'Γg with g = X'y/n is linear in Γ: fitting is (ridge) regression on d² features x ⊗ g.

Lu, Letey, Zavatone-Veth, Maiti and Pehlevan (2025) take d → ∞ with alpha = n/d, kappa = K/d, tau = P/d² and
rho = sigma2/d fixed; errors are per dimension, risk/d. Their limit is derived here by deterministic equivalents, which
treat features as if they were Gaussian with the right second moment; the first correction in 1/d is this book's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from icl.validation import InputError, check_nonnegative


def resolvent(s: float, kappa: float) -> tuple[float, float]:
    """M = tr (R + s)⁻¹ / d and D = tr (R + s)⁻² / d, scalars, for kappa·d Gaussian tasks, R = (1/K) Σ ww', d → ∞.

    M is the positive root of M (s + 1/(1 + M/kappa)) = 1 (Marchenko and Pastur 1967; M_κ of Lu et al. 2025) and D is
    −dM/ds. s > 0; kappa > 0, and with kappa = ∞, R = I.
    """
    shift = s + 1 - 1 / kappa
    M = 2 / (shift + math.sqrt(shift**2 + 4 * s / kappa))
    return M, M**2 / (1 - M**2 / kappa / (1 + M / kappa) ** 2)


def limit(tau: float, alpha: float, kappa: float, rho: float, ridge: float = 0.0) -> tuple[float, float]:
    """(new, seen): errors per dimension on new tasks and on those of the prompts, d → ∞, by deterministic equivalents.

    The fit minimises Σ (y − x'Γg)² + P·ridge·|Γ|². alpha > 0 is finite; kappa and tau may be ∞; without ridge and at
    tau = 1 both errors are ∞. This book's derivation; without ridge it is Result 1 of Lu et al. (2025).
    """
    q = (1 + rho) / alpha  # E gg' is R + q on the prompts' tasks, 1 + q on new ones
    k = effective_ridge(lambda k: 1 - k * resolvent(q + k, kappa)[0], 1 + q, tau, check_nonnegative("ridge", ridge))
    s = q + k
    M, D = resolvent(s, kappa)
    gain, gain2 = 1 - s * M, 1 - 2 * s * M + s**2 * D  # traces of the mean Γ = R (R + s)⁻¹ and of its square
    lost = (1 - 2 * k * M + k**2 * D) / tau
    if lost >= 1:
        return math.inf, math.inf
    left = 1 - s + s**2 * M  # tr ΓR / d
    seen = (rho + 1 - left - k * gain2) / (1 - lost)
    return rho + 1 - 2 * gain + (1 + q) * (gain2 + (M - k * D) * seen / tau), seen


def errors_given(R: np.ndarray, n: int, sigma2: float, tau: float, ridge: float = 0.0) -> tuple[float, float]:
    """`limit` for given tasks with second moment R (d, d), and with the exact moments of that d and n. This book."""
    d, r = len(R), np.linalg.eigvalsh(R)
    B = (n + 1) / n * r + (r.sum() + sigma2) / n  # of E gg', on the prompts' tasks
    new = (n + 1 + d + sigma2) / n
    k = effective_ridge(lambda k: (B / (B + k)).mean(), B.mean(), tau, check_nonnegative("ridge", ridge))
    gain, lost = r / (B + k), ((B / (B + k)) ** 2).mean() / tau
    if lost >= 1:
        return math.inf, math.inf
    seen = ((r - 2 * gain * r + gain**2 * B).mean() + sigma2 / d) / (1 - lost)
    spread = (B / (B + k) ** 2).mean() * seen / tau
    return sigma2 / d + (1 - 2 * gain + gain**2 * new).mean() + new * spread, seen


def effective_ridge(df: Callable[[float], float], mean: float, tau: float, ridge: float) -> float:
    """k ≥ ridge with k = ridge + k·df(k)/tau, a scalar: what few prompts add to a ridge. Lu et al. (2025), λ̃.

    df(k) = Σ B/(B + k) / d falls from 1, and k·df(k) ≤ `mean`, that of the eigenvalues B.
    """
    if math.isinf(tau) or (ridge == 0 and tau >= 1):
        return ridge
    most = ridge + mean / tau
    if ridge == 0:
        return brentq(lambda k: df(k) - tau, 0.0, most, xtol=1e-15, rtol=1e-14)
    return brentq(lambda k: k - ridge - k * df(k) / tau, ridge, most, xtol=1e-15, rtol=1e-14)


def endless_prompts(alpha: float, kappa: float, rho: float) -> float:
    """`limit` on new tasks for tau = ∞; alpha may be ∞, where it is rho + (1 − kappa)₊. Lu et al. (2025)."""
    return rho + max(0.0, 1 - kappa) if math.isinf(alpha) else limit(math.inf, alpha, kappa, rho)[0]


def printed(tau: float, alpha: float, kappa: float, rho: float, of_prompts: bool = True) -> float:
    """The error on new tasks, without ridge, as Lu et al. (2025) print it in Result 1; kappa finite, tau ≠ 1.

    Below tau = 1 it has M_{kappa/tau} in it; without `of_prompts`, a slip, M_kappa.
    """
    q = (1 + rho) / alpha
    m = resolvent(q, kappa)[0]
    if tau < 1:
        mu = q * resolvent(q, kappa / tau if of_prompts else kappa)[0]
        inner = 1 - tau * (1 - mu) ** 2 - (q - rho) / q * mu
        return tau * (1 + q) / (1 - tau) * inner - 2 * tau * (1 - mu) + rho + 1
    k = 1 / (1 - kappa * (m / (kappa + m)) ** 2)
    squares = (k - 1 / (tau - 1)) * (1 + q) * (q * m) ** 2 + (3 - 2 * tau) / (tau - 1) * m * q**2
    return squares + ((1 + rho) / (tau - 1) * m + 1) * q + rho * m / (tau - 1) + rho


def descent(tau: float, alpha: float, rho: float) -> float:
    """`limit` for endless tasks without ridge, on new tasks: tau/(tau − 1) times the least error above tau = 1."""
    gain = 1 / (1 + (1 + rho) / alpha)
    if tau > 1:
        return (1 + rho - gain) * tau / (tau - 1)
    return math.inf if tau == 1 else (1 + rho - tau * (2 - tau) * gain) / (1 - tau)


@dataclass(frozen=True)
class Lengths:
    """d times Var s and Cov(s, ξ²)/E ξ², and those of the moments' own drift, to leading order in 1/d.

    s = |x|²|g|² / E is a feature vector's squared length, ξ the label's error at the best Γ.
    """

    variance: float
    covariance: float
    moments: float


def lengths(alpha: float, rho: float) -> Lengths:
    """The three numbers behind `first_correction`, for endless tasks; this book.

    |x|² contributes 2/d to Var s. The rest is linear in five independent fluctuations: of |w|², of |z|² and of the
    noise along z (z the examples along w), of the noise's length, and of the sum's part across w.
    """
    b = 1 + (1 + rho) / alpha
    size = np.array([2, 2 / alpha, rho / alpha, 2 / alpha, 2])  # d times the variances of the five
    of_g = np.array([1 + 1 / alpha, 2 + 1 / alpha, 2 + 2 / alpha, rho / alpha, (1 + rho) / alpha])
    of_miss = np.array([1, 0, 0, 0, 0]) - 2 / b * np.array([1, 1, 1, 0, 0]) + of_g / b**2
    least = 1 + rho - 1 / b
    across = (2 * (1 - 1 / b) + (size * of_miss * of_g).sum() / b) / least
    return Lengths(2 + (size * of_g**2).sum() / b**2, across, 1 / (alpha * b**2 * least))


def at_dimension(d: int, tau: float, alpha: float, rho: float) -> float:
    """`descent` with its first correction, for d dimensions; this book. Raises InputError for tau ≤ 1."""
    return descent(tau, alpha, rho) * (1 + first_correction(tau, alpha, rho) / d)


def first_correction(tau: float, alpha: float, rho: float) -> float:
    """c with error(d) = descent(tau) · (1 + c/d + O(1/d²)), endless tasks, tau > 1, no ridge; this book.

    Raises InputError for tau ≤ 1.
    """
    if not tau > 1:
        raise InputError(f"the correction is derived for more prompts than features: tau > 1, not {tau!r}.")
    found = lengths(alpha, rho)
    return found.moments + (found.variance / tau + found.covariance * (1 - 2 / tau)) / tau
