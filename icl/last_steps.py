"""The last steps of a search over all weights: Newton's method on the few numbers through which they reach the risk.

L-BFGS finds the valley; where the valley is a thousand times as steep across as along, and bent, it then crawls. What
is predicted is a product: of v and c, which say what is read of an example, and of V, u and w1, which say what is made
of it. For given v and c the risk is quadratic in all the others, whose best values are one linear system; what is left
is a risk of v and c alone, along whose valley Newton's method goes in a dozen or two steps: variable projection (Golub
and Pereyra 1973). Any effective parameters belong to some matrices, so nothing is restricted by this. The steps are
taken in coordinates in which the covariates are white and tasks are told from their mean on: what a covariance hides or
stretches, and a mean outweighs, is then no part of the problem, and costs no digits. There the query is independent of
its context and white, so that each of its coordinates asks for the same regression, of a task's entry on the d + 1
numbers that are read and on 1: the system is as small as that.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from icl.models.effective import EffectiveParameters
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.theory.moments import tau

STEP = 1e-30j  # to the side; the gradient is a polynomial, and nothing is subtracted
AT_ONCE = 64  # gradients; the matrices of more do not fit into the cache
READ = ("v", "c")  # the risk is quadratic in the other parts
MADE = ("V", "u")
ROUNDING, FLAT = 1e-13, 1e-10  # of the largest curvature: along less a linear system, or the risk, does not change
SETTLING = 3  # steps, each of which doubles the digits that are right


def newton(
    law: PromptLaw, start: EffectiveParameters, *, w1: bool, steps: int = 60, unit: float = 1.0
) -> EffectiveParameters:
    """Minimise the exact risk over v, c, V and u, and over `w1` too, which attention alone does not have.

    The risk is that of `unit` times what the weights predict.

    At most `steps` Newton steps within a trust region on v and c, of which only the direction counts. Their length is
    held near 1 by a spring as stiff as the risk at the start: along a line on which nothing changes, what solves for a
    step within the region takes most of the time, and many more steps are needed. The risk never rises.
    """
    search = _Search(law, start, w1, unit)
    reduced = _Reduced(search)
    stiffness = np.linalg.norm(reduced.at(reduced.start).curvature)

    def held(read):  # + stiffness (|read|² − 1)² / 4
        at, longer = reduced.at(read), read @ read - 1
        return at.value + stiffness / 4 * longer**2, at.gradient + stiffness * longer * read

    def curvature(read):
        spring = 2 * np.outer(read, read) + (read @ read - 1) * np.eye(len(read))
        return reduced.at(read).curvature + stiffness * spring

    options = dict(maxiter=steps, gtol=1e-13 * tau(law), initial_trust_radius=0.1)
    found = minimize(held, reduced.start, jac=True, hess=curvature, method="trust-exact", options=options)
    return search.weights_at(reduced.at(found.x).best)


def settle(law: PromptLaw, start: EffectiveParameters, *, w1: bool, unit: float = 1.0) -> EffectiveParameters:
    """From a minimum as good as the risk can show, to where its gradient is 0 to the last digit; options as `newton`.

    Near its minimum the risk is flat, and its own rounding hides half of the weights' digits; the gradient shows them.
    Newton's method on the direction of v and c, still along those in which nothing changes. Where that ended at a
    higher risk it was another stationary point, and `start` is returned.
    """
    search = _Search(law, start, w1, unit)
    reduced = _Reduced(search)
    read = reduced.start
    for _ in range(SETTLING):
        at, aside = reduced.at(read), np.eye(len(read)) - np.outer(read, read)  # only the direction counts
        curved = np.linalg.pinv(aside @ at.curvature @ aside, rcond=FLAT, hermitian=True)
        read = _unit(read - curved @ at.gradient)
    before, after = search.value_and_gradient(search.start)[0], reduced.at(read)
    return search.weights_at(after.best) if after.value <= before + 1e-12 * abs(before) else start


class _Search:
    """The risk as a function of one vector: the free parts end to end, as they act on z, x = root' z, z ~ N(0, I), and
    on tasks less their mean."""

    def __init__(self, law: PromptLaw, given: EffectiveParameters, w1: bool, unit: float):
        root, self.inverse = law.whitening
        self.mean, self.dim, self.unit = law.whitened.beta_star, len(root), unit
        self.risk = RiskGradient(replace(law.whitened, beta_star=0 * self.mean), unit)
        self.given, self.free = given.numpy(), [*(["w1"] if w1 else []), *READ, *MADE]
        self.parts = self._from_mean(given.substituted(root).numpy(), 1)
        self.start = np.concatenate([np.ravel(self.parts[name]) for name in self.free])
        ends = np.cumsum([self.parts[name].size for name in self.free])
        self.places = {name: slice(end - self.parts[name].size, end) for name, end in zip(self.free, ends, strict=True)}

    def _from_mean(self, parts: dict[str, np.ndarray], sign: int) -> dict[str, np.ndarray]:
        """The parts that see tasks less their mean (`sign` 1), and back (-1): y is x' mean more than they are told."""
        moved = {
            "w1": parts["w1"] - sign * self.mean / self.unit,
            "v": parts["v"] + sign * parts["c"] * self.mean,
            "V": parts["V"] + sign * np.outer(self.mean, parts["u"]),
        }
        return parts | moved

    def weights_at(self, vector: np.ndarray) -> EffectiveParameters:
        """The weights on x again; what H does not see of the free parts is 0."""
        told = EffectiveParameters.from_numpy(**self._from_mean(self._parts_at(vector), -1))
        moved = told.substituted(self.inverse).numpy()
        return EffectiveParameters.from_numpy(**self.given | {name: moved[name] for name in self.free})

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.risk.of_parts(**self._parts_at(vector))
        return float(value), np.concatenate([np.ravel(gradient[name]) for name in self.free])

    def curvature_along(self, vector: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """The Hessian times each row of `directions`, to the last digit: the gradients' imaginary parts, a small step
        to the side."""
        return self.gradients(vector + STEP * directions).imag / abs(STEP)

    def gradients(self, vectors: np.ndarray) -> np.ndarray:
        """At each row of `vectors`, many at once: one after the other they would be most of the search."""
        parts = [vectors[k : k + AT_ONCE] for k in range(0, len(vectors), AT_ONCE)]
        found = [(len(part), self.risk.of_parts(**self._parts_at(part))[1]) for part in parts]
        return np.vstack([np.hstack([by[name].reshape(rows, -1) for name in self.free]) for rows, by in found])

    def _parts_at(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """The weights on z, of one vector or of each row of many."""
        shapes = {name: vectors.shape[:-1] + self.parts[name].shape for name in self.free}
        moved = {name: vectors[..., where].reshape(shapes[name]) for name, where in self.places.items()}
        return self.parts | moved


@dataclass(frozen=True)
class _Point:
    """Of v and c: the least risk that they leave, its gradient and Hessian by them, and the whole vector there."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray
    best: np.ndarray


class _Reduced:
    """The least risk over all free parts but v and c, as a function of these: Golub and Pereyra (1973)."""

    def __init__(self, search: _Search):
        self.search = search
        place = {name: np.arange(len(search.start))[where] for name, where in search.places.items()}
        self.outer = np.concatenate([place[name] for name in READ])
        # a row for each number that is read of a context, a column for each coordinate of the query
        self.inner = np.vstack([place[name].reshape(-1, search.dim) for name in search.free if name not in READ])
        self.directions = np.eye(len(search.start))
        self.start = _unit(search.start[self.outer])  # twice v and c with half of V and u predict the same
        self._last = (None, None)

    def at(self, read: np.ndarray) -> _Point:
        """Value, derivatives and best other parts at v and c end to end."""
        if self._last[0] != read.tobytes():  # value and Hessian are asked for one after the other
            self._last = (read.tobytes(), self._point(read))
        return self._last[1]

    def _point(self, read: np.ndarray) -> _Point:
        search, outer, inner = self.search, self.outer, self.inner
        vector, directions = np.zeros_like(search.start), self.directions
        vector[outer] = read
        one = inner[:, 0]  # of the query's coordinates: to all others the curvature is the same
        # quadratic: differences of gradients are its curvature, whatever the step
        curved = (search.gradients(vector + directions[one]) - search.gradients(vector[None]))[:, one]
        solved = _solver((curved + curved.T) / 2)
        for _ in range(2):  # the second time what rounding left of the first
            vector[inner] -= solved(search.value_and_gradient(vector)[1][inner])
        value, gradient = search.value_and_gradient(vector)
        curvature = search.curvature_along(vector, directions[outer])
        mixed = np.swapaxes(curvature[:, inner], 0, 1)  # (rows, outer, columns)
        moves = solved(mixed.reshape(len(inner), -1)).reshape(mixed.shape)
        reduced = curvature[:, outer] - np.einsum("roc,rpc->op", mixed, moves)
        return _Point(value, gradient[outer], (reduced + reduced.T) / 2, vector)


def _unit(vector: np.ndarray) -> np.ndarray:
    """The direction of a vector; 0 of 0."""
    return vector / (np.linalg.norm(vector) or 1.0)


def _solver(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What solves by a symmetric matrix without negative eigenvalues; those that are rounding count as no equations."""
    try:
        factor = cho_factor(matrix)
        sizes = np.diag(factor[0])
        if sizes.min() > 1e-5 * sizes.max():  # their squares' ratio is about that of the eigenvalues
            return partial(cho_solve, factor)
    except np.linalg.LinAlgError:
        pass
    return partial(np.matmul, np.linalg.pinv(matrix, rcond=ROUNDING, hermitian=True))
