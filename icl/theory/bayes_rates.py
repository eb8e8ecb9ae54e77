r"""Lemma 6.1 and Corollary 6.2 of Zhang, Wu and Bartlett (2024): how far GD-β is from the Bayes risk.

All depends on the eigenvalues φ_i ≥ 0 of Phi. Exact Bayes risks for one covariate and for one example,
the deterministic equivalent for any spectrum, and bounds in expectation with every constant written out:

    Σ φσ²/(nφ + σ²)  ≤  R_B − σ²  ≤  R* − σ²  ≤  (1 + (tr Phi + φ_1)/σ²) Σ φσ²/(nφ + σ²),
    ½ Σ min(φ, τ/(n+1))  ≤  R* − σ²  ≤  2 Σ min(φ, τ/(n+1)).

The constants are this book's. Given X alone, and with high probability over it, the Bayes excess is of the order of
Σ min(φ, σ²/n) (Lemma 6.1); chapter 5 proves that with constants.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from icl.validation import InputError, check_count, check_nonnegative


def bayes_risk_one_covariate(n: int, sigma2: float, m: float = 1.0) -> float:
    """Exact Bayes risk at d = 1, task variance m > 0: sigma2 + (sigma2/2) e^{q/2} E_{n/2}(q/2), q = sigma2/m.

    E_ν is the generalised exponential integral. sigma2 = 0 gives 0: one noiseless example tells all.
    Raises InputError for n < 1, sigma2 < 0 and m ≤ 0.
    """
    n, sigma2 = check_count("n", n), check_nonnegative("sigma2", sigma2)
    if check_nonnegative("m", m) == 0:
        raise InputError("m must be positive: with m = 0 the task is known and the Bayes risk is sigma2.")
    if sigma2 == 0:
        return 0.0
    q = sigma2 / m
    # e^z E_ν(z) = ∫ e^{−zs} (1+s)^{−ν} ds over s > 0, with s = e^u − 1
    return sigma2 + sigma2 / 2 * _decaying_integral(lambda u: np.exp(-q / 2 * np.expm1(u) - (n / 2 - 1) * u), n + q)


def bayes_risk_one_example(phi, sigma2: float) -> float:
    """Exact Bayes risk at n = 1 for any eigenvalues φ, (d,), by one integral; Sherman-Morrison and a Laplace transform.

    sigma2 + Σφ − ∫_0^∞ e^{−sigma2 t} Σ_i φ_i²/(1 + 2tφ_i) Π_j (1 + 2tφ_j)^{−1/2} dt.
    """
    phi, sigma2 = _spectrum(phi), check_nonnegative("sigma2", sigma2)
    if phi[0] == 0:
        return sigma2
    scale = 1 / (2 * phi[0])

    def integrand(u):
        t = scale * np.expm1(u)
        terms = 1 + 2 * t[..., None] * phi
        return scale * np.exp(u - sigma2 * t - 0.5 * np.log(terms).sum(-1)) * (phi**2 / terms).sum(-1)

    seen = _decaying_integral(integrand, phi.sum() / phi[0] + sigma2 * scale)
    return sigma2 + float(phi.sum()) - seen


def deterministic_equivalent(phi, n: int, sigma2: float) -> float:
    """Bayes risk for large n and d: sigma2 + κ Σ φ/(φ + κ), κ the root of κ (n − Σ φ/(φ + κ)) = sigma2.

    An approximation, not a bound: a few per cent low at moderate noise, much too low at n = d with little noise.
    """
    phi, n, sigma2 = _spectrum(phi), check_count("n", n), check_nonnegative("sigma2", sigma2)
    phi = phi[phi > 0]
    if len(phi) == 0 or (sigma2 == 0 and len(phi) <= n):
        return sigma2
    balance = lambda log_kappa: (phi / (phi + np.exp(log_kappa))).sum() + sigma2 * np.exp(-log_kappa) - n
    highest = np.log((phi.sum() + sigma2) / n)  # κ Σ φ/(φ+κ) ≤ Σ φ
    lowest = np.log(sigma2 / n) if sigma2 > 0 else np.log(phi[-1] / (n * len(phi))) - np.log(len(phi)) - 1
    kappa = np.exp(brentq(balance, lowest - 1e-9, highest + 1e-9, xtol=1e-14, rtol=1e-14))
    return sigma2 + float(kappa * (phi / (phi + kappa)).sum())


class Sandwich(NamedTuple):
    """Excess risks over sigma2: lower bound on Bayes, the optimal GD-β, upper bound on GD-β."""

    lower: float
    gd_beta: float
    upper: float


def sandwich(phi, n: int, sigma2: float) -> Sandwich:
    """The bounds of Corollary 6.2, in expectation, for eigenvalues φ (d,). sigma2 = 0 has an infinite upper bound."""
    phi, n, sigma2 = _spectrum(phi), check_count("n", n), check_nonnegative("sigma2", sigma2)
    tau = phi.sum() + sigma2
    if tau == 0:
        return Sandwich(0.0, 0.0, 0.0)
    gd_beta = float((phi * (phi + tau) / ((n + 1) * phi + tau)).sum())  # eq. (5.2)
    if sigma2 == 0:
        return Sandwich(0.0, gd_beta, np.inf)
    lower = float((phi * sigma2 / (n * phi + sigma2)).sum())  # Jensen: E tr M^{-1} at E M
    return Sandwich(lower, gd_beta, nearly_optimal_factor(phi, sigma2) * lower)


def nearly_optimal_factor(phi, sigma2: float) -> float:
    """1 + (tr Phi + φ_1)/sigma2: GD-β's excess is at most this times the Bayes excess; infinite without noise."""
    phi, sigma2 = _spectrum(phi), check_nonnegative("sigma2", sigma2)
    return 1 + float(phi.sum() + phi[0]) / sigma2 if sigma2 > 0 else np.inf


def rate(phi, level: float) -> float:
    """Σ min(φ_i, level): the shape of Corollary 6.2, with level = tau/(n+1) for GD-β and sigma2/n for Bayes."""
    return float(np.minimum(_spectrum(phi), check_nonnegative("level", level)).sum())


def _spectrum(phi) -> np.ndarray:
    phi = np.array(phi, dtype=float)
    if phi.ndim != 1 or len(phi) == 0 or not np.isfinite(phi).all() or phi.min() < 0:
        raise InputError("phi must be a non-empty list of finite numbers of at least 0, the eigenvalues of Phi.")
    return np.sort(phi)[::-1]


def _decaying_integral(f, rate: float) -> float:
    """∫_0^∞ f(u) du, f smooth, vectorised and first varying on the scale 1/rate: Gauss-Legendre on graded panels."""
    edges = np.unique(np.r_[0.0, np.geomspace(0.01 / (1 + rate), 1.0, 40), np.linspace(0.5, 128.0, 256)])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    u = edges[:-1, None] + half * (nodes + 1)
    with np.errstate(over="ignore", under="ignore"):  # e^{−e^u} underflows to 0, as it should
        return float((f(u) * half * weights).sum())
