r"""Theorem 1 and Lemmas 1-4 of Mahankali, Hashimoto and Ma (2024): one step of GD is optimal.

Setting: H = Psi = I, beta_star = 0, attention sums over the context without a factor 1/n. The
population loss of single-head linear self-attention is least when the model computes one step of
gradient descent on ½ Σ_i (w'x_i − y_i)² from w = 0,

    ŷ = eta Σ_i y_i x_i' x_query,    eta = c_2 / c_1 = 1 / (n + d + 1 + sigma2).

The paper leaves c_1, c_2 as expectations; the closed forms here follow from E S² = n(n+d+1) I and
E S = n I for S = X'X, a Wishart matrix.
"""

import numpy as np

from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.validation import check_count, check_nonnegative


def c1(d: int, n: int, sigma2: float) -> float:
    """c_1 in E[X'y y'X] = c_1 I (Lemma 3). Raises InputError for d, n < 1 or sigma2 < 0."""
    d, n, sigma2 = _check(d, n, sigma2)
    return n * (n + d + 1 + sigma2)  # Lemma 3: E S² + sigma2 E S


def c2(d: int, n: int, sigma2: float) -> float:
    """c_2 in E[X'y ŵ'] = c_2 I, ŵ = E[w | D] (Lemma 4): by the tower rule E S = n I."""
    d, n, sigma2 = _check(d, n, sigma2)
    return float(n)  # Lemma 4


def step_size(d: int, n: int, sigma2: float) -> float:
    """eta* = c_2 / c_1 (Theorem 1), the step on ½ Σ (w'x_i − y_i)²; on Σ (…)² it is half of this."""
    return c2(d, n, sigma2) / c1(d, n, sigma2)  # Theorem 1


def one_step_risk(eta, d: int, n: int, sigma2: float):
    """E (ŷ − y)² of one GD step of size `eta` (a number or an array): a parabola in eta."""
    d, n, sigma2 = _check(d, n, sigma2)
    eta = np.asarray(eta, dtype=float)
    # E|w − eta X'y|² + sigma2, with E X'y w' = n I (tower rule) and E|X'y|² = d c_1
    return sigma2 + d - 2 * eta * n * d + eta**2 * d * c1(d, n, sigma2)


def minimal_risk(d: int, n: int, sigma2: float) -> float:
    """L_min = sigma2 + d (d+1+sigma2) / (n+d+1+sigma2), the vertex of `one_step_risk` (Theorem 1)."""
    d, n, sigma2 = _check(d, n, sigma2)
    return sigma2 + d * (d + 1 + sigma2) / (n + d + 1 + sigma2)


def lemma1_constant(d: int, n: int, sigma2: float) -> float:
    """C in L = E|A G w − ŵ|² + C (Lemma 1): the Bayes risk, exact."""
    return isotropic_bayes_risk(d, n, sigma2)


def lemma2_constant(d: int, n: int, sigma2: float) -> float:
    """C_2 in E|A G w − ŵ|² = E|A G w − eta* X'y|² + C_2 (Lemma 2); C + C_2 = L_min."""
    excess = isotropic_bayes_risk(d, n, sigma2) - sigma2  # sigma2 E tr(S + sigma2 I)^{-1}
    return d - excess - d * n * step_size(d, n, sigma2)  # E|ŵ|² − E|eta* X'y|²


def zero_predictor_risk(d: int, n: int, sigma2: float) -> float:
    """Risk of ŷ = 0: d + sigma2."""
    d, n, sigma2 = _check(d, n, sigma2)
    return d + sigma2


def least_squares_risk(d: int, n: int, sigma2: float) -> float:
    """Risk of min-norm least squares, exact; infinite for |n − d| ≤ 1 with noise.

    n ≥ d + 2: sigma2 E tr S^{-1} = sigma2 d / (n − d − 1) (inverse Wishart). n ≤ d − 2: the bias
    d − n of the unseen directions, and sigma2 n / (d − n − 1).
    """
    d, n, sigma2 = _check(d, n, sigma2)
    bias = max(d - n, 0)
    if sigma2 == 0:
        return float(bias)
    if abs(n - d) <= 1:
        return np.inf
    return sigma2 + bias + sigma2 * min(n, d) / (abs(n - d) - 1)


def _check(d, n, sigma2):
    return check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
