r"""Linear attention after an MLP that multiplies covariates: one step on a quadratic kernel, for quadratic targets.

Setting: y = x'Qx + eps with Q = (A + A')/2, A Gaussian; x ~ N(0, I). Tokens hold the products x_a x_b in place of x. By
the symmetry argument of Theorem 1 the best attention on them is

    ŷ = alpha Σ_i y_i (x_i'x)² + gamma Σ_i y_i |x_i|² |x|²,

a step with one rate for the trace of Q and one for the rest. The two rates solve a linear system of Gaussian moments.
This book; gated layers before attention, and kernels, are in Sun, Jadbabaie and Azizan (2025).
"""

import numpy as np

from icl.validation import check_count, check_nonnegative


def system(d: int, n: int, sigma2: float) -> tuple[np.ndarray, np.ndarray]:
    """G (2, 2) and b (2,): second moments of the two sums (alpha's and gamma's), and their means against y.

    With M = Σ y_i x_i x_i', the sums are x'Mx and tr M |x|²; E[M | Q] = n (2Q + tr Q I), E|Q|² = d(d+1)/2, E tr²Q = d.
    Raises InputError for d, n < 1 and sigma2 < 0.
    """
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    single = d * (d + 2) * ((d + 4) * (d + 6) + sigma2)  # E y²|x|⁴
    size = n * single + n * (n - 1) * 3 * d * (d + 2)  # E|M|²
    trace = n * single + n * (n - 1) * d * (d + 2) ** 2  # E tr²M
    G = np.array([[2 * size + trace, (d + 2) * trace], [(d + 2) * trace, d * (d + 2) * trace]])
    return G, n * d * (d + 2) * np.array([3.0, d + 2.0])


def rates(d: int, n: int, sigma2: float) -> np.ndarray:
    """alpha and gamma, (2,), at their best; at d = 1, where the sums are one, the least pair. Errors as `system`."""
    G, b = system(d, n, sigma2)
    return np.linalg.pinv(G, rcond=1e-12, hermitian=True) @ b


def minimal_risk(d: int, n: int, sigma2: float) -> float:
    """Its least risk sigma2 + d(d+2) − b'G⁺b, which tends to sigma2 with n. Errors as `system`."""
    return sigma2 + d * (d + 2) - float(system(d, n, sigma2)[1] @ rates(d, n, sigma2))


def linear_floor(d: int, sigma2: float) -> float:
    """What no linear attention of any depth passes on these targets: sigma2 + d(d+2), the risk of 0."""
    return check_nonnegative("sigma2", sigma2) + check_count("d", d) * (d + 2)
