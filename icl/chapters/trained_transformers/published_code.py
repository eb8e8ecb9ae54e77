"""Chapter 7: where the public code or the figures of Fu et al. (2024) differ from what the paper says, in numbers."""

from dataclasses import dataclass

import numpy as np

from icl.chapters.trained_transformers.published_numbers import SimilarityMaps
from icl.chapters.trained_transformers.sequence_laws import ill_conditioned

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
