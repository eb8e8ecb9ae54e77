r"""The whole loss landscape of linear self-attention, in one variable.

Isotropic tasks (H = Psi = I, beta_star = 0). In effective parameters the risk is, for given (v, c) ≠ 0, a
positive definite quadratic in (V, u), and depends on (v, c) only through the angle φ with
tan φ = |v| / |c|: rotations of x and the scaling (v, c, V, u) → (s v, s c, V/s, u/s) change nothing.
Minimising the quadratic leaves a profile g(φ), 0 ≤ φ ≤ π/2, and the local minima of the risk are
those of g: φ = 0 is one step of gradient descent; any other valley is spurious (for d = 1, the second
family). This book; the profile is the zero-mean case of the proof of Zhang et al. (2024), Theorem 4.1.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

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


def valleys(d: int, n: int, sigma2: float, *, resolution: int = 2001) -> list[Valley]:
    """All local minima of the profile, by angle; the first is one step of gradient descent.

    Found on a grid of `resolution` angles and refined by Brent's method. Raises InputError as `profile`.
    """
    angles = np.linspace(0, np.pi / 2, resolution)
    risks = profile(angles, d, n, sigma2)
    padded = np.r_[np.inf, risks, np.inf]
    lowest = np.flatnonzero((padded[1:-1] < padded[:-2]) & (padded[1:-1] < padded[2:]))
    found = []
    for i in lowest:
        if i in (0, resolution - 1):  # the profile is even about both ends, so these are exact
            found.append(Valley(float(angles[i]), float(risks[i])))
            continue
        best = minimize_scalar(
            lambda phi: float(profile(phi, d, n, sigma2)), bracket=angles[i - 1 : i + 2], options={"xtol": 1e-12}
        )
        found.append(Valley(float(best.x), float(best.fun)))
    return found


def first_n_with_second_valley(d: int, sigma2: float, *, largest: int = 10_000) -> int | None:
    """The least n ≤ `largest` at which a valley besides gradient descent exists, by bisection; None if none.

    Takes for granted that the valley stays once it has appeared, which held for every d ≤ 12 and n ≤ 2000 tried.
    """
    low, high = 0, 1
    while len(valleys(d, high, sigma2, resolution=401)) < 2:
        low, high = high, 2 * high
        if high > largest:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if len(valleys(d, middle, sigma2, resolution=401)) > 1 else (middle, high)
    return high


def _system(angle, d, n, sigma2):
    """The quadratic in (V, u): `across` for directions orthogonal to v, and K, right-hand side along v."""
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    nu, c = np.sin(angle), np.cos(angle)
    tau = d + sigma2
    omega = (n + 1 + tau) / n  # Omega = omega I
    square = (n + 2) / n * (tau**2 + 2 * d)  # E s_r²
    across = nu**2 / n + c**2 * omega
    mixed = c * nu * (tau + 2 / n + omega)
    K = np.stack(
        [
            np.stack([(n + 2) / n * nu**2 + c**2 * omega, mixed], -1),
            np.stack([mixed, c**2 * square + nu**2 * omega], -1),
        ],
        -2,
    )
    return nu, c, across, K, np.stack([c, nu], -1)
