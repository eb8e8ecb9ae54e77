"""Monte-Carlo means with their standard errors, accumulated in chunks so that memory stays flat."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.validation import check_count

# Drift: how far a number may move from the committed baseline, relative to its size, by how it was measured.
DRIFT = {"exact": 1e-9, "monte-carlo": 1e-9, "trained": 1e-5}


@dataclass(frozen=True)
class Estimate:
    """A sample mean and its standard error, floats or arrays of one shape; `count` draws went in.

    A known constant may be added to it, and it may be divided by one.
    """

    mean: np.ndarray | float
    stderr: np.ndarray | float
    count: int

    def __add__(self, constant: float) -> "Estimate":
        return Estimate(self.mean + constant, self.stderr, self.count)

    __radd__ = __add__

    def __truediv__(self, constant: float) -> "Estimate":
        return Estimate(self.mean / constant, self.stderr / abs(constant), self.count)


@dataclass(frozen=True)
class NotRun:
    """In place of a measurement: why there is none, in words for the page."""

    reason: str


def monte_carlo(draw: Callable[[int], np.ndarray], count: int, *, chunk: int = 20_000) -> Estimate:
    """Mean and standard error over `count` ≥ 2 draws.

    `draw(B)` returns B independent draws stacked on axis 0, of any further shape; it is called with
    chunks of at most `chunk`. Chunks are merged by Chan's pairwise update (Chan, Golub and LeVeque
    1983, eq. 2.1), which does not cancel. Raises InputError for count below 2.
    """
    count = check_count("count", count, least=2)
    seen, mean, squares = 0, 0.0, 0.0
    while seen < count:
        sample = np.asarray(draw(min(chunk, count - seen)), dtype=float)
        B, sample_mean = len(sample), sample.mean(axis=0)
        sample_squares = ((sample - sample_mean) ** 2).sum(axis=0)
        delta = sample_mean - mean
        squares = squares + sample_squares + delta**2 * (seen * B / (seen + B))
        mean = mean + delta * (B / (seen + B))
        seen += B
    return Estimate(mean, np.sqrt(squares / (count - 1) / count), count)


@dataclass(frozen=True)
class JointEstimate:
    """Means of k quantities from the same draws, (k,), and the covariance (k, k) of these means.

    largest_share : (k,), the part of each sum of squared deviations that comes from one single draw. Where it is
    not small, one draw dominates and the standard error itself is not to be relied on.
    """

    mean: np.ndarray
    covariance: np.ndarray
    largest_share: np.ndarray
    count: int

    def function(self, value: float, gradient) -> Estimate:
        """The estimate of a smooth function of the means with this value and gradient (k,): the delta method."""
        gradient = np.asarray(gradient, dtype=float)
        variance = gradient @ self.covariance @ gradient
        return Estimate(float(value), float(np.sqrt(max(variance, 0.0))), self.count)

    def vertex(self) -> Estimate:
        """P / Q for P = E gy and Q = E g², the first two means: the eta at which E(y − eta g)² is least."""
        P, Q, *others = self.mean
        return self.function(P / Q, [1 / Q, -P / Q**2, *np.zeros(len(others))])

    def least_error(self) -> Estimate:
        """Y − P² / Q, what E(y − eta g)² is there, where the third mean is Y = E y²."""
        P, Q, Y, *others = self.mean
        return self.function(Y - P**2 / Q, [-2 * P / Q, (P / Q) ** 2, 1, *np.zeros(len(others))])


def joint_monte_carlo(draw: Callable[[int], np.ndarray], count: int, *, chunk: int = 20_000) -> JointEstimate:
    """As `monte_carlo`, for draws of shape (B, k) whose covariances are wanted too."""
    count = check_count("count", count, least=2)
    seen, mean, products, low, high = 0, 0.0, 0.0, np.inf, -np.inf
    while seen < count:
        sample = np.asarray(draw(min(chunk, count - seen)), dtype=float)
        B, sample_mean = len(sample), sample.mean(axis=0)
        centred, delta = sample - sample_mean, sample_mean - mean
        products = products + centred.T @ centred + np.outer(delta, delta) * (seen * B / (seen + B))
        mean = mean + delta * (B / (seen + B))
        low, high = np.minimum(low, sample.min(0)), np.maximum(high, sample.max(0))
        seen += B
    squares = np.diag(products)
    largest = np.maximum(high - mean, mean - low) ** 2
    share = np.divide(largest, squares, out=np.zeros_like(squares), where=squares > 0)
    return JointEstimate(mean, products / (count - 1) / count, share, count)
