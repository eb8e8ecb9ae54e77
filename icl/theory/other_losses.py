r"""The best step of linear attention under the absolute loss and under cross-entropy: one number each. This book.

Setting: H = I, w ~ N(0, I). By the symmetry argument of Theorem 1 (Mahankali et al. 2024) every convex loss leaves
plain gradient descent, ŷ = eta x'X'y, and is a convex function of eta alone. Given the examples the query is Gaussian,
and with rho = |w| all that is left are one-dimensional laws, summed over nodes: nothing is sampled.
"""

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.special import expit

from icl.theory.chi_nodes import chi_nodes
from icl.validation import check_count, check_nonnegative

_S = np.exp(np.arange(-40.0, 40.0, 0.4))  # of √Q = ∫ (1 − e^{−sQ}) s^{−3/2} ds / (2√π)
_FINER = 3.0  # |eta along − rho| has a kink
_FAR = 40.0  # from there on F is its asymptote
_WAVES = 9.0  # how far the characteristic function of a sum is followed, over its standard deviation


def absolute_loss(eta: float, d: int, n: int, sigma2: float) -> float:
    """E |eta x'X'y − y_query| = √(2/π) E √Q, Q = sigma2 + |eta X'y − w|², the query being Gaussian given the examples.

    Given rho and Y = |y|² = (rho² + sigma2) χ²_n the component of X'y along w is normal with mean rho Y/(rho² + sigma2)
    and variance sigma2 Y/(rho² + sigma2), and the square of the rest is Y χ²_{d−1}: so E e^{−sQ} is known, and with it
    E √Q. Raises InputError for sizes out of range.
    """
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    (rho, p), (chi, p_chi) = chi_nodes(d, finer=_FINER), chi_nodes(n, finer=_FINER)
    rho, size = rho[:, None], rho[:, None] ** 2 + sigma2
    Y = size * chi**2
    mean, variance = rho * (eta * Y / size - 1), eta**2 * sigma2 * Y / size
    total = 0.0
    for s in _S:
        wide = 1 + 2 * s * variance
        exponent = -s * sigma2 - s * mean**2 / wide - np.log(wide) / 2 - (d - 1) / 2 * np.log1p(2 * s * eta**2 * Y)
        total += p @ -np.expm1(exponent) @ p_chi / np.sqrt(s)  # ds = s d(log s)
    return float(np.sqrt(2 / np.pi) * total * 0.4 / (2 * np.sqrt(np.pi)))


def absolute_step(d: int, n: int, sigma2: float) -> float:
    """The eta at which `absolute_loss` is least; errors as there."""
    return _lowest(lambda eta: absolute_loss(eta, d, n, sigma2), 2 / n)


def logit_loss(eta: float, d: int, n: int) -> float:
    """E log(1 + exp(−y_query eta x'X'y)) for labels ±1 with log-odds w'x.

    = E F(eta |X'y|) − eta n/2 E kappa(rho)², F(s) = E log(1 + e^{sg}) and kappa(rho) = E g tanh(rho g/2), g
    normal: given the examples the logit is normal, and E[y x | w] = kappa w/rho. Along w X'y is
    A = Σ y_i z_i, across it its square is n χ²_{d−1}. Raises InputError for d or n below 1.
    """
    size, weights, pull = _votes(check_count("d", d), check_count("n", n))
    return float(weights @ softplus_mean(eta * size) - eta * pull)


def logit_step(d: int, n: int) -> float:
    """The eta at which `logit_loss` is least; errors as there."""
    size, weights, pull = _votes(check_count("d", d), check_count("n", n))
    return _lowest(lambda eta: weights @ softplus_mean(eta * size) - eta * pull, 8 / n)


def softplus_mean(s: np.ndarray) -> np.ndarray:
    """F(s) = E log(1 + e^{sg}), g standard normal, for s ≥ 0 of any shape; (s + π²/(6s)) / √(2π) where s is large."""
    s = np.asarray(s, dtype=float)
    far = (s + np.pi**2 / (6 * np.maximum(s, 1e-9))) / np.sqrt(2 * np.pi)
    return np.where(s > _FAR, far, _softplus_spline()(np.minimum(s, _FAR)))


@lru_cache(maxsize=1)
def _softplus_spline() -> CubicSpline:
    g = np.linspace(-8.5, 8.5, 801)
    weights = np.exp(-(g**2) / 2) / np.exp(-(g**2) / 2).sum()
    s = np.linspace(0, _FAR, 1001)
    return CubicSpline(s, np.logaddexp(0, np.outer(s, g)) @ weights)


def _votes(d: int, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Nodes and weights for |X'y|, (m,) each, and n/2 E kappa²."""
    (rho, p), (rest, p_rest) = chi_nodes(d), chi_nodes(d - 1)
    sizes, weights, pull = [], [], 0.0
    for length, weight in zip(rho, p, strict=True):
        kappa, A, p_A = _sum_of_votes(length, n)
        sizes.append(np.hypot(A[:, None], np.sqrt(n) * rest))
        weights.append(weight * np.outer(p_A, p_rest))
        pull += weight * n / 2 * kappa**2
    return np.concatenate(sizes, axis=None), np.concatenate(weights, axis=None), pull


def _sum_of_votes(rho: float, n: int) -> tuple[float, np.ndarray, np.ndarray]:
    """kappa, and nodes and weights for the law of a sum of n terms of density 2 φ(m) expit(rho m), by Fourier."""
    m = np.linspace(-9, 9, 241)
    density = np.exp(-(m**2) / 2) * expit(rho * m)
    density /= density.sum()
    kappa = float(density @ m)
    deviation = np.sqrt(n * (density @ (m - kappa) ** 2))
    A = deviation * np.linspace(-7, 7, 57)
    waves = np.linspace(-_WAVES, _WAVES, 73) / deviation
    characteristic = (np.exp(1j * np.outer(waves, m - kappa)) @ density) ** n
    weights = (np.exp(-1j * np.outer(A, waves)) @ characteristic).real
    return kappa, n * kappa + A, weights / weights.sum()


def _lowest(loss, most: float) -> float:
    return float(minimize_scalar(loss, bounds=(0, most), method="bounded", options=dict(xatol=1e-7 * most)).x)
