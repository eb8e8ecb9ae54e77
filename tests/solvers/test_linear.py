"""Classical learners against NumPy's own, one prompt at a time."""

import numpy as np
import pytest

from icl.prompts import PromptLaw
from icl.solvers.linear import gradient_step, least_squares, ridge
from icl.validation import InputError


@pytest.mark.parametrize("d, n", [(3, 8), (5, 2), (1, 1)])
def test_batches_equal_loops(rng, d, n):
    batch = PromptLaw.isotropic(d, n, 0.3).sample(rng, 6)
    pairs = list(zip(batch.X, batch.y, strict=True))
    np.testing.assert_allclose(gradient_step(batch.X, batch.y, 0.1), [0.1 * X.T @ y for X, y in pairs])
    np.testing.assert_allclose(
        least_squares(batch.X, batch.y), [np.linalg.lstsq(X, y, rcond=None)[0] for X, y in pairs], atol=1e-10
    )
    augmented = [
        np.linalg.lstsq(np.vstack([X, np.sqrt(0.3) * np.eye(d)]), np.r_[y, np.zeros(d)], rcond=None)[0]
        for X, y in pairs
    ]
    np.testing.assert_allclose(ridge(batch.X, batch.y, 0.3), augmented, atol=1e-10)


def test_ridge_without_penalty_is_least_squares(rng):
    batch = PromptLaw.isotropic(4, 2, 0.3).sample(rng, 3)
    np.testing.assert_array_equal(ridge(batch.X, batch.y, 0), least_squares(batch.X, batch.y))


def test_negative_penalty(rng):
    with pytest.raises(InputError, match="penalty"):
        ridge(np.zeros((1, 2, 2)), np.zeros((1, 2)), -1.0)
