"""The explicit weights against an actual gradient step, taken by autograd."""

import numpy as np
import pytest
import torch

from icl.constructions.one_step_gd import one_step_gd
from icl.models.exact_risk import ExactRisk
from icl.prompts import PromptLaw, token_matrix
from icl.theory import one_step_gd as theory


@pytest.mark.parametrize("d, n", [(1, 1), (4, 3), (11, 17)])
def test_forward_pass_is_one_gradient_step(rng, d, n):
    batch, eta = PromptLaw.isotropic(d, n, 0.4).sample(rng, 20), 0.07
    X, y = torch.from_numpy(batch.X), torch.from_numpy(batch.y)
    w = torch.zeros(20, d, dtype=torch.float64, requires_grad=True)
    loss = 0.5 * ((torch.einsum("bnd,bd->bn", X, w) - y) ** 2).sum()
    step = -eta * torch.autograd.grad(loss, w)[0]
    predicted = (step * torch.from_numpy(batch.x_query)).sum(1)
    forward = one_step_gd(d, eta)(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query)))
    np.testing.assert_allclose(forward.detach(), predicted, rtol=1e-11, atol=1e-13)


def test_it_attains_the_minimum():
    d, n, sigma2 = 6, 11, 0.7
    weights = one_step_gd(d, theory.step_size(d, n, sigma2)).effective(n)
    risk = ExactRisk(PromptLaw.isotropic(d, n, sigma2))(weights).item()
    assert risk == pytest.approx(theory.minimal_risk(d, n, sigma2), rel=1e-13)
