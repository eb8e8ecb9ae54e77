"""Kernel ridge with a family's own covariance E f(x) f(z): the best answer that is linear in the labels.

For Gaussian targets it is the Bayes estimate, for the others the best of its kind, by the normal equations. For linear
targets it is ridge. Closed forms for the families of `icl.targets`; the network's is the arc-cosine kernel of Cho and
Saul (2009), the cosine's the Gaussian kernel of Rahimi and Recht (2007), the others' this book's.
"""

from collections.abc import Callable

import numpy as np

from icl.comparison.questions import Positions, Questions
from icl.targets import FREQUENCY, KAPPA

Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]  # of x'z, |x|², |z|² and d


def kernel_ridge(questions: Questions, kernel: Kernel, sigma2: float) -> np.ndarray:
    """k(x)' (K + sigma2 I)⁻¹ y at every answer, (P, R); without noise its limit."""
    if not isinstance(questions, Positions):
        return _solved(kernel, questions.X, questions.y, questions.asked, sigma2)
    columns = [
        _solved(kernel, questions.X[:, :t], questions.y[:, :t], questions.X[:, t : t + 1], sigma2)
        for t in questions.seen
    ]
    return np.concatenate(columns, 1)


def _solved(kernel, X, y, asked, sigma2):
    K, k = _matrix(kernel, X, X), _matrix(kernel, X, asked)
    scale = np.trace(K, axis1=1, axis2=2)[:, None, None] / X.shape[1]
    inner = K + (sigma2 + 1e-10 * scale) * np.eye(X.shape[1])  # where K is singular the limit, up to rounding
    return (np.swapaxes(k, 1, 2) @ np.linalg.solve(inner, y[..., None]))[..., 0]


def _matrix(kernel, X, Z):
    return kernel(X @ np.swapaxes(Z, 1, 2), (X**2).sum(-1)[:, :, None], (Z**2).sum(-1)[:, None, :], X.shape[2])


def _angle(c, a, b):
    return np.clip(c / np.sqrt(np.maximum(a * b, 1e-300)), -1.0, 1.0)


def _relu_network(c, a, b, d):
    cosine = _angle(c, a, b)
    return KAPPA * np.sqrt(a * b) * (np.sqrt(1 - cosine**2) + (np.pi - np.arccos(cosine)) * cosine) / (2 * np.pi)


def _cubic(c, a, b, d):
    return 9 * a * b * c + 6 * c**3  # E u³v³ of Gaussians with variances a, b and covariance c


def _gaussian(squared_distance):
    return np.exp(-(FREQUENCY**2) * np.maximum(squared_distance, 0) / 2)


KERNELS: dict[str, Kernel] = {
    "linear": lambda c, a, b, d: c,
    "relu_network": _relu_network,
    "sign": lambda c, a, b, d: 2 / np.pi * np.arcsin(_angle(c, a, b)),
    "cubic_gaussian": _cubic,
    "cubic_unit": lambda c, a, b, d: _cubic(c, a, b, d) / (d * (d + 2) * (d + 4)),
    "quadratic": lambda c, a, b, d: c**2,
    "linear_quadratic": lambda c, a, b, d: c + c**2 / 4,
    "sine": lambda c, a, b, d: _gaussian(a + b - 2 * c) - _gaussian(a + b + 2 * c),
    "cosine": lambda c, a, b, d: _gaussian(a + b - 2 * c),
}
