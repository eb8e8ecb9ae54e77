"""Chapter 10's theory: large random sets of tasks, other routes to the same number, limits, and a Monte Carlo."""

from itertools import product

import numpy as np
import pytest

from icl.theory import how_many_tasks as theory
from icl.theory import one_step_gd
from icl.validation import InputError

INF = np.inf
CORNERS = list(product((0.3, 0.8, 1.6, 9), (0.4, 2, 30), (0.2, 1.0, 3.0), (0, 0.7)))


def test_resolvent_is_that_of_random_tasks(rng):
    for kappa, s in ((0.5, 0.3), (1.0, 0.1), (2.5, 1.1)):
        d = 600
        tasks = rng.standard_normal((round(kappa * d), d))
        r = np.linalg.eigvalsh(tasks.T @ tasks / len(tasks))
        M, D = theory.resolvent(s, kappa)
        assert M == pytest.approx((1 / (r + s)).mean(), rel=0.01)
        assert D == pytest.approx((1 / (r + s) ** 2).mean(), rel=0.02)
    assert theory.resolvent(0.5, INF) == pytest.approx((1 / 1.5, 1 / 1.5**2))


def test_resolvent_solves_its_equation_and_d_is_its_slope():
    for s, kappa in product((0.02, 0.5, 4), (0.3, 1.0, 7)):
        M, D = theory.resolvent(s, kappa)
        assert M * (s + 1 / (1 + M / kappa)) == pytest.approx(1, rel=1e-12)
        step = 1e-5 * s
        slope = (theory.resolvent(s - step, kappa)[0] - theory.resolvent(s + step, kappa)[0]) / (2 * step)
        assert D == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("tau, alpha, kappa, rho", CORNERS)
def test_without_a_ridge_it_is_the_printed_formula(tau, alpha, kappa, rho):
    assert theory.limit(tau, alpha, kappa, rho)[0] == pytest.approx(theory.printed(tau, alpha, kappa, rho), rel=1e-10)


def test_a_slip_in_the_printed_formula_matters_below_one_only():
    assert theory.printed(0.5, 2, 1.5, 0.1, of_prompts=False) != pytest.approx(theory.printed(0.5, 2, 1.5, 0.1))
    assert theory.printed(2, 2, 1.5, 0.1, of_prompts=False) == theory.printed(2, 2, 1.5, 0.1)


@pytest.mark.parametrize("tau, ridge", [(2.0, 0.0), (0.4, 0.0), (0.7, 0.3), (1.0, 0.2), (INF, 0.1), (INF, 0.0)])
def test_given_tasks_in_many_dimensions_cost_what_the_limit_says(rng, tau, ridge):
    for kappa in (0.6, 2.0):
        d, alpha, rho = 500, 3, 0.2
        tasks = rng.standard_normal((round(kappa * d), d))
        R = tasks.T @ tasks / len(tasks)
        given = theory.errors_given(R, alpha * d, rho * d, tau, ridge)
        assert given == pytest.approx(theory.limit(tau, alpha, kappa, rho, ridge), rel=0.02)


def test_endless_prompts_are_the_population_risk(rng):
    """errors_given at tau = ∞ against Γ = R B⁻¹ written out."""
    d, n, sigma2 = 4, 7, 0.6
    tasks = rng.standard_normal((3, d))
    R = tasks.T @ tasks / 3
    B = (n + 1) / n * R + (np.trace(R) + sigma2) / n * np.eye(d)
    Gamma = R @ np.linalg.inv(B)
    seen = sigma2 + np.trace(R) - np.trace(R @ R @ np.linalg.inv(B))
    new = sigma2 + d - 2 * np.trace(Gamma) + (n + 1 + d + sigma2) / n * (Gamma**2).sum()
    assert np.array(theory.errors_given(R, n, sigma2, INF)) * d == pytest.approx([new, seen], rel=1e-12)


def test_endless_tasks_and_prompts_are_chapter_1(rng):
    for d, n, sigma2 in ((3, 8, 0.25), (6, 2, 0.0), (1, 1, 3.0)):
        for error in theory.errors_given(np.eye(d), n, sigma2, INF):
            assert d * error == pytest.approx(one_step_gd.minimal_risk(d, n, sigma2), rel=1e-12)


