"""Prompts that several solvers are tried on."""

import numpy as np
import pytest


@pytest.fixture
def prompts(rng):
    """X (4, 14, 5) and noisy linear labels y (4, 14)."""
    X = rng.standard_normal((4, 14, 5))
    return X, np.einsum("btd,bd->bt", X, rng.standard_normal((4, 5))) + 0.2 * rng.standard_normal((4, 14))
