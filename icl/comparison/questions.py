"""What a model is asked: prompts of a law, and the places in them where an answer is wanted.

Two protocols. *Queries*: a context of n examples and R queries after it, each asked alone. *Positions*: one sequence of
n + 1 pairs, an answer at each of them from the pairs before it, as Fu et al. (2024) do; the first, before which nothing
is known, is not asked for. Both hold P prompts and their labels, (P, R), and give every linear algorithm what it needs:
the eigenvalues and weights of `icl.solvers.prefixes`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icl.prompts import PromptLaw
from icl.solvers import prefixes, queries
from icl.solvers.online import online_gradient_descent, online_weights
from icl.solvers.prefixes import Prefixes
from icl.targets import TargetLaw
from icl.validation import InputError, check_count

Sequences = tuple[np.ndarray, np.ndarray]  # X (P, T, d) and y (P, T), float64


@dataclass(frozen=True)
class SequenceLaw:
    """A law given by its draws alone: `draw(rng, P, T)` makes P sequences of T pairs, X (P, T, d) and y (P, T)."""

    d: int
    n: int
    draw: Callable[[np.random.Generator, int, int], Sequences]


Law = PromptLaw | TargetLaw | SequenceLaw


def sequences(law: Law, rng: np.random.Generator, P: int, T: int) -> Sequences:
    """P sequences of T ≥ 2 pairs of one task each: X (P, T, d), y (P, T).

    Raises InputError for what is no law of prompts.
    """
    if isinstance(law, SequenceLaw):
        return law.draw(rng, P, T)
    if not isinstance(law, PromptLaw | TargetLaw):
        raise InputError(f"a law must be a PromptLaw, a TargetLaw or a SequenceLaw, not {type(law).__name__}.")
    prompts = replace(law, n=check_count("T - 1", T - 1)).sample(rng, P)
    X = np.concatenate([prompts.X, prompts.x_query[:, None]], axis=1)
    return X, np.concatenate([prompts.y, prompts.y_query[:, None]], axis=1)


@dataclass(frozen=True)
class Queries:
    """P contexts X (P, n, d), y (P, n), each with R queries (P, R, d) and their labels (P, R)."""

    X: np.ndarray
    y: np.ndarray
    asked: np.ndarray
    labels: np.ndarray

    @classmethod
    def draw(cls, law: Law, rng: np.random.Generator, P: int, R: int) -> "Queries":
        """P prompts of the law's n examples."""
        X, y = sequences(law, rng, P, law.n + R)
        return cls(X[:, : law.n], y[:, : law.n], X[:, law.n :], y[:, law.n :])

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """What a model is called with: X (P, n, d), y (P, n), queries (P, R, d)."""
        return self.X, self.y, self.asked

    @property
    def seen(self) -> np.ndarray:
        """How many examples stand before each answer, (R,)."""
        return np.full(self.asked.shape[1], self.X.shape[1])

    @cached_property
    def prefixes(self) -> Prefixes:
        """For GD, Newton, ridge and least squares."""
        return queries.decompose(self.X, self.y, self.asked)

    @property
    def spectra(self) -> np.ndarray:
        """The eigenvalues of each context, (P, 1, d): all its queries share them."""
        return self.prefixes.eigenvalues[:, :1]

    def from_start(self, beta: np.ndarray, root: np.ndarray) -> tuple[Prefixes, np.ndarray]:
        """The same in coordinates x ↦ root x, of labels less x'beta, and x'beta itself (P, R); root is (d, d)."""
        found = queries.decompose(self.X @ root, self.y - self.X @ beta, self.asked @ root)
        return found, self.asked @ beta

    def moments(self, beta: np.ndarray) -> np.ndarray:
        """X'(y − X beta) of each answer's examples, (P, R, d); beta (d,)."""
        found = np.einsum("pnd,pn->pd", self.X, self.y - self.X @ beta)
        return np.broadcast_to(found[:, None], self.asked.shape)

    def online(self, rates) -> np.ndarray:
        """Answers (P, R, K) after one pass over the examples, in order, at each of K rates."""
        return self.asked @ np.swapaxes(online_weights(self.X, self.y, rates), 1, 2)

    def part(self, which: slice) -> "Queries":
        """Some of the prompts."""
        return Queries(self.X[which], self.y[which], self.asked[which], self.labels[which])


@dataclass(frozen=True)
class Positions:
    """P sequences X (P, n + 1, d), y (P, n + 1), with an answer wanted at each of them but the first: R = n."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def draw(cls, law: Law, rng: np.random.Generator, P: int, R: int = 0) -> "Positions":
        """P sequences of n + 1 pairs; R is not looked at."""
        return cls(*sequences(law, rng, P, law.n + 1))

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """What a model is called with: X (P, n + 1, d), y (P, n + 1)."""
        return self.X, self.y

    @property
    def asked(self) -> np.ndarray:
        """The covariates at which an answer is wanted, (P, n, d)."""
        return self.X[:, 1:]

    @property
    def labels(self) -> np.ndarray:
        """y_2, …, y_{n+1}, (P, n)."""
        return self.y[:, 1:]

    @property
    def seen(self) -> np.ndarray:
        """How many examples stand before each answer: 1, …, n, (n,)."""
        return np.arange(1, self.X.shape[1])

    @cached_property
    def prefixes(self) -> Prefixes:
        """For GD, Newton, ridge and least squares."""
        return _later(prefixes.decompose(self.X, self.y))

    @property
    def spectra(self) -> np.ndarray:
        """The eigenvalues of what stands before each answer, (P, n, d)."""
        return self.prefixes.eigenvalues

    def from_start(self, beta: np.ndarray, root: np.ndarray) -> tuple[Prefixes, np.ndarray]:
        """As `Queries.from_start`; beta (d,), root (d, d)."""
        return _later(prefixes.decompose(self.X @ root, self.y - self.X @ beta)), self.asked @ beta

    def moments(self, beta: np.ndarray) -> np.ndarray:
        """X'(y − X beta) of the examples before each answer, (P, n, d); beta (d,)."""
        terms = self.X * (self.y - self.X @ beta)[..., None]
        return np.cumsum(terms, 1)[:, :-1]

    def online(self, rates) -> np.ndarray:
        """Answers (P, n, K) of one pass, each before its label is seen, at each of K rates."""
        return online_gradient_descent(self.X, self.y, rates)[:, 1:]

    def part(self, which: slice) -> "Positions":
        """Some of the sequences."""
        return Positions(self.X[which], self.y[which])


Questions = Queries | Positions


def _later(found: Prefixes) -> Prefixes:
    return Prefixes(found.eigenvalues[:, 1:], found.weights[:, 1:], found.dtype)
