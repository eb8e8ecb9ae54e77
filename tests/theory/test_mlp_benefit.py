"""Theorem 4.1: the exact optimum of linear attention against L-BFGS over all weights, bounds, limits, known numbers."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from support import random_covariance, random_law

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.prompts import PromptLaw
from icl.search import restarts
from icl.theory import mlp_benefit as theory
from icl.validation import InputError

REFERENCE = [  # d, n, LTB, LSA, GD-0, multi-head floor; H = Psi = I, sigma2 = 0.25, beta_star = (1, …, 1)
    (5, 20, 1.4404761905, 2.2627631553, 2.4055963303, 0.0980301532),
    (10, 20, 3.85, 5.5429069737, 6.2545228404, 0.0990079564),
    (3, 8, 1.2908163265, 2.0941221656, 2.1712338733, 0.2306511449),
]


@pytest.mark.parametrize("d, n, ltb, lsa, gd0, heads", REFERENCE)
def test_reference_numbers(d, n, ltb, lsa, gd0, heads):
    law = PromptLaw.isotropic(d, n, 0.25, np.ones(d))
    assert theory.ltb_minimal_risk(law) == pytest.approx(ltb, abs=1e-10)
    assert theory.lsa_minimum(law).risk == pytest.approx(lsa, abs=1e-10)
    assert theory.isotropic_lsa_risk(d, n, 0.25, np.sqrt(d)) == pytest.approx(lsa, abs=1e-10)
    assert theory.gd0_minimal_risk(law) == pytest.approx(gd0, abs=1e-10)
    assert theory.multi_head_floor(law) == pytest.approx(heads, abs=1e-10)


def test_anisotropic_reference():
    i = np.arange(1, 6)
    law = PromptLaw(12, np.diag(1 / i), np.diag(i / 3), np.array([1, -1, 2, 0, 0.5]), 0.3)
    assert theory.lsa_minimum(law).risk == pytest.approx(1.5232563770, abs=1e-10)
    assert theory.lower_bound(law) == pytest.approx(0.2217948718, abs=1e-10)


@pytest.mark.parametrize("rank_H, rank_Psi", [(3, 3), (2, 3), (3, 1), (2, 2)])
def test_optimum_is_what_lbfgs_finds(rng, rank_H, rank_Psi):
    H, Psi = random_covariance(rng, 3, rank_H), random_covariance(rng, 3, rank_Psi)
    law = PromptLaw(6, H, Psi, 1.5 * rng.standard_normal(3), 0.4)
    found = min(restarts(law, 3, rng).risks.min(), restarts(law, 3, rng, init="label_path").risks.min())
    assert theory.lsa_minimum(law).risk == pytest.approx(found, rel=1e-8)


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("rank", [4, 2])
def test_profile_is_the_exact_risk_of_its_weights_and_its_gradient_is_right(rng, block, rank):
    law = PromptLaw(7, random_covariance(rng, 4, rank), random_covariance(rng, 4), rng.standard_normal(4), 0.3)
    profile = theory.Profile(law, block=block)
    point = rng.standard_normal(rank + 1)
    value, gradient = profile.value_and_gradient(point)
    assert value == pytest.approx(float(profile(point[:-1], point[-1])), rel=1e-12)
    weights = profile.weights(theory.Optimum(value, point[:-1], point[-1]))
    assert ExactRisk(law)(EffectiveParameters.from_numpy(**weights)).item() == pytest.approx(value, rel=1e-9)
    step = 1e-6 * rng.standard_normal(rank + 1)
    slope = profile.value_and_gradient(point + step)[0] - profile.value_and_gradient(point - step)[0]
    assert slope / 2 == pytest.approx(gradient @ step, rel=1e-5)


@given(st.integers(1, 4), st.integers(1, 40), st.floats(0, 5), st.floats(0, 30))
def test_isotropic_angle_and_sphere_agree(d, n, sigma2, size):
    law = PromptLaw.isotropic(d, n, sigma2, np.full(d, size / np.sqrt(d)))
    assert theory.isotropic_lsa_risk(d, n, sigma2, size) == pytest.approx(theory.lsa_minimum(law).risk, rel=1e-9)


@given(st.integers(0, 10_000))
def test_bounds_hold(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(1, 30))
    law = random_law(rng, d, n, sigma2=float(np.exp(rng.normal())))
    gap = theory.gap(law)
    assert theory.lower_bound(law) * (1 - 1e-9) <= gap <= theory.upper_bound(law) * (1 + 1e-9)


def test_no_mean_or_no_covariates_no_gap():
    assert theory.gap(PromptLaw.isotropic(4, 9, 0.2)) == pytest.approx(0, abs=1e-12)
    assert theory.gap(PromptLaw(3, np.zeros((2, 2)), np.eye(2), np.ones(2), 0.5)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("d, n, sigma2", [(1, 1, 0.0), (4, 15, 0.7), (2, 100, 3.0)])
def test_limits_in_the_size_of_the_mean(d, n, sigma2):
    floor = theory.ltb_minimal_risk(PromptLaw.isotropic(d, n, sigma2))
    ratio = lambda size: (theory.isotropic_lsa_risk(d, n, sigma2, size) - floor) / size**2
    tau, square = d + sigma2, (n + 2) / n * ((d + sigma2) ** 2 + 2 * d)
    parabola = lambda x: 1 - 2 * x + (n + d + 1) / n * x**2 - (tau - x * (tau + 2 / n)) ** 2 / square
    assert ratio(1e-3) == pytest.approx(minimize_scalar(parabola).fun, rel=1e-4)
    assert ratio(1e5) == pytest.approx(2 / (n + 2), rel=1e-4)


def test_long_contexts_close_the_gap_like_one_over_n():
    gaps = [theory.gap(PromptLaw.isotropic(3, n, 0.5, np.ones(3))) * n for n in (10_000, 100_000)]
    assert gaps[0] == pytest.approx(gaps[1], rel=0.01)


def test_false_valley_of_the_block():
    law = PromptLaw(8, np.diag([1, 1 / 2, 1 / 3]), np.eye(3), np.ones(3), 0.25)
    best, false = theory.ltb_valleys(law)
    assert (best.risk, false.risk) == pytest.approx((0.882868, 1.351113), abs=1e-6)
    assert best.risk == pytest.approx(theory.ltb_minimal_risk(law), rel=1e-12)


def test_d20_within_a_second(rng):
    law = PromptLaw(40, random_covariance(rng, 20), random_covariance(rng, 20), rng.standard_normal(20), 0.5)
    started = time.process_time()
    theory.lsa_minimum(law)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("size", [-1.0, np.nan, np.inf])
def test_bad_size(size):
    with pytest.raises(InputError, match="finite and at least 0"):
        theory.isotropic_lsa_risk(3, 8, 0.25, size)


def test_least_curvature_is_the_second_derivative_along_the_sphere():
    law = PromptLaw(8, np.diag([1, 1 / 2, 1 / 3]), np.eye(3), np.ones(3), 0.25)
    profile, step = theory.Profile(law, block=True), 1e-3
    for valley in theory.ltb_valleys(law):
        point = np.append(valley.nu, valley.c)
        tangent = np.linalg.svd(point[None])[2][1:]
        value = lambda t, point=point: float(profile((point + t)[:-1], (point + t)[-1]))
        mixed = lambda e, g, value=value: (
            value(step * (e + g)) - value(step * (e - g)) - value(step * (g - e)) + value(-step * (e + g))
        )
        second = np.array([[mixed(e, g) for e in tangent] for g in tangent]) / (4 * step**2)
        expected = np.linalg.eigvalsh(second)[0]
        assert profile.least_curvature(valley) == pytest.approx(expected, rel=1e-3) and expected > 0


def test_optimum_where_the_lowest_start_leads_to_another_valley(rng):
    """The first start ends at 5.645; no point of the sphere is below what is returned, and some are below 5.645."""
    H, Psi, mean = np.diag([0.74, 5.82, 0.6]), np.diag([0.77, 3.04, 1.73]), np.array([-1.45, -2.29, 1.94])
    law = PromptLaw(37, H, Psi, mean, 1.3)
    best, profile = theory.lsa_minimum(law), theory.Profile(law)
    points = rng.standard_normal((20_000, 4))
    risks = profile(points[:, :3], points[:, 3])
    assert best.risk * (1 - 1e-12) <= risks.min() < 5.5
    assert best.risk == pytest.approx(5.21943, abs=1e-5)


def test_the_least_risk_does_not_mind_how_large_labels_are():
    """At labels of 56,570, in a context of 184 under noise of 321,100, it was 1.2e-8 too high."""
    law = PromptLaw.isotropic(7, 184, 321_100.0, np.full(7, 56_570 / np.sqrt(7)))
    at, unit = theory.lsa_minimum(law), 56_570.0
    assert at.risk == pytest.approx(unit**2 * theory.lsa_minimum(law.with_labels_scaled(1 / unit)).risk, rel=1e-12)
    assert theory.isotropic_lsa_risk(7, 184, 321_100.0, 56_570.0) == pytest.approx(at.risk, rel=1e-12)
    assert at.nu @ at.nu + at.c**2 == pytest.approx(1)
    assert theory.Profile(law)(at.nu, np.asarray(at.c)) == pytest.approx(at.risk, rel=1e-12)
