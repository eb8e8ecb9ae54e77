"""Theorem 5.2: the risk of GD-β against prompts and autograd, its minimisers, singular laws, limits."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icl.estimates import monte_carlo
from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta_model import GDBeta
from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.theory import gd_beta, moments
from icl.validation import InputError


def random_law(rng, d=3, n=6, sigma2=0.4, rank_H=None, rank_Psi=None):
    A = rng.standard_normal((d, rank_H or d))
    B = rng.standard_normal((d, rank_Psi or d))
    return PromptLaw(n, A @ A.T / d, B @ B.T / d, rng.standard_normal(d), sigma2)


def random_point(rng, d):
    return rng.standard_normal(d), 0.5 * rng.standard_normal((d, d))


@pytest.mark.parametrize("ranks", [(None, None), (2, None), (None, 1), (2, 2)])
def test_risk_is_what_random_prompts_cost(ranks):
    rng = np.random.default_rng(11)
    law = random_law(rng, d=4, n=5, rank_H=ranks[0], rank_Psi=ranks[1])
    beta, Gamma = random_point(rng, 4)

    def draw(B):
        batch = law.sample(rng, B)
        guess = (linear.gd_beta(batch.X, batch.y, beta, Gamma) * batch.x_query).sum(1)
        return (guess - batch.y_query) ** 2

    found = monte_carlo(draw, 200_000)
    assert abs(found.mean - gd_beta.risk(law, beta, Gamma)) < 5 * found.stderr
    assert found.stderr < 0.02 * found.mean


def test_solver_and_torch_model_make_the_same_predictions():
    rng = np.random.default_rng(1)
    law = random_law(rng)
    beta, Gamma = random_point(rng, 3)
    batch = law.sample(rng, 20)
    solver = (linear.gd_beta(batch.X, batch.y, beta, Gamma) * batch.x_query).sum(1)
    model = GDBeta(beta, Gamma)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    assert np.allclose(model(X, y, x).detach().numpy(), solver, rtol=1e-13, atol=1e-13)
    block = model.effective(len(y[0])).predict(X, y, x).detach().numpy()
    assert np.allclose(block, solver, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 5), n=st.integers(1, 30), rank=st.integers(1, 5))
def test_completed_square_and_exact_risk_agree(seed, d, n, rank):
    rng = np.random.default_rng(seed)
    law = random_law(rng, d=d, n=n, sigma2=0.3, rank_H=min(rank, d), rank_Psi=min(rank, d))
    beta, Gamma = random_point(rng, d)
    risk = gd_beta.risk(law, beta, Gamma)
    assert gd_beta.minimal_risk(law) + gd_beta.excess(law, beta, Gamma) == pytest.approx(risk, rel=1e-10)
    assert ExactRisk(law)(GDBeta(beta, Gamma).effective(law.n)).item() == pytest.approx(risk, rel=1e-10)
    assert gd_beta.excess(law, beta, Gamma) >= 0
    least = np.linalg.eigvalsh(gd_beta.curvature(law, Gamma) - 2 / (n + 2) * law.H)[0]
    assert least > -1e-10 * np.trace(law.H)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 5), rank=st.integers(1, 5))
def test_formula_is_a_minimiser_and_the_null_set_is_flat(seed, d, rank):
    rng = np.random.default_rng(seed)
    law = random_law(rng, d=d, rank_H=min(rank, d), rank_Psi=min(rank, d))
    Gamma = gd_beta.optimal_gamma(law)
    floor = gd_beta.minimal_risk(law)
    assert gd_beta.risk(law, law.beta_star, Gamma) == pytest.approx(floor, rel=1e-9)
    hidden = np.eye(d) - gd_beta.range_projector(law)
    beta = law.beta_star + hidden @ rng.standard_normal(d)
    Gamma = Gamma + hidden @ rng.standard_normal((d, d)) + rng.standard_normal((d, d)) @ hidden
    assert gd_beta.risk(law, beta, Gamma) == pytest.approx(floor, rel=1e-8)
    assert gd_beta.distance_from_minimisers(law, beta, Gamma) < 1e-6
    away = Gamma + 0.1 * gd_beta.range_projector(law)
    assert gd_beta.risk(law, beta, away) > floor
    assert gd_beta.distance_from_minimisers(law, beta, away) > 1e-4


def test_the_two_forms_of_the_minimiser_are_one_function():
    law = random_law(np.random.default_rng(3), d=5, rank_H=3, rank_Psi=4)
    root = law.roots[0]
    printed = law.Psi @ root @ np.linalg.inv(moments.omega(law)) @ np.linalg.pinv(root, rcond=1e-7)
    apart = law.H @ (printed - gd_beta.optimal_gamma(law)) @ law.H
    assert np.abs(apart).max() < 1e-10


def test_anisotropic_reference_numbers():
    i = np.arange(1, 6)
    law = PromptLaw(12, np.diag(1 / i), np.diag(i / 3), [1, -1, 2, 0, 0.5], 0.3)
    assert np.allclose(gd_beta.optimal_gamma(law), 0.6349206349 * np.diag(i), atol=1e-9)
    assert gd_beta.minimal_risk(law) == pytest.approx(0.9084656085, abs=1e-10)


@pytest.mark.parametrize(
    ("d", "n", "sigma2", "expected"),
    [(5, 20, 0.25, 1.4404761905), (10, 20, 0.25, 3.85), (3, 8, 0.25, 1.2908163265)],
)
def test_isotropic_reference_numbers(d, n, sigma2, expected):
    law = PromptLaw.isotropic(d, n, sigma2, np.ones(d))
    assert gd_beta.minimal_risk(law) == pytest.approx(expected, abs=1e-10)
    assert np.allclose(gd_beta.optimal_gamma(law), n / (n + d + 1 + sigma2) * np.eye(d))


def test_long_contexts_give_a_newton_step():
    law = random_law(np.random.default_rng(4), d=3)
    errors = [
        np.abs(gd_beta.optimal_gamma(gd_beta.at_length(law, n)) @ law.H - np.eye(3)).max()
        for n in (10**4, 10**5, 10**6)
    ]
    assert errors[0] > 9 * errors[1] > 80 * errors[2]  # first order in 1/n
    assert gd_beta.minimal_risk(gd_beta.at_length(law, 10**9)) == pytest.approx(law.sigma2, rel=1e-5)


def test_length_generalisation_with_monte_carlo():
    rng = np.random.default_rng(5)
    law = random_law(rng, d=3, n=10)
    Gamma = gd_beta.optimal_gamma(law)
    for m in (5, 40):
        test = gd_beta.at_length(law, m)

        def draw(B, test=test):
            batch = test.sample(rng, B)
            error = linear.gd_beta(batch.X, batch.y, law.beta_star, Gamma) - batch.beta
            return law.sigma2 + np.einsum("bi,ij,bj->b", error, law.H, error)

        found = monte_carlo(draw, 40_000)
        assert abs(found.mean - gd_beta.risk(test, law.beta_star, Gamma)) < 5 * found.stderr


def test_stacks_of_points():
    rng = np.random.default_rng(6)
    law = random_law(rng)
    beta, Gamma = rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 4, 3, 3))
    each = [[gd_beta.risk(law, beta[i, j], Gamma[i, j]) for j in range(4)] for i in range(2)]
    assert np.allclose(gd_beta.risk(law, beta, Gamma), each, rtol=1e-13)


@pytest.mark.parametrize(
    ("beta", "Gamma", "sentence"),
    [
        (np.zeros(2), np.eye(3), "beta must have shape"),
        (np.zeros(3), np.eye(2), "Gamma must have shape"),
        (np.zeros(3), np.zeros(3), "Gamma must have shape"),
        (np.array([0, np.nan, 0]), np.eye(3), "beta must be finite"),
        (np.zeros(3), np.full((3, 3), np.inf), "Gamma must be finite"),
    ],
)
def test_bad_points_are_refused(beta, Gamma, sentence):
    law = PromptLaw.isotropic(3, 5, 0.1)
    for function in (gd_beta.risk, gd_beta.excess, gd_beta.distance_from_minimisers):
        with pytest.raises(InputError, match=sentence):
            function(law, beta, Gamma)


def test_a_task_without_any_variance_is_refused():
    with pytest.raises(InputError, match="tau"):
        PromptLaw(5, np.eye(2), np.zeros((2, 2)), np.ones(2), 0.0)
