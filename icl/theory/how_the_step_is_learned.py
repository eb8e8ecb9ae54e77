r"""How gradient flow learns the step of linear attention: one drop for a merged key–query matrix, stairs for two.

Prompts have covariates N(0, H), tasks N(0, I), noise sigma2; λ_1 ≥ … ≥ λ_d are the eigenvalues of H and
tau = tr H + sigma2. Gamma is the matrix of the learned step x' Gamma X'y / n; time is that of the flow of minus half
the slope of its risk. On an eigenvector the best entry of Gamma is γ = n / ((n+1) λ + tau); it lowers the risk by λ² γ,
the summand of eq. (5.2). Zhang, Singh, Latham and Saxe (2025) have stairs and drop without noise; noise and the proofs
are this book's.
"""

import numpy as np

from icl.validation import InputError, check_count, check_nonnegative, check_vector

_HALVINGS = 100  # of an interval: more than a float64 has digits


def best_entries(h, n: int, sigma2: float) -> np.ndarray:
    """γ = n / ((n+1) λ + tau), (d,), for eigenvalues h (d,): the entries of Gamma* in the eigenbasis of H.

    h ≥ 0, n ≥ 1, sigma2 ≥ 0, and not both tr H and sigma2 zero; raises InputError otherwise. Zhang, Wu and Bartlett
    (2024), Theorem 5.2 at Psi = I.
    """
    h, n, tau = _checked(h, n, sigma2)
    return n / ((n + 1) * h + tau)


def summands(h, n: int, sigma2: float) -> np.ndarray:
    """What each eigenvector takes off the risk, λ² γ = λ / (1 + (1 + tau/λ)/n), (d,), in the order of h (d,)."""
    return np.asarray(h, dtype=float) ** 2 * best_entries(h, n, sigma2)  # eq. (5.2), term by term


def stairs(h, n: int, sigma2: float) -> np.ndarray:
    """L_0 … L_d, (d+1,): the risk with the m largest eigenvectors learned; for h (d,) in any order.

    L_m is also the least risk of any Gamma of rank m. Zhang et al. (2025); noise by this book.
    """
    h, n, tau = _checked(h, n, sigma2)
    return tau - np.r_[0.0, np.cumsum(summands(np.sort(h)[::-1], n, sigma2))]


def resting_levels(h, n: int, sigma2: float) -> np.ndarray:
    """All 2^d risks at which the flow of separate keys and queries can rest, ascending, for h (d,), d ≤ 20.

    One for every set of learned eigenvectors. Zhang et al. (2025); raises InputError for more eigenvalues.
    """
    h, n, tau = _checked(h, n, sigma2)
    if len(h) > 20:
        raise InputError(f"{len(h)} eigenvalues have 2^{len(h)} sets; list at most 20.")
    levels = np.array([tau])
    for part in summands(h, n, sigma2):
        levels = np.r_[levels, levels - part]
    return np.sort(levels)


def factor_sizes(h, n: int, sigma2: float) -> np.ndarray:
    """α = γ^⅓, (d,): the size at which value, key and query of a rank-one head end on each eigenvector of h (d,)."""
    return np.cbrt(best_entries(h, n, sigma2))


def climbed(z) -> np.ndarray:
    """F(z) with F' = 1 / (z² (1 − z³)), for 0 < z < 1, of any shape: the clock of a head of size z α. This book.

    By partial fractions F = −1/z − ⅓ ln(1−z) + ⅙ ln(1+z+z²) − arctan((2z+1)/√3)/√3.
    """
    z = np.asarray(z, dtype=float)
    logs = np.log1p(z + z**2) / 6 - np.log1p(-z) / 3
    return logs - 1 / z - np.arctan((2 * z + 1) / np.sqrt(3)) / np.sqrt(3)


