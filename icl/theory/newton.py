r"""Newton's iteration for the pseudo-inverse of S = X'X, on each eigenvalue in closed form.

    M_0 = alpha S,   M_{k+1} = 2 M_k − M_k S M_k,   w_k = M_k X'y         (Fu et al. 2024, §3.1 and eq. 10)

I − M_{k+1} S = (I − M_k S)², so I − M_k S = (I − alpha S²)^{2^k}, which tends to 0 on the range of S exactly for
0 < alpha < 2 / λ_max². The paper prints alpha = 2 / |S S'|_2, the excluded end point. The number of steps to a given
accuracy and the mean risk at a fixed alpha follow; chapter 6 shows the expansion and the identities itself.
"""

from math import ceil, log
from numbers import Real

import numpy as np

from icl.theory.wishart import spectral_measure
from icl.validation import InputError, check_count, check_nonnegative

LARGEST_KAPPA = 1e150


def residual(eigenvalues, k: int, alpha) -> np.ndarray:
    """(1 − alpha λ²)^{2^k}: I − M_k S on eigenvalues λ ≥ 0 (any shape); alpha ≥ 0 broadcasts. This book.

    Raises InputError for k < 0.
    """
    k = check_count("k", k, least=0)
    x = np.asarray(alpha, dtype=float) * np.asarray(eigenvalues, dtype=float) ** 2
    with np.errstate(divide="ignore", over="ignore"):  # residual 0 has the logarithm −inf; far out of range it is +inf
        size = np.exp(2.0**k * np.where(x < 1, np.log1p(-np.minimum(x, 1)), np.log(np.abs(x - 1))))
    return np.where(x > 1, -size, size) if k == 0 else size


def gd_residual(eigenvalues, steps: int, eta) -> np.ndarray:
    """(1 − eta λ)^steps: the same for gradient descent w ← w − eta (S w − X'y) (Fu et al. 2024, eq. 11)."""
    steps = check_count("steps", steps, least=0)
    return (1 - np.asarray(eta, dtype=float) * np.asarray(eigenvalues, dtype=float)) ** steps


def steps_to_eps(kappa: float, eps: float) -> int:
    """Newton steps after which the relative residual is at most eps, in the worst direction.

    alpha = 1 / λ_max²: the least k with (1 − 1/kappa²)^{2^k} ≤ eps, about 2 log₂ kappa + log₂ ln(1/eps). kappa ≥ 1 is
    λ_max / λ_min of S, at most 1e150, 0 < eps < 1; else InputError. Constants of this book; rate of Fu et al. (2024),
    §3.1.
    """
    kappa, eps = _check_accuracy(kappa, eps)
    if kappa == 1:
        return 0
    return max(0, ceil(log(-log(eps) / -np.log1p(-(kappa**-2)), 2)))


def gd_steps_to_eps(kappa: float, eps: float) -> int:
    """The same for gradient descent with its best constant step 2 / (λ_max + λ_min).

    The least s with ((kappa − 1)/(kappa + 1))^s ≤ eps, about kappa/2 · ln(1/eps). Raises InputError as above.
    """
    kappa, eps = _check_accuracy(kappa, eps)
    if kappa == 1:
        return 1
    return ceil(-log(eps) / (2 * np.arctanh(1 / kappa)))  # log((kappa + 1)/(kappa − 1)) = 2 artanh(1/kappa)


def whole_range_alpha(d: int, n: int) -> float:
    """(√n + √d)^{−4}: about 1 / λ_max² of a typical S for x ~ N(0, I), one number for all prompts. This book."""
    return (np.sqrt(check_count("n", n)) + np.sqrt(check_count("d", d))) ** -4.0


def mean_risk(d: int, n: int, sigma2: float, k: int, alpha: float) -> float:
    """E (x'w_k − y)² after k Newton steps with one alpha for all prompts; H = Psi = I, label noise included.

    With e = 1 − (1 − alpha λ²)^{2^k} = λ q(λ): sigma2 + d − min(n, d) + E Σ_i [(1 − e)² + sigma2 e²/λ_i] over the
    positive eigenvalues of S, by quadrature. e has degree 2^{k+1} in λ, and rare large λ dominate from some k on.
    alpha > 0, k ≥ 0, else InputError; infinite where a term is beyond float64. This book.
    """
    if check_nonnegative("alpha", alpha) == 0:
        raise InputError("alpha must be above 0: with alpha = 0 Newton's iteration never leaves 0.")
    sigma2, k = check_nonnegative("sigma2", sigma2), check_count("k", k, least=0)
    eigenvalues, weights = spectral_measure(d, n, degree=2 ** (k + 2))
    left = residual(eigenvalues, k, alpha)
    with np.errstate(over="ignore"):
        squares = left**2
        if not np.isfinite(squares).all():
            return float("inf")
        terms = squares + sigma2 * (1 - left) ** 2 / eigenvalues
    return float(sigma2 + d - min(n, d) + weights @ terms)


def _check_accuracy(kappa, eps):
    if isinstance(kappa, Real) and kappa < 1:
        raise InputError(f"kappa must be at least 1, not {kappa:g}: it is the largest over the least eigenvalue of S.")
    kappa, eps = check_nonnegative("kappa", kappa), check_nonnegative("eps", eps)
    if kappa > LARGEST_KAPPA:
        raise InputError(f"kappa must be at most {LARGEST_KAPPA:g}, not {kappa:g}: float64 does not hold its square.")
    if not 0 < eps < 1:
        raise InputError(f"eps must lie strictly between 0 and 1, not {eps:g}.")
    return kappa, eps
