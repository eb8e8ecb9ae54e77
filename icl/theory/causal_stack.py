r"""Deep linear attention under a causal mask: run to its end, it is one pass of online gradient descent. This book.

Every layer adds eta Σ_{i ≤ j} r_i x_i'x_j to what token j has predicted, r the residuals so far; the query sees all.
With K = XX' and T its lower triangle, diagonal included, residuals shrink by I − eta T a layer, so the estimate ends at

    ŵ = X' T⁻¹ y,    which is w_j = w_{j−1} + x_j (y_j − w_{j−1}'x_j) / |x_j|²  after j = 1, …, n from w_0 = 0,

Kaczmarz' projections in the order of the prompt. With the prefix mask K stands for T, and the end is least squares.
That a causal stack does online descent and stays off least squares is due to Ding et al. (2024).
"""

import numpy as np

from icl.validation import check_count, check_nonnegative


def limit_risk(d: int, n: int, sigma2: float) -> float:
    """Risk of the causal stack's end for isotropic tasks: e_n = (1 − 1/d) e_{n−1} + sigma2/(d − 2), e_0 = d.

    A projection takes a d-th off the squared error and adds sigma2 E 1/|x|² = sigma2/(d − 2), which is infinite for
    d ≤ 2. Raises InputError for sizes out of range.
    """
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    kept = (1 - 1 / d) ** n
    if sigma2 == 0:
        return d * kept
    if d <= 2:
        return np.inf
    return sigma2 + d * kept + d * (1 - kept) * sigma2 / (d - 2)  # Σ_{j<n} (1 − 1/d)^j = d (1 − kept)


def endless_risk(d: int, sigma2: float) -> float:
    """The same for n → ∞: sigma2 (1 + d/(d − 2)), where least squares has sigma2."""
    d, sigma2 = check_count("d", d), check_nonnegative("sigma2", sigma2)
    if sigma2 == 0:
        return 0.0
    return np.inf if d <= 2 else sigma2 * (1 + d / (d - 2))


def projections(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """ŵ (B, d) after one pass of projections through examples X (B, n, d), y (B, n)."""
    w = np.zeros((len(X), X.shape[2]))
    for x, label in zip(X.swapaxes(0, 1), y.T, strict=True):
        w += x * ((label - (w * x).sum(1)) / (x**2).sum(1))[:, None]
    return w


def stacked(X: np.ndarray, y: np.ndarray, step: float, layers: int, *, causal: bool) -> np.ndarray:
    """ŵ (B, d) after so many layers with one step, for X (B, n, d) and y (B, n), as layers do it."""
    scores = X @ X.mT
    scores = np.tril(scores) if causal else scores
    residuals, read = y.copy(), np.zeros_like(y)  # read: Σ over layers of the residuals, which the query collects
    for _ in range(layers):
        read += step * residuals
        residuals = residuals - step * np.einsum("bji,bi->bj", scores, residuals)
    return np.einsum("bni,bn->bi", X, read)
