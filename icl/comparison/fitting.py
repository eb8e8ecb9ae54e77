"""How far two sets of answers are apart, and the one number of an algorithm at which it comes nearest to a model."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from icl.comparison.questions import Questions

_GRID = 33  # values tried before the search
_FARTHER = 3  # times that a grid goes on beyond its end
_WORK = 40_000  # numbers that one evaluation may touch
_LEVEL = 1e-12  # of the largest value: what is nearer to the least is as good
_APART = 1e-3  # logarithms between the values whose differences are a slope: h⁴ off it, and rounding / h


def farness(apart: np.ndarray, size: np.ndarray) -> np.ndarray:
    """√(m / (m + s)) of mean squared differences and sizes, arrays that broadcast to one shape; 0 where both are 0."""
    return np.sqrt(np.divide(apart, apart + size, out=np.zeros_like(apart), where=apart > 0))


def affordable(size: int) -> int:
    """How many prompts a search can ask an algorithm for again and again, if so many numbers are asked in each."""
    return max(32, _WORK // size)


class Fit:
    """A model's answers (P, R) to some questions."""

    def __init__(self, questions: Questions, answers: np.ndarray):
        self.questions, self._answers = questions, answers
        self._size = (answers**2).mean(1)
        self.largest = float(np.median(self.questions.prefixes.largest))

    def best(self, answer: Callable[[Questions, float], np.ndarray], low: float, high: float) -> float:
        """The number between low and high at which `answer(questions, number)`, (P, R), is least far from the model."""
        return least(lambda number: self._far(answer(self.questions, number)), low, high)

    def _far(self, predicted) -> float:
        apart = ((predicted - self._answers) ** 2).sum(1) / self._answers.shape[1]
        return float(farness(np.where(np.isfinite(apart), apart, 1e100), self._size).mean())


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one positive number is least: a grid in its logarithm, then Brent beside the best point.

    Where it still falls at an end, as a step does under much noise, the grid goes on there, at most _FARTHER times.
    Where it is level, as after so many Newton steps that all of a range of lengths have converged, the middle of the
    level points: rounding alone would choose among them, and near an edge other prompts diverge.
    """
    grid = np.geomspace(low, high, _GRID)
    tried = lambda: np.nan_to_num([function(point) for point in grid], nan=np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        values = tried()
        for _ in range(_FARTHER):
            level = _level(values)
            if len(level) > 1 or 0 < level[0] < _GRID - 1:
                break
            grid = grid * (grid[1] / grid[-1] if level[0] == 0 else grid[-2] / grid[0])
            values = tried()
        level = _level(values)
        if len(level) > 2:  # two alone may lie on either side of a minimum
            return float(grid[level[(len(level) - 1) // 2]])
        k = int(np.argmin(values))
        bounds = np.log(grid[[max(k - 1, 0), min(k + 1, _GRID - 1)]])
        search = lambda z: function(float(np.exp(z)))
        found = minimize_scalar(search, bounds=bounds, method="bounded", options={"xatol": 1e-10})
        return float(np.exp(_by_slope(search, found.x, *bounds))) if found.fun < values[k] else float(grid[k])


def _level(values: np.ndarray) -> np.ndarray:
    """Where `values` are as good as the least of them."""
    return np.flatnonzero(values <= values.min() + _LEVEL * values.max(where=np.isfinite(values), initial=0.0))


def _by_slope(function: Callable[[float], float], z: float, low: float, high: float) -> float:
    """The minimum near z where the slope vanishes: by values it is known to the root of rounding, by slope to rounding.

    Values that rise from z in straight lines, a corner, are where a model is the algorithm itself: known well enough.
    """
    difference = lambda z, h: function(z + h) - function(z - h)
    bend = lambda h: function(z + h) + function(z - h) - 2 * function(z)
    slope = lambda z: 8 * difference(z, _APART) - difference(z, 2 * _APART)  # of fourth order
    start, end = z - _APART / 2, z + _APART / 2
    smooth = bend(2 * _APART) > 3 * bend(_APART) > 0  # 4 where it is a parabola, 2 at a corner
    if not smooth or start < low or end > high or slope(start) >= 0 or slope(end) <= 0:
        return z
    return brentq(slope, start, end, xtol=1e-14)
