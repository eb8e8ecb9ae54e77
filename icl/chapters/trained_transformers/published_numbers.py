"""Numbers that papers print, to be set beside this book's; each with its source and, where known, its precision."""

import json
from dataclasses import dataclass
from importlib.resources import files

import numpy as np


@dataclass(frozen=True)
class SimilarityMaps:
    """Similarity of errors of 12 layers with two algorithms: newton (23, 12) and gd (13, 12), rows are step counts.

    labels (12,) are the Newton step counts that the paper prints as each layer's best match.
    """

    newton_steps: np.ndarray
    newton: np.ndarray
    gd_steps: np.ndarray
    gd: np.ndarray
    labels: np.ndarray


def fu2024_similarity() -> SimilarityMaps:
    """Fu et al. (2024), Figs. 7, 8 and 10, three decimals: 12 layers, 8 heads, width 256, d = 20, n = 40, one seed."""
    text = files("icl.chapters.trained_transformers").joinpath("fu2024_similarity.json").read_text(encoding="utf-8")
    found = json.loads(text)
    keys = ("newton_steps", "newton", "gd_steps", "gd", "fig7_labels")
    return SimilarityMaps(*(np.array(found[key]) for key in keys))


# Fu et al. (2024), §5: similarity to Newton, gradient descent and online gradient descent, each at its best setting.
FU2024_LSTM = {"transformer": (0.991, 0.957, 0.806), "lstm": (0.920, 0.916, 0.954)}
