"""The best steps under other losses: reference numbers, convexity, and whole prompts."""

import numpy as np
import pytest
from support import assert_within_errors

from icl.estimates import monte_carlo
from icl.prompts import PromptLaw
from icl.theory import one_step_gd
from icl.theory import other_losses as theory


def test_reference_numbers():
    assert theory.absolute_step(3, 8, 0.25) == pytest.approx(0.0836, abs=5e-5)
    assert theory.logit_step(3, 10) == pytest.approx(0.1260, abs=5e-5)
    assert theory.logit_loss(theory.logit_step(3, 10), 3, 10) == pytest.approx(0.6140, abs=5e-5)
    assert theory.logit_loss(0.0, 3, 10) == pytest.approx(np.log(2), abs=1e-9)


@pytest.mark.parametrize(
    "d, n, sigma2, eta", [(3, 8, 0.25, 0.1), (2, 5, 0.0, 0.2), (1, 4, 0.6, 0.15), (7, 3, 2.0, 0.03)]
)
def test_absolute_loss_on_whole_prompts(rng, d, n, sigma2, eta):
    law = PromptLaw.isotropic(d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        return np.abs(eta * np.einsum("bnd,bn,bd->b", batch.X, batch.y, batch.x_query) - batch.y_query)

    assert_within_errors(monte_carlo(draw, 200_000), theory.absolute_loss(eta, d, n, sigma2))


@pytest.mark.parametrize("d, n, eta", [(3, 10, 0.126), (1, 3, 0.4), (6, 25, 0.08)])
def test_cross_entropy_on_whole_prompts(rng, d, n, eta):
    def draw(B):
        w, x = rng.standard_normal((B, d, 1)), rng.standard_normal((B, n + 1, d))
        y = np.where(rng.random((B, n + 1)) < 1 / (1 + np.exp(-(x @ w)[..., 0])), 1, -1)
        guess = eta * np.einsum("bnd,bn,bd->b", x[:, :n], y[:, :n], x[:, n])
        return np.logaddexp(0, -guess * y[:, n])

    assert_within_errors(monte_carlo(draw, 200_000), theory.logit_loss(eta, d, n))


@pytest.mark.parametrize("loss, step", [("absolute", "absolute_step"), ("logit", "logit_step")])
def test_the_losses_are_convex_and_least_at_the_step(loss, step):
    size = (4, 9, 0.3) if loss == "absolute" else (4, 9)
    value = lambda eta: getattr(theory, f"{loss}_loss")(eta, *size)
    best = getattr(theory, step)(*size)
    values = [value(eta) for eta in np.linspace(0, 3 * best, 13)]
    assert (np.diff(values, 2) > 0).all()
    assert value(best) < min(value(0.98 * best), value(1.02 * best))


def test_long_contexts_take_the_step_of_squared_loss():
    """Then |ŷ − y| has one size on nearly all prompts."""
    assert theory.absolute_step(2, 4000, 0.5) == pytest.approx(one_step_gd.step_size(2, 4000, 0.5), rel=2e-3)


def test_softplus_mean():
    g, w = np.polynomial.hermite_e.hermegauss(120)
    for s in (0.0, 0.7, 3.0):
        assert theory.softplus_mean(s) == pytest.approx(np.logaddexp(0, s * g) @ w / w.sum(), abs=1e-7)
    near, far = theory.softplus_mean(np.array([39.999, 40.001]))
    assert far == pytest.approx(near, abs=2e-3)
