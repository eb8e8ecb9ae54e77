"""Chapter 7's probes: hidden states of trained models, read out layer by layer and set beside the algorithms.

*Queries*: a context of n examples and several queries. *Positions*: one sequence, as Fu et al. (2024) have it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from icl import probes
from icl.chapters.trained_transformers.recipes import Recipe
from icl.chapters.trained_transformers.sequence_laws import LAWS
from icl.estimates import Estimate
from icl.solvers import iterations, prefixes, queries
from icl.solvers.prefixes import Prefixes

TEST, TRAIN = 2048, 1024  # prompts to test probes on, and to fit them on
AT_ONCE = 128  # sequences in one run of a decoder: all layers' states of more would fill the memory
DRAWS = 200  # bootstrap samples of the test prompts
NEWTON_STEPS = np.arange(0, 25)
GD_STEPS = np.unique(np.round(2 ** np.arange(0, 13.01, 0.25)).astype(int))  # 1 … 8192, four to a doubling


@dataclass(frozen=True)
class Queries:
    """P contexts X (P, n, d), y (P, n), each with R queries (P, R, d) and their labels, answers (P, R)."""

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    answers: np.ndarray

    @classmethod
    def draw(cls, recipe: Recipe, P: int, rng: np.random.Generator) -> "Queries":
        """Prompts of the recipe's law and sizes."""
        n = recipe.n
        X, y = LAWS[recipe.law](rng, P, n + recipe.queries, recipe.model.d)
        return cls(X[:, :n], y[:, :n], X[:, n:], y[:, n:])

    @cached_property
    def prefixes(self) -> Prefixes:
        """For GD, Newton, ridge and least squares."""
        return queries.decompose(self.X, self.y, self.queries)

    def iterated(self, steps: Iterable[int], iteration) -> np.ndarray:
        """Predictions (P, R, K) of another iterative solver."""
        return queries.iterated(self.X, self.y, self.queries, steps, iteration)

    def states(self, model: torch.nn.Module) -> torch.Tensor:
        """Hidden states (layers + 1, P, R, C) at the queries."""
        return _states(model, self.X, self.y, self.queries)


@dataclass(frozen=True)
class Positions:
    """P sequences X (P, T, d), y (P, T); answers (P, T − 1) are the labels after the first, which nothing foretells."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def draw(cls, recipe: Recipe, P: int, rng: np.random.Generator) -> "Positions":
        """Sequences of n + 1 pairs of the recipe's law."""
        return cls(*LAWS[recipe.law](rng, P, recipe.n + 1, recipe.model.d))

    @property
    def answers(self) -> np.ndarray:
        """y_2, …, y_T."""
        return self.y[:, 1:]

    @cached_property
    def prefixes(self) -> Prefixes:
        """For GD, Newton, ridge and least squares."""
        found = prefixes.decompose(self.X, self.y)
        return Prefixes(found.eigenvalues[:, 1:], found.weights[:, 1:], found.dtype)

    def iterated(self, steps: Iterable[int], iteration) -> np.ndarray:
        """Predictions (P, T − 1, K) of another iterative solver."""
        return iterations.all_prefixes(self.X, self.y, steps, iteration)[:, 1:]

    def states(self, model: torch.nn.Module) -> torch.Tensor:
        """Hidden states (layers + 1, P, T − 1, C), one run of the encoder for each prefix."""
        return torch.cat([_states(model, *self._asked(t)) for t in range(1, self.y.shape[1])], dim=2)

    def whole(self, residuals: np.ndarray) -> np.ndarray:
        """Residuals (…, P, T) with the first position's, −y_1, in front: every algorithm predicts 0 there."""
        first = np.broadcast_to(-self.y[:, :1], (*residuals.shape[:-1], 1))
        return np.concatenate([first, residuals], axis=-1)

    def _asked(self, t):
        return self.X[:, :t], self.y[:, :t], self.X[:, t : t + 1]


class Sequences(Positions):
    """The same for a decoder, which answers at all positions in one run."""

    def states(self, model: torch.nn.Module) -> torch.Tensor:
        """Hidden states (layers + 1, P, T − 1, C)."""
        parts = zip(*(whole.split(AT_ONCE) for whole in _tensors(self.X, self.y)), strict=True)
        with torch.no_grad():
            return torch.cat([torch.stack(model.states(*part))[:, :, 1:] for part in parts], dim=1)


Questions = Queries | Positions


@dataclass(frozen=True)
class Algorithm:
    """Residuals (K, P, R) of an algorithm after each of K step counts."""

    steps: np.ndarray
    residuals: np.ndarray

    @classmethod
    def of(cls, test: Questions, steps: Iterable[int], predictions: np.ndarray) -> "Algorithm":
        """From predictions (P, R, K)."""
        return cls(np.asarray(steps), np.moveaxis(predictions - test.answers[..., None], -1, 0))


def newton(test: Questions) -> Algorithm:
    """Newton's iteration with alpha = 1 / λ_max² of each context; Fu et al. (2024), §4, with a step that converges."""
    return Algorithm.of(test, NEWTON_STEPS, prefixes.newton(test.prefixes, NEWTON_STEPS))


def gradient_descent(test: Questions) -> Algorithm:
    """Gradient descent with eta = 1 / λ_max of each context."""
    return Algorithm.of(test, GD_STEPS, prefixes.gradient_descent(test.prefixes, GD_STEPS))


def iterated(test: Questions, iteration) -> Algorithm:
    """Another iterative solver, on Newton's step counts."""
    return Algorithm.of(test, NEWTON_STEPS, test.iterated(NEWTON_STEPS, iteration))


