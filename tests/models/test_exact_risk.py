"""The exact population risk against Wick expansion, Monte Carlo, finite differences and invariances."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import assert_within_errors, estimate, random_covariance, random_law, random_weights, wick_risk

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.prompts import PromptLaw
from icl.theory.one_step_gd import one_step_risk
from icl.validation import InputError


@pytest.mark.parametrize("d, n", [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2)])
def test_equals_wick_expansion(rng, d, n):
    law, weights = random_law(rng, d, n), random_weights(rng, d, scale=1.0)
    assert ExactRisk(law)(weights).item() == pytest.approx(wick_risk(law, weights), rel=1e-11)


@pytest.mark.parametrize("rank", [1, 3])
def test_agrees_with_monte_carlo(rng, rank):
    d, n = 3, 6
    law = PromptLaw(n, random_covariance(rng, d, rank), random_covariance(rng, d), rng.standard_normal(d), 0.4)
    weights = random_weights(rng, d)

    def draw(B):
        batch = law.sample(rng, B)
        f = weights.predict(*map(torch.from_numpy, (batch.X, batch.y, batch.x_query))).numpy()
        return (f - batch.y_query) ** 2

    assert_within_errors(estimate(draw, 400_000), ExactRisk(law)(weights).item())


@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 9))
def test_rotating_the_problem_rotates_the_weights(seed, d, n):
    rng = np.random.default_rng(seed)
    law, weights = random_law(rng, d, n), random_weights(rng, d)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    turned_law = PromptLaw(n, Q @ law.H @ Q.T, Q @ law.Psi @ Q.T, Q @ law.beta_star, law.sigma2)
    part = weights.numpy()
    turned = EffectiveParameters.from_numpy(
        Q @ part["w1"], Q @ part["v"], part["c"], Q @ part["V"] @ Q.T, Q @ part["u"]
    )
    assert ExactRisk(turned_law)(turned).item() == pytest.approx(ExactRisk(law)(weights).item(), rel=1e-9)


@given(st.integers(0, 2**31), st.floats(0.1, 10))
def test_scaling_the_two_factors_against_each_other_changes_nothing(seed, scale):
    rng = np.random.default_rng(seed)
    law, weights = random_law(rng, 3, 5), random_weights(rng, 3)
    part = weights.numpy()
    scaled = EffectiveParameters.from_numpy(
        part["w1"], scale * part["v"], scale * part["c"], part["V"] / scale, part["u"] / scale
    )
    assert ExactRisk(law)(scaled).item() == pytest.approx(ExactRisk(law)(weights).item(), rel=1e-9)


def test_gradient_against_finite_differences(rng):
    law, d = random_law(rng, 3, 4), 3
    risk = ExactRisk(law)
    sizes = [d, d, 1, d * d, d]

    def loss(t):
        w1, v, c, V, u = torch.split(t, sizes)
        return risk(EffectiveParameters(w1, v, c[0], V.reshape(d, d), u))

    point = torch.from_numpy(0.5 * rng.standard_normal(sum(sizes))).requires_grad_()
    assert torch.autograd.gradcheck(loss, point, atol=1e-6, rtol=1e-6)


def test_of_one_gradient_step(rng):
    d, n, sigma2, eta = 4, 7, 0.3, 0.05
    weights = EffectiveParameters.from_numpy(np.zeros(d), np.zeros(d), 1.0, n * eta * np.eye(d), np.zeros(d))
    risk = ExactRisk(PromptLaw.isotropic(d, n, sigma2))(weights).item()
    assert risk == pytest.approx(float(one_step_risk(eta, d, n, sigma2)), rel=1e-13)


def test_weights_of_another_dimension_are_refused(rng):
    with pytest.raises(InputError, match="d = 2, but the prompts have d = 3"):
        ExactRisk(random_law(rng, 3, 4))(random_weights(rng, 2))
