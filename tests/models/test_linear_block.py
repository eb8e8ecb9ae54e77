"""The block is GD-β by Lemma 5.1; several heads against one. Its forward pass: `test_linear_attention`."""

import numpy as np
import pytest
import torch
from multi_head_risk import MultiHeadRisk
from support import random_law

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.linear_block import LinearTransformerBlock
from icl.models.multi_head import MultiHeadAttention, MultiHeadGradient
from icl.prompts import token_matrix
from icl.solvers.linear import gd_beta
from icl.validation import InputError


def test_constructed_block_is_gd_beta(rng):
    law = random_law(rng, 3, 6)
    batch, beta, Gamma = law.sample(rng, 40), rng.standard_normal(3), rng.standard_normal((3, 3))
    block = LinearTransformerBlock(3, key_size=3, value_size=1, width=1, rng=rng)
    label = np.eye(4)[-1:]
    weights = dict(W_K=np.eye(3, 4), W_Q=np.column_stack([Gamma.T, rng.standard_normal(3)]), W_P=label, W_2=label)
    weights |= dict(W_V=np.append(-beta, 1.0)[None], W_1=np.append(beta, 1.0)[None])
    block.load_state_dict({name: torch.from_numpy(matrix) for name, matrix in weights.items()})
    forward = block(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))).detach().numpy()
    step = (gd_beta(batch.X, batch.y, beta, Gamma) * batch.x_query).sum(1)
    np.testing.assert_allclose(forward, step, rtol=1e-11, atol=1e-12)


def test_heads_add_up(rng):
    """One head is `ExactRisk`; a head split in two halves is the same function."""
    law = random_law(rng, 3, 5)
    one = MultiHeadAttention(3, 1, rng=rng)
    single = EffectiveParameters.from_numpy(np.zeros(3), *(part.detach()[0] for part in (one.v, one.c, one.V, one.u)))
    risk = MultiHeadRisk(law)
    assert risk(one).item() == pytest.approx(ExactRisk(law)(single).item(), rel=1e-12)
    two = MultiHeadAttention(3, 2, rng=rng)
    with torch.no_grad():
        for name in ("v", "c", "V", "u"):
            getattr(two, name).copy_(torch.cat([getattr(one, name)] * 2))
        two.v *= 0.5
        two.c *= 0.5
    assert risk(two).item() == pytest.approx(risk(one).item(), rel=1e-12)


def test_heads_against_prompts(rng):
    law = random_law(rng, 2, 4)
    model, batch = MultiHeadAttention(2, 3, rng=rng), law.sample(rng, 200_000)
    X, y, x_query = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    zero = torch.zeros(2, dtype=torch.float64)
    heads = zip(model.v, model.c, model.V, model.u, strict=True)
    f = sum(EffectiveParameters(zero, *head).predict(X, y, x_query) for head in heads).detach().numpy()
    losses = (f - batch.y_query) ** 2
    error = losses.std() / np.sqrt(len(losses))
    assert abs(losses.mean() - MultiHeadRisk(law)(model).item()) < 5 * error


@pytest.mark.parametrize("heads", [1, 3])
def test_the_gradient_of_heads_is_autograd_s(rng, heads):
    law, unit = random_law(rng, 3, 5), 0.3
    model, risk = MultiHeadAttention(3, heads, rng=rng), MultiHeadGradient(law, unit)
    value = MultiHeadRisk(law)(model, unit)
    value.backward()
    found, gradient = risk.of_model(model)
    assert risk.constant + unit**2 * found == pytest.approx(value.item(), rel=1e-12)
    for parameter, part in zip(model.parameters(), gradient, strict=True):
        np.testing.assert_allclose(unit**2 * part, parameter.grad.numpy(), rtol=1e-10, atol=1e-12 * abs(value.item()))


def test_bad_sizes(rng):
    with pytest.raises(InputError, match="width"):
        LinearTransformerBlock(3, width=0, rng=rng)
