"""Chapter 7: where the public code or the figures of Fu et al. (2024) differ from what the paper says, in numbers."""

from dataclasses import dataclass

import numpy as np

from icl import probes
from icl.chapters.trained_transformers.probing import DRAWS, Algorithm, Positions
from icl.chapters.trained_transformers.published_numbers import SimilarityMaps
from icl.chapters.trained_transformers.sequence_laws import ill_conditioned
from icl.estimates import Estimate
from icl.solvers import prefixes

ROUNDING = 0.0005  # of a number printed to three decimals
PUBLISHED_BATCH = (64, 41, 20)  # sequences, pairs, covariates: Fu et al. (2024)


def pooled_condition(rng: np.random.Generator, *, shared: bool) -> float:
    """Condition number of Σ x x' over a whole published batch of ill-conditioned sequences."""
    X, _ = ill_conditioned(rng, *PUBLISHED_BATCH, shared=shared)
    return float(np.linalg.cond(X.reshape(-1, X.shape[-1])) ** 2)


@dataclass(frozen=True)
class Slip:
    """A layer whose printed best match is not the best one in the printed map: step counts and similarities."""

    layer: int
    label: int
    at_label: float
    best: int
    at_best: float


def label_slips(published: SimilarityMaps) -> tuple[list[Slip], int]:
    """Layers whose label has less than the largest similarity, to the decimals printed; and how many labels tie."""
    at_label = published.newton[np.searchsorted(published.newton_steps, published.labels), range(len(published.labels))]
    largest = published.newton.max(0)
    best = published.newton_steps[published.newton.argmax(0)]
    slips = [
        Slip(int(layer) + 1, int(published.labels[layer]), at_label[layer], int(best[layer]), largest[layer])
        for layer in np.flatnonzero(at_label < largest)
    ]
    ties = (published.newton == largest).sum(0) > 1
    return slips, int((ties & (at_label == largest)).sum())


def algorithms(test: Positions, published: SimilarityMaps) -> tuple[Algorithm, Algorithm]:
    """Newton and gradient descent as in the public code, both from w = 0, after the printed maps' step counts:
    alpha = 1 / |S S'|_F, and one step size 0.01 for all contexts."""
    newton = prefixes.newton(test.prefixes, published.newton_steps, alpha="frobenius")
    descent = prefixes.gradient_descent(test.prefixes, published.gd_steps, eta=0.01)
    return Algorithm.of(test, published.newton_steps, newton), Algorithm.of(test, published.gd_steps, descent)


def demanded(newton: np.ndarray, likeness: np.ndarray) -> np.ndarray:
    """The least similarities (…, 13, 12) with gradient descent after each step count that those with Newton, newton
    (23, 12), allow, where the two algorithms have the similarities likeness (…, 23, 13) with each other.

    SimE(A, C) ≥ α − 2 √((1 − α) (1 − β)) − (1 − β), α = SimE(A, B) and β = SimE(B, C): this book, chapter 7.
    """
    alpha, apart = newton[:, None], np.maximum(1 - likeness, 0)[..., None]
    return (alpha - 2 * np.sqrt((1 - alpha) * apart) - apart).max(-3)


@dataclass(frozen=True)
class PrintedMaps:
    """What the printed map of Newton demands of that of gradient descent: demanded (13, 12); of how many entries the
    print has less, beyond rounding; and the largest shortfall."""

    demanded: np.ndarray
    short: int
    shortfall: Estimate


def printed_maps(
    test: Positions, published: SimilarityMaps, newton: Algorithm, descent: Algorithm, rng: np.random.Generator
) -> PrintedMaps:
    """With the likeness of the two algorithms on sequences of the published size; `rng` draws bootstrap samples."""
    each = probes.similarities(test.whole(newton.residuals), test.whole(descent.residuals))
    draws = probes.resampled_means(np.moveaxis(each, -1, 0), DRAWS, rng)
    least, drawn = (demanded(published.newton - ROUNDING, likeness) for likeness in (each.mean(-1), draws))
    lack, lacks = (demand - (published.gd + ROUNDING) for demand in (least, drawn))
    stderr = lacks.max((-1, -2)).std(ddof=1)
    return PrintedMaps(least, int((lack > 0).sum()), Estimate(float(lack.max()), float(stderr), DRAWS))