def test_the_descent_is_the_limit_for_endless_tasks():
    for tau, alpha, rho in product((0.1, 0.6, 1.3, 5), (0.5, 4), (0, 0.3)):
        assert theory.descent(tau, alpha, rho) == pytest.approx(theory.limit(tau, alpha, INF, rho)[0], rel=1e-12)
    assert theory.descent(1, 2, 0.1) == INF and theory.limit(1, 2, INF, 0.1) == (INF, INF)
    assert theory.descent(1e9, 4, 0.1) == pytest.approx(theory.endless_prompts(4, INF, 0.1))
    assert theory.descent(1e-9, 4, 0.1) == pytest.approx(1.1)  # no prompts: answering 0


def test_no_tasks_no_prompts_a_huge_ridge_all_answer_zero():
    assert theory.endless_prompts(3, 1e-6, 0.4) == pytest.approx(1.4, rel=1e-3)
    assert theory.limit(1e-6, 3, 2, 0.4)[0] == pytest.approx(1.4, rel=1e-3)
    assert theory.limit(2, 3, 2, 0.4, ridge=1e7) == pytest.approx((1.4, 1.4), rel=1e-5)


def test_the_transition_of_endless_contexts():
    for kappa in (0.3, 0.9, 1.0, 4.0):
        assert theory.endless_prompts(INF, kappa, 0.2) == pytest.approx(0.2 + max(0, 1 - kappa))
        assert theory.endless_prompts(1e9, kappa, 0.2) == pytest.approx(0.2 + max(0, 1 - kappa), abs=1e-4)
    q = 1.2 / 1e8
    assert theory.endless_prompts(1e8, 1.0, 0.2) - 0.2 == pytest.approx(np.sqrt(q) / 2, rel=1e-3)


def test_the_best_ridge_for_endless_tasks():
    alpha, rho, tau = 3, 0.1, 0.8
    b = 1 + (1 + rho) / alpha
    best = (1 + rho - 1 / b) * b**2 / tau
    at = lambda ridge: theory.limit(tau, alpha, INF, rho, ridge)[0]
    assert at(best) < min(at(0.98 * best), at(1.02 * best)) and at(best) < theory.descent(tau, alpha, rho)


def test_lengths_are_the_fluctuations_of_prompts(rng):
    """V, C and the moments' drift against drawn prompts at large d, from five random numbers each."""
    alpha, rho, d = 1.5, 0.4, 300
    n, sigma2, P = round(alpha * d), rho * d, 40_000
    b = (n + 1 + d + sigma2) / n
    w2, zz = rng.chisquare(d, P), rng.chisquare(n, P)
    along, rest = rng.standard_normal(P), rng.chisquare(n - 1, P)
    zy = np.sqrt(w2) * zz + np.sqrt(sigma2 * zz) * along
    yy = w2 * zz + 2 * np.sqrt(w2 * sigma2 * zz) * along + sigma2 * (along**2 + rest)
    g2 = (zy**2 + yy * rng.chisquare(d - 1, P)) / n**2
    miss = w2 - 2 / b * np.sqrt(w2) * zy / n + g2 / b**2  # |w − g/b|²
    x2 = rng.chisquare(d, P)
    s, square = x2 * g2 / (d**2 * b), sigma2 + x2 / d * miss
    found = theory.lengths(alpha, rho)
    assert d * s.var() == pytest.approx(found.variance, rel=0.06)
    assert d * np.cov(s, square)[0, 1] / square.mean() == pytest.approx(found.covariance, rel=0.1)
    least = lambda d: one_step_gd.minimal_risk(d, round(alpha * d), rho * d) / d
    drift = 10_000 * (least(10_000) / theory.endless_prompts(alpha, INF, rho) - 1)
    assert drift == pytest.approx(found.moments, rel=1e-3)


def test_first_correction_by_hand():
    found = theory.lengths(2, 0.25)
    assert theory.first_correction(2, 2, 0.25) == pytest.approx(found.moments + found.variance / 4)
    assert theory.first_correction(1e9, 2, 0.25) == pytest.approx(found.moments)
    assert (found.variance, found.covariance) == pytest.approx((6.7988, 1.7630), abs=1e-4)


def test_what_is_refused():
    with pytest.raises(InputError, match="tau > 1"):
        theory.first_correction(1, 2, 0.1)
    with pytest.raises(InputError, match="ridge"):
        theory.limit(2, 2, 2, 0.1, ridge=-1)
    with pytest.raises(InputError, match="ridge"):
        theory.errors_given(np.eye(2), 3, 0.1, 2, ridge=-1)
