"""Where the code and figures of Fu et al. (2024) differ from the paper: starts, rotations, labels, done by hand."""

from dataclasses import replace

import numpy as np
import pytest

from icl import probes
from icl.chapters.trained_transformers import probing, published_code, published_pictures, sequence_laws
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


@pytest.fixture
def sequences(rng):
    return probing.Sequences(*sequence_laws.linear(rng, 40, 7, 4))


def test_the_public_algorithms_are_the_iterations_as_written(sequences):
    published = replace(fu2024_similarity(), newton_steps=np.array([1, 3]), gd_steps=np.array([1, 2, 4]))
    newton, descent = published_code.algorithms(sequences, published)
    for t in (1, 3, 6):
        X, y, asked, answer = (part[0] for part in (sequences.X, sequences.y, sequences.X[:, t:], sequences.y[:, t:]))
        S, b = X[:t].T @ X[:t], X[:t].T @ y[:t]
        M, w = S / np.linalg.norm(S @ S.T), np.zeros(4)
        for k in range(1, 5):
            M, w = 2 * M - M @ S @ M, w - 0.01 * (S @ w - b)
            for found, estimate in ((newton, M @ b), (descent, w)):
                for row in np.flatnonzero(found.steps == k):
                    assert found.residuals[row, 0, t - 1] == pytest.approx(asked[0] @ estimate - answer[0], abs=1e-9)


def test_what_is_demanded_is_never_more_than_there_is(rng):
    base, sizes = rng.standard_normal((30, 6)), ((0.3, 2), (0.05, 5), (0.1, 3))
    ours, newton, descent = (base + size * rng.standard_normal((count, 30, 6)) for size, count in sizes)
    between = lambda a, b: probes.similarities(a, b).mean(-1)
    least = published_code.demanded(between(newton, ours), between(newton, descent))
    assert least.shape == (3, 2) and (least <= between(descent, ours)).all()


def test_what_is_demanded_is_nearly_reached_in_a_plane():
    # at angles 0.1 and 0.05 on either side of Newton
    least = published_code.demanded(np.array([[np.cos(0.1)]]), np.array([[np.cos(0.05)]]))
    assert least[0, 0] == pytest.approx(np.cos(0.15), abs=1e-4) and least[0, 0] < np.cos(0.15)
    assert published_code.demanded(np.array([[0.7]]), np.array([[1.0]])) == pytest.approx(0.7), "they are the same"


def test_maps_of_one_model_fit_and_a_number_too_small_is_found(sequences, rng):
    published = fu2024_similarity()
    newton, descent = published_code.algorithms(sequences, published)
    model = newton.residuals[[3, 9]] + 0.02 * rng.standard_normal((2, *newton.residuals.shape[1:]))
    seen = lambda found: probes.similarities(*map(sequences.whole, (found, model))).mean(-1).round(3)
    fitting = replace(published, newton=seen(newton.residuals), gd=seen(descent.residuals))
    found = published_code.printed_maps(sequences, fitting, newton, descent, rng)
    assert found.short == 0 and found.shortfall.mean < 0 and found.demanded.shape == (13, 2)
    fitting.gd[6, 1] = found.demanded[6, 1] - 0.01
    found = published_code.printed_maps(sequences, fitting, newton, descent, rng)
    assert found.short == 1 and found.shortfall.mean == pytest.approx(0.01 - published_code.ROUNDING)
    assert found.shortfall.stderr > 0


def test_the_last_layer_s_rows_are_drawn_as_they_are(rng):
    published, least = fu2024_similarity(), np.linspace(0.5, 0.99, 13)
    rows = {name: rng.uniform(0.9, 1, 13) for name in ("in print", "from 0", "elsewhere")}
    columns = published_pictures.last_layer(published.gd_steps, least, rows).columns
    np.testing.assert_array_equal(columns["row_2"], rows["elsewhere"])
    assert list(columns) == ["steps", "least", "row_0", "row_1", "row_2"]


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
