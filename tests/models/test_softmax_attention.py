"""Softmax heads: the forward pass, and the risk given the covariates."""

import numpy as np
import torch
from scipy.special import softmax
from support import assert_within_errors

from icl.estimates import monte_carlo
from icl.models.softmax_attention import SoftmaxHeads
from icl.prompts import PromptLaw


def test_forward_by_hand(rng):
    model = SoftmaxHeads(3, 2, rng=rng, scale=0.7)
    batch = PromptLaw.isotropic(3, 5, 0.3).sample(rng, 4)
    found = model(*map(torch.from_numpy, (batch.X, batch.y, batch.x_query))).detach().numpy()
    M, v, c = (part.detach().numpy() for part in (model.M, model.v, model.c))
    for k in range(4):
        X, y, x = batch.X[k], batch.y[k], batch.x_query[k]
        expected = sum(softmax(X @ M[h] @ x) @ (X @ v[h] + c[h] * y) for h in range(2))
        assert abs(found[k] - expected) < 1e-12


def test_risk_is_the_mean_over_task_and_noise(rng):
    law = PromptLaw.isotropic(3, 4, 0.6)
    model = SoftmaxHeads(3, 3, rng=rng, scale=0.5)
    X, x = rng.standard_normal((4, 3)), rng.standard_normal(3)
    expected = model.risk(torch.from_numpy(X)[None], torch.from_numpy(x)[None], law.sigma2).item()

    def draw(B):
        w, noise = rng.standard_normal((B, 3)), np.sqrt(0.6) * rng.standard_normal((B, 5))
        y = w @ X.T + noise[:, :4]
        given = [np.broadcast_to(each, (B, *each.shape)).copy() for each in (X, x)]
        guess = model(*map(torch.from_numpy, (given[0], y, given[1]))).detach().numpy()
        return (guess - w @ x - noise[:, 4]) ** 2

    assert_within_errors(monte_carlo(draw, 100_000), expected)
