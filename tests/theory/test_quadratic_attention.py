"""Attention on products of covariates, on targets x'Qx."""

import numpy as np
import pytest
from support import assert_within_errors

from icl.estimates import monte_carlo
from icl.targets import FAMILIES, TargetLaw
from icl.theory import quadratic_attention as theory


@pytest.mark.parametrize("d, n, sigma2", [(3, 6, 0.5), (2, 1, 0.0), (1, 9, 0.4), (4, 30, 2.0)])
def test_moments_on_random_prompts(rng, d, n, sigma2):
    law = TargetLaw(FAMILIES["quadratic"], d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        M = np.einsum("bn,bni,bnj->bij", batch.y, batch.X, batch.X)
        x, y = batch.x_query, batch.y_query
        g = np.stack([np.einsum("bi,bij,bj->b", x, M, x), np.trace(M, axis1=1, axis2=2) * (x**2).sum(1)], axis=1)
        rates = theory.rates(d, n, sigma2)
        return np.column_stack([g[:, 0] ** 2, g[:, 0] * g[:, 1], g[:, 1] ** 2, g * y[:, None], (g @ rates - y) ** 2])

    G, b = theory.system(d, n, sigma2)
    expected = np.r_[G[0, 0], G[0, 1], G[1, 1], b, theory.minimal_risk(d, n, sigma2)]
    assert_within_errors(monte_carlo(draw, 300_000), expected)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_limits(d):
    risks = [theory.minimal_risk(d, n, 0.3) for n in (1, 4, 30, 1000, 10**7)]
    assert (np.diff(risks) < 0).all() and risks[0] < theory.linear_floor(d, 0.3) == 0.3 + d * (d + 2)
    assert risks[-1] == pytest.approx(0.3, abs=2e-3)


def test_at_d1_it_is_one_step_on_squares():
    """f = q x²: features x², E x⁴ = 3, E x⁸ = 105."""
    n, sigma2 = 7, 0.4
    second = n * (105 + 3 * sigma2) + n * (n - 1) * 9  # E (Σ y x²)²
    assert theory.minimal_risk(1, n, sigma2) == pytest.approx(sigma2 + 3 - (3 * n * 3) ** 2 / (3 * second))
