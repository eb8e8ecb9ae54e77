"""Theorem 3's closed forms against Monte Carlo, quadrature, limits and printed reference numbers."""

import numpy as np
import page_code
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from icl.chapters.nonlinear_targets.experiments import measure, moments_by_sampling
from icl.targets import ASYMMETRIC, FAMILIES, TargetLaw, mixture_covariates, sphere_covariates
from icl.theory import nonlinear_targets as theory
from icl.theory import one_step_gd
from icl.validation import InputError

CHAPTER = "03_nonlinear_targets"
TURNS = page_code.functions(CHAPTER, "turns").turns
ALL = FAMILIES | ASYMMETRIC
names = st.sampled_from(sorted(ALL))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("d", [1, 4])
def test_moments_are_those_of_the_sampler(name, d):
    """a, E f²|x|² and E f² within five standard errors, on a stream of the test's own."""
    exact = theory.moments(name, d)
    sampled = moments_by_sampling(ALL[name], d, 60_000, np.random.default_rng([31, d]))
    errors = np.sqrt(np.diag(sampled.covariance))
    for truth, mean, error in zip((exact.a, exact.weighted, exact.power), sampled.mean, errors, strict=True):
        assert abs(mean - truth) <= 5 * error + 1e-12, (name, truth, mean, error)


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if not family.heavy])
def test_step_and_risk_are_the_vertex_of_the_measured_parabola(name):
    d, n, sigma2 = 3, 7, 0.6
    exact = theory.moments(name, d)
    found = measure(TargetLaw(FAMILIES[name], d, n, sigma2), TURNS, 60_000, np.random.default_rng(32))
    for truth, estimate in (
        (theory.step_size(exact, n, sigma2), found.step_size),
        (theory.minimal_risk(exact, n, sigma2), found.risk),
        (exact.b(sigma2), found.b),
    ):
        assert abs(estimate.mean - truth) <= 5 * estimate.stderr
        assert 5 * estimate.stderr <= 0.05 * truth


@pytest.mark.parametrize(
    ("covariates", "fourth"), [(sphere_covariates, lambda d: d**2), (mixture_covariates, lambda d: 1.25 * d * (d + 2))]
)
def test_other_covariates(covariates, fourth):
    d, n, sigma2 = 4, 8, 0.5
    exact = theory.linear_with_covariates(d, 1.0, fourth(d))
    law = TargetLaw(FAMILIES["linear"], d, n, sigma2, covariates)
    found = measure(law, TURNS, 50_000, np.random.default_rng(33))
    assert abs(found.step_size.mean - theory.step_size(exact, n, sigma2)) <= 5 * found.step_size.stderr
    assert abs(found.risk.mean - theory.minimal_risk(exact, n, sigma2)) <= 5 * found.risk.stderr


def test_covariates_of_another_size():
    """kappa ≠ 1: x → 2x leaves the least risk of w'x with w halved alone and divides the step by 16/4."""
    d, n, sigma2 = 3, 5, 0.4
    unit = theory.linear(d)
    doubled = theory.linear_with_covariates(d, 4.0, 16.0 * d * (d + 2))
    # y = w'(2x): labels of variance 4, so noise 4 sigma2 keeps the ratio
    assert theory.minimal_risk(doubled, n, 4 * sigma2) == pytest.approx(4 * theory.minimal_risk(unit, n, sigma2))
    assert theory.step_size(doubled, n, 4 * sigma2) == pytest.approx(theory.step_size(unit, n, sigma2) / 4)


def test_linear_family_is_theorem_1():
    for d, n, sigma2 in ((1, 1, 0.0), (5, 20, 0.25), (10, 3, 2.0)):
        m = theory.linear(d)
        assert theory.step_size(m, n, sigma2) == pytest.approx(one_step_gd.step_size(d, n, sigma2), rel=1e-14)
        assert theory.minimal_risk(m, n, sigma2) == pytest.approx(one_step_gd.minimal_risk(d, n, sigma2), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "eta", "risk"),
    [
        ("relu_network", 0.045455, 1.79545),
        ("sign", 0.059333, 0.87227),
        ("cubic_unit", 0.038793, 11.7586),
        ("quadratic", 0.0, 24.25),
    ],
)
def test_reference_numbers(name, eta, risk):
    """d = 4, n = 10, sigma2 = 0.25, worked out by hand from the table of moments."""
    m = theory.moments(name, 4)
    assert theory.step_size(m, 10, 0.25) == pytest.approx(eta, abs=6e-7)
    assert theory.minimal_risk(m, 10, 0.25) == pytest.approx(risk, rel=1e-5)


def test_reference_numbers_without_sign_symmetry():
    assert theory.step_size(theory.tilted_bowl(3), 6, 0.25) == pytest.approx(0.05970149, rel=1e-6)
    assert theory.step_size(theory.single_relu(3), 6, 0.25) == pytest.approx(0.0625, rel=1e-12)
    assert theory.step_size(theory.linear_quadratic(3), 6, 0.25) == pytest.approx(0.052632, abs=5e-7)


def test_quadrature_of_the_single_index():
    """Gauss–Hermite against adaptive quadrature, and against a cubic that it must integrate exactly."""
    m = theory.single_index(4)
    integral = lambda g: 2 * quad(lambda z: g(z) * norm.pdf(z), 0, 12, epsabs=1e-13)[0]
    phi = lambda z: np.tanh(2 * z)
    assert m.a == pytest.approx(integral(lambda z: phi(z) * z) ** 2, rel=1e-9)
    assert m.power == pytest.approx(integral(lambda z: phi(z) ** 2), rel=1e-9)
    assert m.weighted == pytest.approx(integral(lambda z: phi(z) ** 2 * (z**2 + 3)), rel=1e-9)
    cube, exact = theory.single_index(4, lambda z: z**3), theory.cubic_unit(4)
    assert (cube.a, cube.weighted, cube.power) == pytest.approx((exact.a, exact.weighted, exact.power), rel=1e-10)


