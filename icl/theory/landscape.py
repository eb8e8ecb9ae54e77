r"""The whole loss landscape of linear self-attention, in one variable.

Isotropic tasks (H = Psi = I, beta_star = 0). In effective parameters the risk is, for given (v, c) ≠ 0, a
positive definite quadratic in (V, u). Its minimum over them depends on (v, c) only through the angle φ with
tan φ = |v| / |c|: rotations of x and the scaling (v, c, V, u) → (s v, s c, V/s, u/s) change nothing.
That minimum is a profile g(φ), 0 ≤ φ ≤ π/2, and the local minima of the risk are those of g: φ = 0 is one step of
gradient descent; any other valley is spurious (for d = 1, the second family). In t = tan² φ the profile is rational,
and where it is flat between its ends a quartic vanishes, so its roots are all the valleys that there can be. This
book; the profile is the zero-mean case of the proof of Zhang et al. (2024), Theorem 4.1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from icl.validation import check_count, check_nonnegative


@dataclass(frozen=True)
class Valley:
    """A local minimum of the profile: its angle φ in [0, π/2] and its risk."""

    angle: float
    risk: float


def profile(angle, d: int, n: int, sigma2: float) -> np.ndarray:
    """g(φ): the least risk over V, u at v = sin φ e_1, c = cos φ, for angles of any shape.

    d, n ≥ 1 and sigma2 ≥ 0, else InputError.
    """
    nu, c, across, K, right = _system(np.asarray(angle, dtype=float), d, n, sigma2)
    along = np.linalg.solve(K, right[..., None])[..., 0]
    return sigma2 + d - (d - 1) * c**2 / across - (right * along).sum(-1)


def weights_at(angle: float, d: int, n: int, sigma2: float):
    """The minimising (v, c, V, u) at one angle, shapes (d,), (), (d, d), (d,), in the 1/n convention."""
    nu, c, across, K, right = _system(np.asarray(float(angle)), d, n, sigma2)
    along, u_along = np.linalg.solve(K, right)
    e = np.eye(d)[0]
    V = c / across * np.eye(d) + (along - c / across) * np.outer(e, e)
    return nu * e, c, V, u_along * e


def valleys(d: int, n: int, sigma2: float) -> list[Valley]:
    """All local minima of the profile, by angle; the first is one step of gradient descent. Errors as `profile`.

    The profile is even about both ends, which are therefore flat as well; in between it is flat where `slope` is 0.
    """
    sign = slope(d, n, sigma2)
    roots = sign.roots()
    real = np.sort(roots.real[(np.abs(roots.imag) <= 1e-7 * np.abs(roots)) & (roots.real > 0)])
    for _ in range(2):  # Newton's method, for the digits that the companion matrix loses
        real = real - sign(real) / sign.deriv()(real)
    between = np.r_[0.0, (real[1:] + real[:-1]) / 2, 2 * real[-1:], np.inf][: len(real) + 1]  # a t in each piece
    rising = sign(np.where(np.isinf(between), 1.0, between)) > 0
    starts, ends = np.r_[False, rising[:-1]], rising
    angles = np.r_[0.0, np.arctan(np.sqrt(real))]
    found = [float(angle) for angle, before, after in zip(angles, starts, ends, strict=True) if after and not before]
    found += [np.pi / 2] * (not rising[-1])  # still falling towards c = 0
    return [Valley(angle, float(profile(angle, d, n, sigma2))) for angle in found]


def slope(d: int, n: int, sigma2: float) -> Polynomial:
    """A quartic in t = tan² φ with the sign of the profile's derivative by t; errors as `profile`.

    g = sigma2 + d − (d−1) / (omega + t/n) − N(t) / D(t), and D² (omega + t/n)² > 0 times its derivative.
    """
    tau, omega, alpha, square, kappa = _moments(d, n, sigma2)
    t = Polynomial([0.0, 1.0])
    across = omega + t / n
    N = square - 2 * (tau + 2 / n) * t + alpha * t**2
    D = (omega + alpha * t) * (square + omega * t) - kappa**2 * t
    return (d - 1) / n * D**2 - (N.deriv() * D - N * D.deriv()) * across**2


def far_valley_excess(d: int, n: int) -> float:
    """The excess over sigma2 to which that of the false valley tends for long contexts, 2 √(2d(d−1)/n), d ≥ 2.

    For n → ∞ at t ~ √n the profile is sigma2 + 2d/t + (d−1) t/n + O(1/n), least at t = √(2dn/(d−1)). This book.
    Raises InputError for d, n < 1.
    """
    d, n = check_count("d", d), check_count("n", n)
    return 2 * float(np.sqrt(2 * d * (d - 1) / n))


def first_n_with_second_valley(d: int, sigma2: float, *, largest: int = 10_000) -> int | None:
    """The least n ≤ `largest` at which a valley besides gradient descent exists, by bisection; None if none.

    Takes for granted that the valley stays once it has appeared, which held for every d ≤ 12 and n ≤ 2000 tried.
    """
    low, high = 0, 1
    while len(valleys(d, high, sigma2)) < 2:
        low, high = high, 2 * high
        if high > largest:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if len(valleys(d, middle, sigma2)) > 1 else (middle, high)
    return high


def _moments(d, n, sigma2):
    """tau, omega (Omega = omega I), and the moments alpha = (n+2)/n, E s_r² and kappa of the quadratic in (V, u)."""
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    tau = d + sigma2
    omega = (n + 1 + tau) / n
    square = (n + 2) / n * (tau**2 + 2 * d)  # E s_r²
    return tau, omega, (n + 2) / n, square, tau + 2 / n + omega


def _system(angle, d, n, sigma2):
    """The quadratic in (V, u): `across` for directions orthogonal to v, and K, right-hand side along v."""
    _, omega, alpha, square, kappa = _moments(d, n, sigma2)
    nu, c = np.sin(angle), np.cos(angle)
    across = nu**2 / n + c**2 * omega
    mixed = c * nu * kappa
    K = np.stack(
        [
            np.stack([alpha * nu**2 + c**2 * omega, mixed], -1),
            np.stack([mixed, c**2 * square + nu**2 * omega], -1),
        ],
        -2,
    )
    return nu, c, across, K, np.stack([c, nu], -1)
