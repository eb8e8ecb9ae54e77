"""Causal stacks: the end is one pass of projections, and its risk."""

import numpy as np
import pytest
from support import assert_within_errors

from icl.estimates import monte_carlo
from icl.prompts import PromptLaw
from icl.theory import causal_stack as theory


@pytest.mark.parametrize("d, n, sigma2", [(6, 9, 0.5), (7, 30, 1.2), (3, 5, 0.0), (1, 4, 0.0)])
def test_risk_of_the_end(rng, d, n, sigma2):
    law = PromptLaw.isotropic(d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        return sigma2 + ((theory.projections(batch.X, batch.y) - batch.beta) ** 2).sum(1)

    found = monte_carlo(draw, 60_000)
    if d == 1:
        assert found.mean < 1e-20 and theory.limit_risk(d, n, sigma2) == 0
    else:
        assert_within_errors(found, theory.limit_risk(d, n, sigma2))


def test_a_deep_stack_ends_there_and_a_prefix_stack_at_least_squares(rng):
    batch = PromptLaw.isotropic(6, 8, 0.3).sample(rng, 3)
    X, y = batch.X, batch.y
    for k in range(3):
        one, label = X[k : k + 1], y[k : k + 1]
        gram = X[k] @ X[k].T
        causal = theory.stacked(one, label, 1 / gram.diagonal().max(), 5000, causal=True)[0]
        assert causal == pytest.approx(X[k].T @ np.linalg.solve(np.tril(gram), y[k]), abs=1e-8)
        assert causal == pytest.approx(theory.projections(one, label)[0], abs=1e-8)
        prefix = theory.stacked(one, label, 1 / np.linalg.norm(gram, 2), 60_000, causal=False)[0]
        assert prefix == pytest.approx(np.linalg.pinv(X[k]) @ y[k], abs=1e-6)


def test_one_layer_is_one_step_under_both_masks(rng):
    batch = PromptLaw.isotropic(4, 5, 0.3).sample(rng, 2)
    for causal in (True, False):
        found = theory.stacked(batch.X, batch.y, 0.07, 1, causal=causal)
        assert found == pytest.approx(0.07 * np.einsum("bni,bn->bi", batch.X, batch.y))


def test_limits():
    assert theory.limit_risk(5, 20, 0.25) == pytest.approx(0.7195089, abs=1e-7)
    assert theory.limit_risk(6, 4000, 0.7) == pytest.approx(theory.endless_risk(6, 0.7)) == pytest.approx(0.7 * 2.5)
    assert theory.limit_risk(2, 5, 0.1) == theory.endless_risk(1, 0.1) == np.inf
    assert theory.limit_risk(2, 5, 0.0) == 2 / 32 and theory.endless_risk(2, 0.0) == 0