@dataclass(frozen=True)
class Probed:
    """A trained model: residuals (layers + 1, P, R) of ReadOuts before (`raw`) and behind (`normed`) its final
    LayerNorm, and residuals (P, R) of its own output."""

    raw: np.ndarray
    normed: np.ndarray
    own: np.ndarray

    @property
    def published(self) -> np.ndarray:
        """As in Fu et al.'s public code: the last layer behind the final LayerNorm, the others before it."""
        return np.concatenate([self.raw[:-1], self.normed[-1:]])


def probe(model: torch.nn.Module, train: Questions, test: Questions, targets: np.ndarray | None = None) -> Probed:
    """Fit every layer's ReadOuts on `train`, to its answers or to other `targets` (P, R), and test them on `test`."""
    targets = train.answers if targets is None else targets
    seen, asked = train.states(model), test.states(model)
    residuals = []
    for transform in (torch.nn.Identity(), model.norm):
        with torch.no_grad():
            fit, new = transform(seen).numpy(), transform(asked).numpy()
        residuals.append(probes.fit_readouts(fit, targets)(new) - test.answers)
    return Probed(*residuals, outputs(model, asked) - test.answers)


@torch.no_grad()
def outputs(model: torch.nn.Module, states: torch.Tensor) -> np.ndarray:
    """A model's own predictions (P, R), from the hidden states (layers + 1, P, R, C) that it has at the queries."""
    unit = getattr(getattr(model, "config", None), "label_unit", 1.0)
    return model.read_out(model.norm(states[-1]))[..., 0].double().numpy() * unit


def errors(residuals: np.ndarray) -> np.ndarray:
    """Mean squared error of each prompt, (…, P), from residuals (…, P, R)."""
    return (residuals**2).mean(-1)


@dataclass(frozen=True)
class Matching:
    """Error-matched step counts of S runs and their layers, (S, layers + 1), and the same for bootstrap samples of
    the test prompts, (draws, S, layers + 1)."""

    steps: np.ndarray
    draws: np.ndarray

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The middle 95 % of the bootstrap samples, each (S, layers + 1)."""
        low, high = np.quantile(self.draws, [0.025, 0.975], axis=0)
        return low, high

    def statistic(self, function: Callable[[np.ndarray], np.ndarray]) -> Estimate:
        """A function of the step counts (…, layers + 1) → (…), its mean over runs, with errors of prompts and runs."""
        found, draws = function(self.steps), function(self.draws)
        runs = found.var(ddof=1) / len(found) if len(found) > 1 else 0.0
        return Estimate(float(found.mean()), float(np.sqrt(draws.mean(-1).var(ddof=1) + runs)), len(self.draws))


def match(
    runs: list[np.ndarray], algorithm: Algorithm, rng: np.random.Generator, *, logarithmic: bool, noise: float = 0.0
) -> Matching:
    """Error-matched step counts for runs of residuals (layers + 1, P, R); `noise`, a variance, is not held against
    either side."""
    each = np.concatenate([errors(np.concatenate(runs)), errors(algorithm.residuals)]).T  # (P, S (layers + 1) + K)
    means = np.concatenate([each.mean(0)[None], probes.resampled_means(each, DRAWS, rng)])
    means = np.maximum(means - noise, 1e-300)
    cut = each.shape[1] - len(algorithm.steps)
    found = probes.matched_steps(means[:, :cut], algorithm.steps, means[:, cut:], logarithmic=logarithmic)
    found = found.reshape(len(found), len(runs), -1)
    return Matching(found[0], found[1:])


@dataclass(frozen=True)
class Similarity:
    """SimE with one algorithm: maps (layers + 1, K), and bootstrap samples of them (draws, layers + 1, K)."""

    steps: np.ndarray
    map: np.ndarray
    draws: np.ndarray

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each layer the best-matching step count and the similarity there."""
        return self.steps[self.map.argmax(1)], self.map.max(1)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The middle 95 % of the best-matching step counts of the bootstrap samples, each (layers + 1,)."""
        low, high = np.quantile(self.draws.argmax(-1), [0.025, 0.975], axis=0, method="nearest")
        return self.steps[low], self.steps[high]

    def among(self, steps) -> "Similarity":
        """The same with fewer step counts to choose from: those of its own that are in `steps`."""
        kept = np.isin(self.steps, steps)
        return Similarity(self.steps[kept], self.map[:, kept], self.draws[:, :, kept])


def similarity(residuals: np.ndarray, algorithm: Algorithm, rng: np.random.Generator) -> Similarity:
    """SimE of residuals (layers + 1, P, R) with the algorithm's, over its step counts."""
    each = np.moveaxis(probes.similarities(residuals, algorithm.residuals), -1, 0)
    return Similarity(algorithm.steps, each.mean(0), probes.resampled_means(each, DRAWS, rng))


def nearness(residuals: np.ndarray, algorithm: Algorithm, rng: np.random.Generator) -> Similarity:
    """The same by Euclid: minus the root of the mean squared difference of residuals (layers + 1, P, R)."""
    squares = (residuals**2).sum(-1).T[..., None] + (algorithm.residuals**2).sum(-1).T[:, None]  # (P, L + 1, K)
    each = squares - 2 * np.einsum("lpr,kpr->plk", residuals, algorithm.residuals, optimize=True)
    root = lambda means: -np.sqrt(np.maximum(means, 0) / residuals.shape[-1])
    return Similarity(algorithm.steps, root(each.mean(0)), root(probes.resampled_means(each, DRAWS, rng)))


def _tensors(*arrays):
    return (torch.from_numpy(np.ascontiguousarray(array)).float() for array in arrays)


@torch.no_grad()
def _states(model, X, y, asked) -> torch.Tensor:
    return torch.stack(model.states(*_tensors(X, y, asked)))
