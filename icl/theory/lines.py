r"""Regression on x = (1, u), a line in the plane: the best single layer of linear attention, and Bayes.

u is uniform on [−r, r], w ~ N(0, I_2), y = w'x + eps, eps ~ N(0, sigma2), and the number of points n is drawn from a
list of lengths, each as likely. Of one layer f = (1/n) x' Gamma sum_i y_i x_i, with the same Gamma at every length,

    E (f − y)² = sigma2 + tr D − 2 tr(D Gamma D) + tr(D Gamma C Gamma'),   C = D² + h (K + sigma2 D − D²),

with D = E xx' = diag(1, m_2), K = E |x|² xx' = diag(1 + m_2, m_2 + m_4), m_k = E u^k and h = E 1/n: E of S_xy S_xy' is
taken at each n (Mahankali et al. 2024, Lemmas 3 and 4, without rotation invariance), then over n. Its minimum is at
Gamma = D C^{-1}. No other weights of the layer do better, whatever its heads: the law does not change under
(w, eps) → −(w, eps), so that the average of a layer's answer f(y) and of −f(−y), which is of this form, is no worse.
"""

from collections.abc import Iterable

import numpy as np

from icl.validation import InputError, check_count, check_nonnegative


def best_step(reach: float, sigma2: float, lengths: Iterable[int]) -> np.ndarray:
    """The diagonal of Gamma, (2,): how far the step goes in the height and in the slope. This book.

    Raises InputError unless reach > 0, sigma2 ≥ 0 and lengths are counts.
    """
    D, C = _moments(reach, sigma2, lengths)
    return D / C


def least_risk(reach: float, sigma2: float, lengths: Iterable[int]) -> float:
    """E (f − y)² of that layer, at a fresh u of the same law; errors as `best_step`. This book."""
    D, C = _moments(reach, sigma2, lengths)
    return float(sigma2 + np.sum(D - D**3 / C))


def _moments(reach, sigma2, lengths) -> tuple[np.ndarray, np.ndarray]:
    """The diagonals of D and C."""
    reach, sigma2 = check_nonnegative("reach", reach), check_nonnegative("sigma2", sigma2)
    counts = [check_count("a length", n) for n in lengths]
    if reach == 0 or not counts:
        raise InputError("a line needs a reach above 0 and at least one length.")
    m2, m4, h = reach**2 / 3, reach**4 / 5, float(np.mean(1 / np.array(counts)))
    D, K = np.array([1.0, m2]), np.array([1 + m2, m2 + m4])
    return D, D**2 + h * (K + sigma2 * D - D**2)


def one_layer(X: np.ndarray, y: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The line of one layer, (…, 2), height and slope: Gamma X'y / n for X (…, n, 2), y (…, n) and Gamma's diagonal."""
    return step * np.einsum("...nd,...n->...d", X, y) / X.shape[-2]


def posterior_mean(X: np.ndarray, y: np.ndarray, sigma2: float) -> np.ndarray:
    """E[w | X, y] = (X'X + sigma2 I)^{-1} X'y, (…, 2), for X (…, n, 2) and y (…, n); sigma2 > 0.

    Bayes for w ~ N(0, I) and, as both scale, for labels times an unknown size (Lindley and Smith 1972, §2).
    """
    gram = np.einsum("...nd,...ne->...de", X, X) + check_nonnegative("sigma2", sigma2) * np.eye(X.shape[-1])
    return np.linalg.solve(gram, np.einsum("...nd,...n->...d", X, y)[..., None])[..., 0]
