"""Where the code and figures of Fu et al. (2024) differ from the paper: starts, rotations, labels, done by hand."""

import numpy as np
import pytest

from icl.chapters.trained_transformers import probing, published_code, sequence_laws
from icl.chapters.trained_transformers import similarity_pictures as pictures
from icl.chapters.trained_transformers.published_numbers import SimilarityMaps, fu2024_similarity


def test_one_rotation_is_seen_in_the_pooled_covariance(rng):
    X, y = sequence_laws.ill_conditioned(rng, 300, 200, 4, shared=True)
    axes = [np.linalg.eigh(x.T @ x)[1][:, 2:] for x in X[:2]]
    assert np.linalg.norm(axes[0].T @ axes[1]) == pytest.approx(np.sqrt(2), rel=0.01), "the same plane in both"
    assert np.mean(X**2) == pytest.approx(1, rel=0.05) and y.shape == (300, 200)
    assert published_code.pooled_condition(rng, shared=True) > 80
    assert published_code.pooled_condition(rng, shared=False) < 3


def test_labels_by_hand():
    newton = np.array([[0.9, 0.5, 0.7], [0.8, 0.6, 0.7], [0.7, 0.5, 0.1]])
    maps = SimilarityMaps(np.array([1, 2, 4]), newton, np.array([1]), np.zeros((1, 3)), np.array([2, 2, 1]))
    slips, ties = published_code.label_slips(maps)
    assert slips == [published_code.Slip(1, 2, 0.8, 1, 0.9)] and ties == 1


def test_the_published_label_of_layer_3():
    slips, ties = published_code.label_slips(fu2024_similarity())
    assert slips == [published_code.Slip(3, 3, 0.927, 2, 0.929)] and ties == 2


def similarity(rng, layers=4, steps=6):
    draws = rng.uniform(0.5, 0.6, (50, layers, steps))
    draws[:, np.arange(layers), np.arange(layers) + 1] = 0.9
    draws[:10, 2, 5] = 0.95  # one draw in five finds layer 2's best at the last step count
    return probing.Similarity(np.arange(0, steps), draws.mean(0), draws)


def test_intervals_of_best_matching_steps(rng):
    found = similarity(rng)
    low, high = found.interval()
    np.testing.assert_array_equal(found.best()[0], [1, 2, 3, 4])
    np.testing.assert_array_equal(low, [1, 2, 3, 4])
    np.testing.assert_array_equal(high, [1, 2, 5, 4])


def test_heat_maps_carry_every_run_s_best_matches(rng):
    published = SimilarityMaps(np.arange(1, 4), np.eye(3), np.arange(1, 6), np.eye(5, 3), np.arange(1, 4))
    runs = [similarity(rng), similarity(rng)]
    columns = pictures.similarity_maps(runs, runs, published).columns
    for algorithm in ("newton", "gd"):
        for run in (0, 1):
            np.testing.assert_array_equal(columns[f"{algorithm}_best_{run}"], [2, 3, 4])
            np.testing.assert_array_equal(columns[f"{algorithm}_high_{run}"], [2, 5, 4])
    np.testing.assert_array_equal(columns["newton_ours"], runs[0].map[1:, 1:].ravel())
