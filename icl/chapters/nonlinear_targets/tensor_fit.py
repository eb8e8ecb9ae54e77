r"""The best linear attention with any number of heads, by least squares over all its coefficients.

Heads add, and one head predicts Σ_{abj} T_{abj} G_{ab} x_j with G = Σ_i z_i z_i', z_i = (x_i; y_i). Sums of heads give
every T symmetric in (a, b), so the optimum over all of them is a linear regression of the query's label on the
d (d+1)(d+2)/2 products G_{ab} x_j, a ≤ b. Plain GD is the one pattern T_{j,d+1,j} = eta.
"""

from dataclasses import dataclass

import numpy as np

from icl.estimates import Estimate, monte_carlo
from icl.prompts import Prompts
from icl.search import Sampler


@dataclass(frozen=True)
class TensorFit:
    """The fitted coefficients (K,), their robust covariance (K, K), and which of them belong to plain GD.

    risk, plain_risk, penalty : risk of the fit, of the best plain GD step, and their paired difference.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    is_gd: np.ndarray
    risk: Estimate
    plain_risk: Estimate
    penalty: Estimate

    @property
    def z(self) -> np.ndarray:
        """Each coefficient in standard errors, (K,)."""
        return self.coefficients / np.sqrt(np.diag(self.covariance))

    @property
    def step(self) -> Estimate:
        """The mean of plain GD's d coefficients: the step size."""
        weight = self.is_gd / self.is_gd.sum()
        return Estimate(float(weight @ self.coefficients), float(np.sqrt(weight @ self.covariance @ weight)), 0)


def tensor_fit(law: Sampler, prompts: int, seed, *, chunk: int = 20_000) -> TensorFit:
    """Least squares on `prompts` fresh prompts; standard errors are robust to unequal variances (White's).

    The stream `seed` is drawn twice, once for the fit and once for its residuals, so that memory stays flat.
    """
    is_gd = _is_gd(law.d)

    rng = np.random.default_rng(seed)
    both = np.zeros((len(is_gd), len(is_gd) + 1))
    for size in _sizes(prompts, chunk):
        features, y = _features(batch := law.sample(rng, size)), batch.y_query
        both += features.T @ np.column_stack([features, y]) / prompts
    A, c = both[:, :-1], both[:, -1]
    scale = 1 / np.sqrt(np.diag(A))
    inverse = scale[:, None] * np.linalg.inv(A * np.outer(scale, scale)) * scale
    coefficients = inverse @ c
    plain = is_gd * (is_gd @ c) / (is_gd @ A @ is_gd)
    meat, rng = np.zeros_like(A), np.random.default_rng(seed)

    def losses(B):
        features, y = _features(batch := law.sample(rng, B)), batch.y_query
        residual, plain_residual = y - features @ coefficients, y - features @ plain
        weighted = features * residual[:, None]
        meat[:] += weighted.T @ weighted
        best, simple = residual**2, plain_residual**2
        return np.stack([best, simple, simple - best], 1)

    result = monte_carlo(losses, prompts, chunk=chunk)
    risk, plain_risk, penalty = (
        Estimate(float(mean), float(error), prompts) for mean, error in zip(result.mean, result.stderr, strict=True)
    )
    covariance = inverse @ (meat / prompts**2) @ inverse
    return TensorFit(coefficients, covariance, is_gd, risk, plain_risk, penalty)


def _sizes(count, chunk):
    return [min(chunk, count - start) for start in range(0, count, chunk)]


def _pairs(d):
    return np.triu_indices(d + 1)


def _is_gd(d: int) -> np.ndarray:
    """1 for the coefficients of Σ_i y_i x_ij x_j, else 0, (K,)."""
    first, second = _pairs(d)
    return ((first[:, None] == np.arange(d)) & (second[:, None] == d)).ravel().astype(float)


def _features(batch: Prompts) -> np.ndarray:
    """G_{ab} x_j, a ≤ b, (B, K)."""
    Z = np.concatenate([batch.X, batch.y[..., None]], axis=2)
    first, second = _pairs(batch.X.shape[2])
    gram = (np.swapaxes(Z, 1, 2) @ Z)[:, first, second]
    return (gram[:, :, None] * batch.x_query[:, None, :]).reshape(len(Z), -1)
