"""Linear estimates of the task vector from a context, for a batch of prompts at once.

X is (B, n, d), y is (B, n); each function returns the estimates, (B, d), so that the prediction is
x_query · estimate. NumPy, float64. Raises InputError for X and y of other shapes.
"""

import numpy as np

from icl.prompts import PromptLaw
from icl.validation import check_contexts, check_nonnegative


def gradient_step(X: np.ndarray, y: np.ndarray, eta: float) -> np.ndarray:
    """eta X'y, (B, d): one step of GD on ½ Σ (w'x_i − y_i)² from w = 0. Mahankali et al. (2024), Theorem 1."""
    return eta * _moment(X, y)


def ridge(X: np.ndarray, y: np.ndarray, penalty: float) -> np.ndarray:
    """(X'X + penalty I)^{-1} X'y, penalty ≥ 0; with penalty 0 the min-norm least-squares estimate.

    With penalty sigma2 it is E[w | D] for w ~ N(0, I): the Bayes estimate (Mahankali et al. 2024, §2).
    Raises InputError for a negative or non-finite penalty.
    """
    if check_nonnegative("penalty", penalty) == 0:
        return least_squares(X, y)
    X, y = check_contexts(X, y)
    gram = np.swapaxes(X, 1, 2) @ X + penalty * np.eye(X.shape[2])
    return np.linalg.solve(gram, _moment(X, y)[..., None])[..., 0]


def least_squares(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The min-norm least-squares estimate X⁺ y, (B, d), for n below d as well: Penrose (1956)."""
    X, y = check_contexts(X, y)
    return (np.linalg.pinv(X) @ y[..., None])[..., 0]


def bayes(X: np.ndarray, y: np.ndarray, law: PromptLaw) -> np.ndarray:
    """E[beta | X, y], (B, d): ridge centred at beta_star, for any law; Zhang et al. (2024), Lemma 6.1.

    beta_star + R (R S R + sigma2 I)^{-1} R X'(y − X beta_star) with R = Psi^{1/2}; without noise the limit.
    """
    X, y = check_contexts(X, y)
    root = law.roots[1]
    return law.beta_star + ridge(X @ root, y - X @ law.beta_star, law.sigma2) @ root


def gd_beta(X: np.ndarray, y: np.ndarray, beta: np.ndarray, Gamma: np.ndarray) -> np.ndarray:
    """beta − Gamma X'(X beta − y) / n, (B, d): one preconditioned step from `beta`; Zhang et al. (2024), §5."""
    X, y = check_contexts(X, y)
    return beta + _moment(X, y - X @ beta) @ Gamma.T / X.shape[1]


def _moment(X, y):
    return np.einsum("bnd,bn->bd", *check_contexts(X, y))
