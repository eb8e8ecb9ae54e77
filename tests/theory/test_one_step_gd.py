"""Theorem 1 and Lemmas 1-4 of Mahankali et al.: reference numbers, limits, Monte Carlo, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import assert_within_errors, estimate

from icl.prompts import PromptLaw
from icl.solvers.linear import gradient_step, least_squares, ridge
from icl.theory import one_step_gd as theory
from icl.validation import InputError

sizes = st.integers(1, 30)
noises = st.floats(0, 10)

REFERENCE = [  # d, n, sigma2, eta*, L_min, Bayes, least squares
    (5, 20, 0.25, 0.0380952381, 1.4404761905, 0.3370136992, 0.3392857143),
    (10, 20, 0.25, 0.0320000000, 3.8500000000, 0.5109853041, 0.5277777778),
    (3, 8, 0.25, 0.0816326531, 1.2908163265, 0.4145827685, 0.4375000000),
]


@pytest.mark.parametrize("d, n, sigma2, eta, risk, bayes, ols", REFERENCE)
def test_reference_numbers(d, n, sigma2, eta, risk, bayes, ols):
    assert theory.step_size(d, n, sigma2) == pytest.approx(eta, abs=5e-11)
    assert theory.minimal_risk(d, n, sigma2) == pytest.approx(risk, abs=5e-11)
    assert theory.lemma1_constant(d, n, sigma2) == pytest.approx(bayes, abs=5e-11)
    assert theory.least_squares_risk(d, n, sigma2) == pytest.approx(ols, abs=5e-11)


@pytest.mark.parametrize(
    "d, n, sigma2, c1", [(5, 20, 1.0, 540), (3, 10, 0.25, 142.5), (8, 4, 0.0, 52), (10, 40, 0.1, 2044)]
)
def test_lemma_constants_of_hand_computed_cases(d, n, sigma2, c1):
    assert theory.c1(d, n, sigma2) == pytest.approx(c1, rel=1e-14)
    assert theory.c2(d, n, sigma2) == n


@pytest.mark.parametrize("d, n, sigma2", [(3, 7, 0.4), (6, 4, 0.0), (1, 3, 1.5)])
def test_moments_against_monte_carlo(rng, d, n, sigma2):
    """The full matrices, off-diagonal entries included, not only their traces."""
    law = PromptLaw.isotropic(d, n, sigma2)
    penalty = sigma2 if sigma2 > 0 else 1e-9

    def draw(B):
        batch = law.sample(rng, B)
        moment = gradient_step(batch.X, batch.y, 1.0)
        bayes = ridge(batch.X, batch.y, penalty)
        return np.stack([moment[:, :, None] * moment[:, None], moment[:, :, None] * bayes[:, None]], axis=1)

    predicted = np.stack([theory.c1(d, n, sigma2) * np.eye(d), theory.c2(d, n, sigma2) * np.eye(d)])
    assert_within_errors(estimate(draw, 60_000), predicted)


@pytest.mark.parametrize("d, n, sigma2, factor", [(4, 9, 0.4, 1.0), (4, 9, 0.4, 0.3), (2, 3, 0.0, 1.7)])
def test_risk_of_any_step_against_monte_carlo(rng, d, n, sigma2, factor):
    eta, law = factor * theory.step_size(d, n, sigma2), PromptLaw.isotropic(d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        return ((gradient_step(batch.X, batch.y, eta) * batch.x_query).sum(1) - batch.y_query) ** 2

    assert_within_errors(estimate(draw, 200_000), float(theory.one_step_risk(eta, d, n, sigma2)))


@pytest.mark.parametrize("d, n, sigma2", [(3, 9, 0.5), (8, 3, 0.5), (4, 10, 0.0), (6, 2, 0.0)])
def test_least_squares_risk_against_monte_carlo(rng, d, n, sigma2):
    law = PromptLaw.isotropic(d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        return ((least_squares(batch.X, batch.y) - batch.beta) ** 2).sum(1) + sigma2

    measured = estimate(draw, 40_000)
    assert abs(measured.mean - theory.least_squares_risk(d, n, sigma2)) <= 5 * measured.stderr + 1e-12


@given(sizes, sizes, noises)
def test_minimum_is_the_vertex_of_the_parabola(d, n, sigma2):
    eta = theory.step_size(d, n, sigma2)
    steps = eta * np.array([0.0, 0.9, 1.0, 1.1, 2.0])
    risks = theory.one_step_risk(steps, d, n, sigma2)
    assert risks[2] == pytest.approx(theory.minimal_risk(d, n, sigma2), rel=1e-12)
    assert risks.argmin() == 2
    assert risks[0] == pytest.approx(theory.zero_predictor_risk(d, n, sigma2), rel=1e-12)
    assert risks[4] == pytest.approx(risks[0], rel=1e-9)


@given(sizes, sizes, st.floats(0.01, 10))
def test_lemma_constants_add_up_to_the_minimum(d, n, sigma2):
    total = theory.lemma1_constant(d, n, sigma2) + theory.lemma2_constant(d, n, sigma2)
    assert total == pytest.approx(theory.minimal_risk(d, n, sigma2), rel=1e-9)


@given(sizes, sizes, noises)
def test_order_of_the_predictors(d, n, sigma2):
    bayes, gd = theory.lemma1_constant(d, n, sigma2), theory.minimal_risk(d, n, sigma2)
    assert sigma2 - 1e-12 <= bayes <= gd * (1 + 1e-12)
    assert gd < theory.zero_predictor_risk(d, n, sigma2)
    assert bayes <= theory.least_squares_risk(d, n, sigma2) * (1 + 1e-9) + 1e-12


@given(sizes, noises)
def test_long_contexts_reach_the_noise_and_the_newton_step(d, sigma2):
    n = 10**9
    assert n * theory.step_size(d, n, sigma2) == pytest.approx(1, rel=1e-6)
    assert theory.minimal_risk(d, n, sigma2) == pytest.approx(sigma2, abs=1e-5)


@given(sizes, sizes)
def test_noiseless_limit_is_continuous(d, n):
    for formula in (theory.step_size, theory.minimal_risk, theory.c1):
        assert formula(d, n, 1e-13) == pytest.approx(formula(d, n, 0.0), rel=1e-10)


@pytest.mark.parametrize(
    "bad", [dict(d=0), dict(n=0), dict(sigma2=-0.1), dict(sigma2=float("nan")), dict(d=2.5), dict(n=True)]
)
def test_bad_input_is_named(bad):
    name, _ = next(iter(bad.items()))
    with pytest.raises(InputError, match=name):
        theory.minimal_risk(**{"d": 3, "n": 5, "sigma2": 0.1, **bad})