def stair_times(h, n: int, sigma2: float, start: float, *, share: float = 0.5) -> np.ndarray:
    """When a head that begins on each eigenvector with value, key and query of size `start` has γ's `share`, (d,).

    Its size follows da/dt = a² (λ² − λ ν a³), ν = λ/γ: t = [F(share^⅓) − F(start/α)] / (λ² α). Eigenvalues h (d,) > 0,
    0 < start, and start/α < share^⅓ < 1 for every one; raises InputError otherwise. This book.
    """
    alpha = factor_sizes(h, n, sigma2)
    h = np.asarray(h, dtype=float)
    if not 0 < share < 1 or not 0 < start < share ** (1 / 3) * alpha.min() or h.min() <= 0:
        raise InputError("stair_times needs eigenvalues above 0, a share below 1 and a start above 0 and below both.")
    return (climbed(share ** (1 / 3)) - climbed(start / alpha)) / (h**2 * alpha)


def aligned_shares(h, n: int, sigma2: float, start: float, times) -> np.ndarray:
    """γ_i(t)/γ_i at `times` (T,) for a head of size `start` on every eigenvector of h (d,), (T, d).

    The closed form of `stair_times` inverted by halving; the heads do not feel one another. Raises InputError
    for a start that is not above 0 and below the end of the smallest head. This book.
    """
    alpha = factor_sizes(h, n, sigma2)
    h, times = np.asarray(h, dtype=float), np.asarray(times, dtype=float)
    if not 0 < start < alpha.min():
        raise InputError(f"start must be above 0 and below {alpha.min():.3g}, where the smallest head ends.")
    clock = climbed(start / alpha) + np.multiply.outer(times, h**2 * alpha)
    low, high = np.broadcast_to(start / alpha, clock.shape), np.ones_like(clock)
    with np.errstate(divide="ignore"):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            late = climbed(middle) < clock
            low, high = np.where(late, middle, low), np.where(late, high, middle)
    return low**3


def aligned_risk(h, n: int, sigma2: float, start: float, times) -> np.ndarray:
    """The risk along `aligned_shares`, (T,): L_d + Σ λ² γ (1 − γ(t)/γ)². For h (d,), times (T,). This book."""
    missing = 1 - aligned_shares(h, n, sigma2, start, times)
    return stairs(h, n, sigma2)[-1] + missing**2 @ summands(h, n, sigma2)


def white_factor(d: int, n: int, sigma2: float) -> float:
    """c = 1 + (1 + d + sigma2)/n: at H = I the risk of Gamma is tau − 2 tr Gamma + c |Gamma|². Zhang et al. (2025)."""
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    return 1 + (1 + d + sigma2) / n


def drop(d: int, n: int, sigma2: float, start: float, times) -> np.ndarray:
    """|Gamma|(t), (T,), of a merged matrix at H = I from Gamma = start I/√d, value and matrix of equal size.

    A logistic curve: d|Gamma|/dt = 2 |Gamma| (√d − c |Gamma|). `times` (T,), start > 0, else InputError. Zhang et al.
    (2025) without noise; with noise only c changes.
    """
    end = _end(d, n, sigma2, start)
    growth = np.exp(-2 * np.sqrt(d) * np.asarray(times, dtype=float))
    return end / (1 + (end / start - 1) * growth)


def drop_time(d: int, n: int, sigma2: float, start: float) -> float:
    """When |Gamma| of `drop` is half its end, ln(√d/(c start) − 1) / (2√d); negative if past it. This book.

    Raises InputError unless 0 < start < √d/c, the end.
    """
    ratio = _end(d, n, sigma2, start) / start
    if ratio <= 1:
        raise InputError(f"start = {start:g} is not below the end of the drop, {ratio * start:g}.")
    return float(np.log(ratio - 1) / (2 * np.sqrt(d)))


def _end(d, n, sigma2, start):
    c = white_factor(d, n, sigma2)
    if not start > 0:
        raise InputError(f"start must be above 0, not {start!r}: at 0 the flow rests.")
    return np.sqrt(d) / c


def _checked(h, n, sigma2):
    h = check_vector("h", h, len(np.atleast_1d(h)))
    n, sigma2 = check_count("n", n), check_nonnegative("sigma2", sigma2)
    tau = h.sum() + sigma2
    if h.min() < 0 or tau <= 0:
        raise InputError("the eigenvalues h must be at least 0, and not all 0 without noise.")
    return h, n, tau
