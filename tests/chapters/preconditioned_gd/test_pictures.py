"""Chapter 2's two drawings of what the matrix does."""

import numpy as np
import pytest

from icl.chapters.preconditioned_gd import pictures


def test_one_prompt_s_steps_are_whitened_with_their_task():
    H, w = np.diag([8.0, 1.0]), np.array([1.0, 2.0])
    steps = {"gd": np.array([0.4, 0.1]), "preconditioned": w / 2}
    tips = {kind: np.array([step, 2 * step, 3 * step]) for kind, step in steps.items()}
    columns = pictures.one_prompt(H, w, steps, tips).columns
    np.testing.assert_allclose(columns["task_whitened"], [np.sqrt(8), 2])
    np.testing.assert_allclose(columns["preconditioned_step_whitened"], columns["task_whitened"] / 2)
    np.testing.assert_allclose(columns["gd_step_whitened"], [0.4 * np.sqrt(8), 0.1])
    np.testing.assert_allclose(columns["gd_step"], [0.4, 0.1])
    np.testing.assert_allclose(columns["preconditioned_end_2"], [1, 2, 3])


@pytest.mark.parametrize("d", [3, 7])
def test_the_product_is_the_identity_where_the_matrix_is_the_inverse(rng, d):
    H = np.diag(np.arange(1.0, d + 1)) + 0.1
    columns = pictures.weights(H, 0.7, np.eye(d), 0.7 * np.linalg.inv(H)).columns
    np.testing.assert_allclose(columns["product"], np.eye(d).ravel(), atol=1e-12)
    np.testing.assert_array_equal(columns["H"], H.ravel())


def test_entries_are_written_where_there_is_room():
    """Up to 6 × 6, and −0.00 is 0.00."""
    svg = {d: pictures.weights(np.eye(d), 1.0, np.eye(d), np.eye(d) - 1e-5).canvas.axes[0].texts for d in (6, 7)}
    assert len(svg[6]) == 36 and not svg[7]
    shown = pictures.weights(np.eye(2), 1.0, np.eye(2), np.eye(2) - 1e-5).canvas.axes[1].texts
    assert [text.get_text() for text in shown] == ["1.00", "0.00", "0.00", "1.00"]
