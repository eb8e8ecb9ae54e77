r"""The best linear attention with any number of heads, by least squares over all its coefficients.

Heads add, and one head predicts Σ_{abj} T_{abj} G_{ab} x_j with G = Σ_i z_i z_i', z_i = (x_i; y_i). Sums of heads give
every T symmetric in (a, b), so the optimum over all of them is a linear regression of the query's label on the
K = d (d+1)(d+2)/2 products G_{ab} x_j, a ≤ b. Plain GD is the one pattern T_{j,d+1,j} = eta.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.estimates import Estimate, monte_carlo
from icl.search import Sampler

Products = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # X (B, n, d), y (B, n), x (B, d) → (B, K)


@dataclass(frozen=True)
class TensorFit:
    """The fitted coefficients (K,), their robust covariance (K, K), and plain GD's pattern (K,) of 0 and 1.

    risk, plain_risk, penalty : least risk over all coefficients, over plain GD's step, and their paired difference.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    plain: np.ndarray
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
        weight = self.plain / self.plain.sum()
        return Estimate(float(weight @ self.coefficients), float(np.sqrt(weight @ self.covariance @ weight)), 0)

    @property
    def strays(self) -> np.ndarray:
        """What ought to vanish, in standard errors: the other coefficients, and each two of plain GD's, compared."""
        own = np.flatnonzero(self.plain)
        first, second = np.triu_indices(len(own), 1)
        rows = np.eye(len(self.plain))
        contrasts = np.vstack([rows[self.plain == 0], rows[own[first]] - rows[own[second]]])
        errors = np.sqrt(np.einsum("ck,kl,cl->c", contrasts, self.covariance, contrasts))
        return contrasts @ self.coefficients / errors

    def departure(self, pattern: np.ndarray) -> Estimate:
        """χ² of the coefficients from the nearest multiple of a pattern (K,), divided by its K − 1 degrees of freedom.

        Where they are a multiple of it, this is 1 ± √(2/(K − 1)).
        """
        precision, free = np.linalg.inv(self.covariance), len(pattern) - 1
        nearest = pattern * (pattern @ precision @ self.coefficients) / (pattern @ precision @ pattern)
        rest = self.coefficients - nearest
        return Estimate(float(rest @ precision @ rest) / free, float(np.sqrt(2 / free)), free)


def tensor_fit(law: Sampler, products: Products, plain, prompts: int, seed, *, chunk: int = 20_000) -> TensorFit:
    """Least squares on `prompts` fresh prompts; standard errors are robust to unequal variances (White's).

    `products` makes the K regressors, `plain` (K,) is 1 for those whose sum is plain GD's guess, else 0.
    The stream `seed` is drawn twice, once for the fit and once for its residuals, so that memory stays flat. On the
    prompts that it was fitted to a fit does better than it can; what that hides of the least risk, tr A⁻¹M / N with the
    mean squares A of regressors and M of regressors times residual, is added (Takeuchi 1976).
    """
    pattern = np.asarray(plain, dtype=float)
    rng = np.random.default_rng(seed)
    both = np.zeros((len(pattern), len(pattern) + 1))
    for size in _sizes(prompts, chunk):
        batch = law.sample(rng, size)
        features, y = products(batch.X, batch.y, batch.x_query), batch.y_query
        both += features.T @ np.column_stack([features, y]) / prompts
    A, c = both[:, :-1], both[:, -1]
    scale = 1 / np.sqrt(np.diag(A))
    inverse = scale[:, None] * np.linalg.inv(A * np.outer(scale, scale)) * scale
    coefficients = inverse @ c
    curvature = pattern @ A @ pattern
    gradient_step = pattern * (pattern @ c) / curvature
    meat, plain_meat, rng = np.zeros_like(A), np.zeros(1), np.random.default_rng(seed)

    def losses(B):
        batch = law.sample(rng, B)
        features, y = products(batch.X, batch.y, batch.x_query), batch.y_query
        residual, plain_residual = y - features @ coefficients, y - features @ gradient_step
        weighted = features * residual[:, None]
        meat[:] += weighted.T @ weighted
        plain_meat[:] += ((features @ pattern * plain_residual) ** 2).sum()
        best, simple = residual**2, plain_residual**2
        return np.stack([best, simple, simple - best], 1)

    result = monte_carlo(losses, prompts, chunk=chunk)
    hidden = np.array([np.sum(inverse * meat), plain_meat[0] / curvature]) / prompts**2
    means = result.mean + [*hidden, hidden[1] - hidden[0]]
    risk, plain_risk, penalty = (
        Estimate(float(mean), float(error), prompts) for mean, error in zip(means, result.stderr, strict=True)
    )
    covariance = inverse @ (meat / prompts**2) @ inverse
    return TensorFit(coefficients, covariance, pattern, risk, plain_risk, penalty)


def _sizes(count, chunk):
    return [min(chunk, count - start) for start in range(0, count, chunk)]
