r"""The flow of Theorem 6.3 in a few scalars, where symmetry allows.

Isotropic H = h I, Psi = psi I, start beta_0 = beta_star + r e, Gamma_0 = g I: for all time
Gamma = g_par ee' + g_perp (I − ee'), so that (r, g_par, g_perp) is everything. Commuting H, Psi, beta_0 off along one
common eigenvector, Gamma_0 diagonal in them: r and the d diagonal entries. This book; cf. the proof of
Theorem 6.3 in Zhang, Wu and Bartlett (2024).
"""

import numpy as np

from icl.theory.gradient_flow import solve
from icl.validation import InputError, check_count, check_nonnegative, check_vector


def isotropic_velocity(state, d: int, n: int, sigma2: float, h: float = 1.0, psi: float = 1.0) -> np.ndarray:
    """d/dt (r, g_par, g_perp), (3, …), for states (3, …); at d = 1 g_perp is a shadow that does nothing."""
    r, along, across = state
    T = h * (d * psi + r**2) + sigma2  # tr(HA) + sigma2
    pull = 1 - 2 * h * along + (n + 1) / n * (h * along) ** 2 + h**2 / n * (along**2 + (d - 1) * across**2)
    task = psi + r**2
    return np.stack(
        [
            -2 * h * pull * r,
            -2 * (h * along * ((n + 1) / n * h**2 * task + T / n * h) - h**2 * task),
            -2 * (h * across * ((n + 1) / n * h**2 * psi + T / n * h) - h**2 * psi),
        ]
    )


def isotropic_excess(state, d: int, n: int, sigma2: float, h: float = 1.0, psi: float = 1.0) -> np.ndarray:
    """Excess risk over R* at states (3, …): eq. (6.2) in the three scalars."""
    r, along, across = state
    omega = ((n + 1) * h * psi + d * h * psi + sigma2) / n
    target = h * psi / omega
    pull = (1 - h * along) ** 2 + (h * along) ** 2 / n + h**2 / n * (along**2 + (d - 1) * across**2)
    return h * r**2 * pull + omega * ((h * along - target) ** 2 + (d - 1) * (h * across - target) ** 2)


def isotropic_flow(r, g, times, d: int, n: int, sigma2: float, h: float = 1.0, psi: float = 1.0) -> np.ndarray:
    """(r, g_par, g_perp) at `times`, (3, T), from beta_star + r e and g I, or g a pair (g_par, g_perp).

    d, n ≥ 1; sigma2, h, psi ≥ 0. Raises InputError otherwise and as `gradient_flow.solve`.
    """
    d, n = check_count("d", d), check_count("n", n)
    sigma2, h, psi = (check_nonnegative(*pair) for pair in (("sigma2", sigma2), ("h", h), ("psi", psi)))
    start = check_vector("the start (r, g_par, g_perp)", np.r_[r, np.broadcast_to(g, 2)], 3)
    field = lambda _, state: isotropic_velocity(state, d, n, sigma2, h, psi)
    return solve(field, start, times, rtol=1e-12).T


def diagonal_flow(h, psi, sigma2: float, n: int, i: int, r: float, gamma, times) -> np.ndarray:
    """(r, γ_1, …, γ_d) at `times`, (d+1, T), for H = diag(h), Psi = diag(psi), start beta_star + r e_i, diag(gamma).

    h, psi, gamma (d,); 0 ≤ i < d. Raises InputError for other shapes and as `gradient_flow.solve`.
    """
    n, sigma2, d = check_count("n", n), check_nonnegative("sigma2", sigma2), len(h)
    h, psi, gamma = (check_vector(*pair, d) for pair in (("h", h), ("psi", psi), ("gamma", gamma)))
    if not 0 <= i < d:
        raise InputError(f"i must name one of the {d} eigenvectors, 0 to {d - 1}, not {i}.")

    def field(_, state):
        r, gamma = state[0], state[1:]
        a = psi + r**2 * (np.arange(d) == i)
        N = (n + 1) / n * h**2 * a + ((h * a).sum() + sigma2) / n * h
        pull = (1 - h[i] * gamma[i]) ** 2 + (h[i] * gamma[i]) ** 2 / n + ((h * gamma) ** 2).sum() / n
        return np.r_[-2 * h[i] * pull * r, -2 * (h * gamma * N - h**2 * a)]

    return solve(field, np.r_[r, gamma], times, rtol=1e-12).T


def hessian_one_covariate(b, g, n: int, sigma2: float) -> np.ndarray:
    """Hessian of the risk in (beta, Gamma) at d = H = Psi = 1, (..., 2, 2), at b = beta − beta_star, g = Gamma."""
    n, sigma2 = check_count("n", n), check_nonnegative("sigma2", sigma2)
    b, g = np.broadcast_arrays(np.asarray(b, dtype=float), np.asarray(g, dtype=float))
    square = (n + 2) / n
    mixed = 4 * b * (square * g - 1)
    rows = [[2 * (1 - 2 * g + square * g**2), mixed], [mixed, 2 * (square * (1 + b**2) + sigma2 / n)]]
    return np.stack([np.stack(row, -1) for row in rows], -2)
