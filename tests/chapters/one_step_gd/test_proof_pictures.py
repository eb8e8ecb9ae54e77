"""The drawings of the proof show the numbers that they say."""

import numpy as np

from icl.chapters.one_step_gd import proof_pictures as pictures


def test_arrows_add_up_to_the_sum_of_the_examples():
    X, y = np.array([[1.0, 2.0], [-3.0, 1.0]]), np.array([2.0, -1.0])
    columns = pictures.prompt_in_the_plane(X, y, np.array([0.5, 0.5]), 0.1).columns
    np.testing.assert_allclose([columns["sum_1"][-1], columns["sum_2"][-1]], X.T @ y)
    np.testing.assert_allclose(columns["step"], 0.1 * X.T @ y)
    np.testing.assert_allclose([columns["sum_1"][0], columns["sum_2"][0]], [2.0, 4.0])


def test_a_tensor_is_shown_by_its_symmetric_part():
    """Six rows hold all that multiplies G, which is symmetric: the prediction is their sum."""
    rng = np.random.default_rng(3)
    T, h, x = rng.standard_normal((3, 3, 2)), rng.standard_normal(3), rng.standard_normal(2)
    columns = pictures.tensor_blocks({"all": T, "none": 0 * T}).columns
    pairs = np.array([h[a] * h[b] for a, b in pictures.PAIRS])
    assert np.isclose(pairs @ columns["all"].reshape(6, 2) @ x, np.einsum("abj,a,b,j->", T, h, h, x))
    assert not columns["none"].any()
