"""The mathematics on chapter 4's page, at parameters that stand nowhere else, against the package's own."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from page_code import functions
from support import random_law

from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw, token_matrix
from icl.solvers import linear
from icl.theory import gd_beta as gd_beta_theory
from icl.theory import mlp_benefit as theory

PAGE = "04_mlp_benefit"


def test_the_forward_passes_are_the_package_s(rng):
    batch = random_law(rng, 3, 6).sample(rng, 20)
    E, page = token_matrix(batch.X, batch.y, batch.x_query), functions(PAGE, "block", "attention")
    block = LinearTransformerBlock(3, rng=rng, scale=1.0)
    W = {name: matrix.detach().numpy() for name, matrix in block.named_parameters()}
    products = W["W_2"].T @ W["W_1"], W["W_P"].T @ W["W_V"], W["W_K"].T @ W["W_Q"]
    np.testing.assert_allclose(page.block(E, *products), block(torch.from_numpy(E)).detach(), rtol=1e-10)
    alone = LinearSelfAttention(3, rng=rng, scale=1.0)
    W = {name: matrix.detach().numpy() for name, matrix in alone.named_parameters()}
    products = W["W_P"].T @ W["W_V"], W["W_K"].T @ W["W_Q"]
    np.testing.assert_allclose(page.attention(E, *products), alone(torch.from_numpy(E)).detach(), rtol=1e-10)


def test_lemma_5_1_makes_a_block_of_the_solver(rng):
    page, batch = functions(PAGE, "block", "lemma_5_1", "gd_beta"), random_law(rng, 3, 6).sample(rng, 20)
    beta, Gamma = rng.standard_normal(3), rng.standard_normal((3, 3))
    step = (linear.gd_beta(batch.X, batch.y, beta, Gamma) * batch.x_query).sum(1)
    np.testing.assert_allclose(page.gd_beta(batch.X, batch.y, batch.x_query, beta, Gamma), step, rtol=1e-10)
    E, stars = token_matrix(batch.X, batch.y, batch.x_query), rng.standard_normal((3, 4, 4))
    np.testing.assert_allclose(page.block(E, *page.lemma_5_1(beta, Gamma, stars)), step, rtol=1e-9)


@pytest.mark.parametrize("d, n, sigma2, B", [(1, 1, 0.0, 1.0), (3, 7, 0.6, 0.0), (4, 30, 2.0, 50.0)])
def test_least_risks_are_the_theory_s(d, n, sigma2, B):
    direction, tau, Phi = np.full(d, d**-0.5), d + sigma2, np.eye(d)
    Omega = (n + 1) / n * Phi + tau / n * np.eye(d)
    given = dict(d=d, n=n, sigma2=sigma2, tau=tau, Phi=Phi, Omega=Omega, direction=direction, b=B * direction)
    page, law = functions(PAGE, "one_step", "on_the_sphere", **given), PromptLaw.isotropic(d, n, sigma2, B * direction)
    assert page.one_step(np.ones(d), tau) == pytest.approx(theory.ltb_minimal_risk(law), rel=1e-12)
    spread = np.append(np.ones(d - 1), 1 + B**2)
    assert page.one_step(spread, tau + B**2) == pytest.approx(theory.gd0_minimal_risk(law), rel=1e-12)
    least = theory.isotropic_lsa_risk(d, n, sigma2, B)
    angles = np.linspace(-np.pi / 2, np.pi / 2, 4001)
    assert min(map(page.on_the_sphere, angles)) == pytest.approx(least, rel=1e-4)
    assert min(map(page.on_the_sphere, angles)) >= least * (1 - 1e-10)


@pytest.mark.parametrize("rank", [3, 2])
def test_conditions_of_theorem_5_3(rng, rank):
    law = random_law(rng, 3, 6)
    keep = np.diag([1.0] * rank + [0.0] * (3 - rank))
    law = replace(law, H=keep @ law.H @ keep)
    page = functions(PAGE, "best_step", "violation", "draw", n=law.n)
    Gamma = page.best_step(law)
    np.testing.assert_allclose(law.H @ Gamma @ law.H, law.H @ gd_beta_theory.optimal_gamma(law) @ law.H, atol=1e-10)
    w1, v, c, V, u = page.draw(law, Gamma, rng)
    assert page.violation(law.beta_star, law.H, Gamma, w1, v, c, V, u) < 1e-9
    for wrong in ((w1 + 0.1, v, c, V, u), (w1, v + 0.1, c, V, u), (w1, v, c, V + 0.1, u), (w1, v, c, V, u + 0.1)):
        assert page.violation(law.beta_star, law.H, Gamma, *wrong) > 1e-3
