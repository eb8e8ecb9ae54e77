r"""Nodes for the law of a Gaussian vector's length: equally spaced in its logarithm, where sums converge exponentially.

This book; the trapezoidal rule on the whole line, for an integrand that is analytic in a strip and decays at both ends.
"""

import numpy as np
from scipy.special import gammaln

from icl.validation import check_count

_NEGLIGIBLE = 1e-10


def chi_nodes(k: int, *, finer: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """r and weights, (m,) each, with Σ weights f(r) = E f(|x|) for x ~ N(0, I_k); k = 0 is the constant 0.

    To about 1e-7 of f(0) at k = 1, better for functions that vanish at 0 and for larger k; nodes stand `finer` times as
    close. Raises InputError for k < 0.
    """
    if check_count("k", k, least=0) == 0:
        return np.zeros(1), np.ones(1)
    spread = 1 / np.sqrt(2 * k)  # of log r
    step = min(0.2, 0.8 * spread) / finer
    log_r = np.arange(np.log(k) / 2 - max(9 * spread, 16 / k), np.log(np.sqrt(k) + 7.5), step)
    log_density = k * log_r - np.exp(2 * log_r) / 2 - (k / 2 - 1) * np.log(2) - gammaln(k / 2)
    weights = step * np.exp(log_density)
    kept = weights * np.maximum(1, np.exp(2 * log_r) / k) > _NEGLIGIBLE
    return np.exp(log_r[kept]), weights[kept] / weights.sum()