@given(name=names, d=st.integers(1, 30), n=st.integers(1, 500), sigma2=st.floats(0, 10))
@settings(max_examples=150, deadline=None)
def test_risk_lies_between_floor_and_zero_predictor(name, d, n, sigma2):
    m = theory.moments(name, d)
    risk, zero = theory.minimal_risk(m, n, sigma2), m.power + sigma2
    slack = 1e-12 * zero
    assert theory.linear_floor(m, sigma2) - slack <= risk <= zero + slack
    assert theory.minimal_risk(m, n + 1, sigma2) <= risk + slack
    eta = theory.step_size(m, n, sigma2)
    assert theory.one_step_risk(eta, m, n, sigma2) == pytest.approx(risk, rel=1e-9, abs=slack)
    for other in (0.9 * eta - 1e-3, 1.1 * eta + 1e-3):
        assert theory.one_step_risk(other, m, n, sigma2) >= risk - slack


@pytest.mark.parametrize("name", ALL)
def test_long_contexts(name):
    m, n = theory.moments(name, 3), 10**8
    assert theory.minimal_risk(m, n, 0.3) == pytest.approx(theory.linear_floor(m, 0.3), rel=1e-6)
    assert n * theory.step_size(m, n, 0.3) == pytest.approx(0 if name == "quadratic" else 1, rel=1e-6)


def counterexample_b(variances, n, sigma2):
    """What the page's `optima` says of w'x with w ~ N(0, diag(variances))."""
    optima = page_code.functions(CHAPTER, "optima", sigma2=sigma2).optima
    Psi = np.diag(np.asarray(variances, dtype=float))
    C1 = n * ((n + 1) * Psi + (np.trace(Psi) + sigma2) * np.eye(len(Psi)))
    return optima(C1, n * Psi, np.trace(Psi))


def test_counterexamples():
    optima = page_code.functions(CHAPTER, "optima", sigma2=0.25).optima
    C1, C2 = 10 * np.diag([105.25, 15.25]) + 9 * 10 * 9 * np.diag([1, 0]), 90 * np.diag([1, 0])
    cube = optima(C1, C2, 15)
    assert cube["risk"] == pytest.approx(10.901007, abs=1e-6)
    assert cube["plain_risk"] == pytest.approx(11.230149, abs=1e-6)
    uneven = counterexample_b([4, 1, 0.25], 10, 0.25)
    assert (uneven["risk"], uneven["plain_risk"]) == pytest.approx((1.585859, 1.787879), abs=1e-6)


def test_even_variances_have_no_penalty():
    exact = counterexample_b([1, 1, 1, 1], 6, 0.7)
    assert exact["penalty"] == pytest.approx(0, abs=1e-14)
    assert exact["risk"] == pytest.approx(one_step_gd.minimal_risk(4, 6, 0.7), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.moments("linaer", 3), "there are no closed forms for 'linaer'"),
        (lambda: theory.moments("sign", 0), "d must be a whole number"),
        (lambda: theory.step_size(theory.sign(3), 0, 0.1), "n must be a whole number"),
        (lambda: theory.minimal_risk(theory.sign(3), 5, -1.0), "sigma2 must be a finite number"),
        (lambda: theory.step_size(theory.Moments(2, 0, 0, 0), 5, 0), "every label is zero"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_parabola_and_limit_for_covariates_of_another_size():
    d, n, sigma2 = 3, 5, 0.4
    m = theory.linear_with_covariates(d, 4.0, 16.0 * d * (d + 2))
    eta = theory.step_size(m, n, sigma2)
    assert theory.one_step_risk(eta, m, n, sigma2) == pytest.approx(theory.minimal_risk(m, n, sigma2), rel=1e-12)
    assert theory.one_step_risk(1.1 * eta, m, n, sigma2) > theory.minimal_risk(m, n, sigma2)
    assert theory.linear_floor(m, sigma2) == pytest.approx(sigma2), "a linear target is explained entirely"
    assert theory.minimal_risk(m, 10**9, sigma2) == pytest.approx(theory.linear_floor(m, sigma2), rel=1e-6)


def test_best_matrix_where_the_moments_do_not_commute():
    """Gamma C1 = C2, and the risk is E f² + sigma2 − 2 tr(Gamma C2) + tr(Gamma C1 Gamma') there."""
    optima = page_code.functions(CHAPTER, "optima", sigma2=0.3).optima
    C1, C2 = np.array([[3.0, 1], [1, 2]]), np.array([[1.0, 0.5], [0.5, 0.25]])
    found = optima(C1, C2, 4.0)
    risk = lambda Gamma: 4.3 - 2 * np.trace(Gamma @ C2) + np.trace(Gamma @ C1 @ Gamma.T)
    Gamma, step = C2 @ np.linalg.inv(C1), np.trace(C2) / np.trace(C1)
    assert found["risk"] == pytest.approx(risk(Gamma), rel=1e-14)
    assert found["plain_risk"] == pytest.approx(risk(step * np.eye(2)), rel=1e-14)
    for nearby in 0.01 * np.random.default_rng(3).standard_normal((20, 2, 2)):
        assert risk(Gamma + nearby) > found["risk"]
    for factor in (0.99, 1.01):
        assert risk(factor * step * np.eye(2)) > found["plain_risk"]
