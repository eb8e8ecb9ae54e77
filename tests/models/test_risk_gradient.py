"""The gradient written out against autograd's, for every model that is minimised with it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import random_covariance, random_weights

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta_model import GDBeta
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.validation import InputError

MODELS = {
    "attention": lambda d, rng: LinearSelfAttention(d, rng=rng, scale=0.7),
    "unscaled attention": lambda d, rng: LinearSelfAttention(d, 2, 3, rng=rng, scale=0.7, normalised=False),
    "block": lambda d, rng: LinearTransformerBlock(d, rng=rng, scale=0.7),
    "narrow block": lambda d, rng: LinearTransformerBlock(d, 2, 3, 1, rng=rng, scale=0.7),
    "GD-β": lambda d, rng: GDBeta(rng.standard_normal(d), rng.standard_normal((d, d))),
}


def random_problem(rng, d, n, sigma2=0.4):
    H, Psi = random_covariance(rng, d, int(rng.integers(1, d + 1))), random_covariance(rng, d)
    return PromptLaw(n, H, Psi, rng.standard_normal(d), sigma2)


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 2**31), d=st.integers(1, 5), n=st.integers(1, 30), sigma2=st.sampled_from([0.0, 0.7]))
def test_it_is_autograd_s(name, seed, d, n, sigma2):
    rng = np.random.default_rng(seed)
    law, model = random_problem(rng, d, n, sigma2), MODELS[name](d, rng)
    risk = ExactRisk(law)(model.effective(n))
    expected = [part.numpy() for part in torch.autograd.grad(risk, list(model.parameters()))]
    written = RiskGradient(law)
    value, found = written.of_model(model)
    assert value + written.constant == pytest.approx(risk.item(), rel=1e-11)
    scale = max(np.abs(part).max() for part in expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize("name", MODELS)
def test_what_a_descent_reads_off_a_model_is_its_effective_weights(name, rng):
    model = MODELS[name](3, rng)
    expected, found = model.effective(7).numpy(), model.effective_arrays(7)
    assert found.keys() == expected.keys()
    for part, values in expected.items():
        np.testing.assert_allclose(found[part], values, rtol=1e-14, err_msg=part)


def test_many_weights_at_once_are_each_by_itself(rng):
    law = random_problem(rng, 3, 8)
    written, each = RiskGradient(law), [random_weights(rng, 3).numpy() for _ in range(5)]
    values, gradients = written.of_parts(**{name: np.stack([one[name] for one in each]) for name in each[0]})
    for k, one in enumerate(each):
        value, gradient = written.of_parts(**one)
        assert values[k] == pytest.approx(value, rel=1e-13)
        for name, part in gradient.items():
            np.testing.assert_allclose(gradients[name][k], part, rtol=1e-11, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("unit", [1.0, 0.01, 3.0])
def test_predictions_may_be_told_in_a_unit(rng, unit):
    law, weights = random_problem(rng, 3, 8), random_weights(rng, 3)
    told = RiskGradient(law, unit)
    value, gradient = told(weights)
    assert value * unit**2 + told.constant == pytest.approx(ExactRisk(law)(weights.magnified(unit)).item(), rel=1e-11)
    for name, part in weights.numpy().items():
        step = 1e-6 * rng.standard_normal(part.shape)
        ends = [told(EffectiveParameters.from_numpy(**weights.numpy() | {name: part + k * step}))[0] for k in (1, -1)]
        assert (ends[0] - ends[1]) / 2 == pytest.approx(float((gradient[name] * step).sum()), rel=1e-6)


def test_weights_of_another_dimension_are_refused(rng):
    with pytest.raises(InputError, match="d = 2, but the prompts have d = 3"):
        RiskGradient(random_problem(rng, 3, 4))(random_weights(rng, 2))
