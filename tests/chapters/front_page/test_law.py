"""The law of the front page's prompts: its moments, and the exact risk of one layer under it."""

import numpy as np
from support import assert_within_errors, estimate

from icl.chapters.front_page import law
from icl.theory import lines


def test_prompts_have_the_law_s_moments(rng):
    prompts = law.draw(rng, 40_000, 3, 2)
    assert prompts.X.shape == (40_000, 3, 2) and prompts.y.shape == (40_000, 3)
    assert prompts.x_query.shape == (40_000, 2, 2) and prompts.y_query.shape == (40_000, 2)
    u = prompts.X[..., 1]
    assert (prompts.X[..., 0] == 1).all() and np.abs(u).max() <= law.REACH
    np.testing.assert_allclose((u**2).mean(), law.REACH**2 / 3, rtol=0.02)
    size = law.SIZE_SQUARED
    np.testing.assert_allclose((prompts.beta**2).mean(0), size, rtol=0.05)
    np.testing.assert_allclose((prompts.y**2).mean(), size * (1 + law.REACH**2 / 3 + law.SIGMA2), rtol=0.05)
    noise = prompts.y_query - np.einsum("bqd,bd->bq", prompts.x_query, prompts.beta)
    np.testing.assert_allclose((noise**2).mean(), size * law.SIGMA2, rtol=0.05)
    ratio = (noise[:, 0] / prompts.beta[:, 0]) ** 2 < law.SIGMA2  # the size is the same for line and noise
    np.testing.assert_allclose(ratio.mean(), 0.5, atol=0.015)


def test_the_exact_risk_of_one_layer_is_the_measured_one(rng):
    def errors(B):
        found = []
        for n in law.LENGTHS:
            prompts = law.draw(rng, B // law.MOST, n, 1)
            line = lines.one_layer(prompts.X, prompts.y, law.best_step())
            found.append((np.einsum("bqd,bd->bq", prompts.x_query, line) - prompts.y_query)[:, 0] ** 2)
        return np.concatenate(found)

    found = estimate(errors, 120_000, chunk=12_000)
    assert_within_errors(found, law.one_layer_risk())
