"""Monte-Carlo means with their standard errors, accumulated in chunks so that memory stays flat."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.validation import check_count


@dataclass(frozen=True)
class Estimate:
    """A sample mean and its standard error, floats or arrays of one shape; `count` draws went in."""

    mean: np.ndarray | float
    stderr: np.ndarray | float
    count: int


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
