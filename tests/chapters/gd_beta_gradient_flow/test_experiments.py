"""Chapter 5's experiments at parameters that stand nowhere else: each measures what its theory says."""

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.gd_beta_gradient_flow import discrete
from icl.chapters.gd_beta_gradient_flow import experiments as chapter
from icl.chapters.gd_beta_gradient_flow import flow as flows
from icl.chapters.gd_beta_gradient_flow import flow_structure as structure
from icl.chapters.gd_beta_gradient_flow import risk_ratios as rates
from icl.chapters.mlp_benefit import mean_task_laws
from icl.estimates import Estimate
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import gd_beta_minimisers
from icl.solvers import linear
from icl.theory import bayes_risk, gd_beta
from icl.theory import gradient_flow as theory
from icl.validation import InputError

CHAPTER = "05_gd_beta_gradient_flow"
PARAMETERS = check_parameters(CHAPTER, d=3, n=7, sigma2=0.6, beta_norm=1.7)


def test_laws_are_what_they_say():
    isotropic, skewed, singular = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))
    for law in (isotropic, skewed, singular):
        assert law.beta_star @ law.H @ law.beta_star == pytest.approx(1.7**2)
        assert (law.n, law.sigma2) == (7, 0.6)
    assert np.abs(skewed.H @ skewed.Psi - skewed.Psi @ skewed.H).max() > 0.01
    assert (singular.d, np.linalg.matrix_rank(singular.H), np.linalg.matrix_rank(singular.Psi)) == (5, 3, 4)
    assert np.array_equal(mean_task_laws.isotropic_law(check_parameters(CHAPTER, beta_norm=0.0)).beta_star, np.zeros(5))


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), "3"])
def test_bad_beta_norm_is_refused(bad):
    with pytest.raises(InputError, match="beta_norm"):
        check_parameters(CHAPTER, beta_norm=bad)


def test_budgets_shrink_with_the_prompt():
    small, large = (chapter.budget(check_parameters(CHAPTER, d=d, n=n)) for d, n in ((5, 20), (100, 1000)))
    assert large.prompts < small.prompts and large.starts < small.starts


@pytest.mark.parametrize("which", [0, 1, 2])
def test_measured_risks(which):
    law, rng = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[which], np.random.default_rng(9)
    point = chapter.random_point(law, rng)

    def cost(estimator):
        def of(prompts):
            off = estimator(prompts) - prompts.beta
            return law.sigma2 + np.einsum("bi,ij,bj->b", off, law.H, off)

        return of

    found = chapter.over_prompts(law, cost(lambda p: linear.gd_beta(p.X, p.y, *point)), 30_000, rng)
    assert abs(found.mean - gd_beta.risk(law, *point)) < 5 * found.stderr
    bayes = chapter.over_prompts(law, cost(lambda p: linear.bayes(p.X, p.y, law)), 30_000, rng)
    covered = rates.context_risks(law, 8000, rng)
    assert abs(bayes.mean - law.sigma2 - covered.bayes.mean) < 5 * np.hypot(bayes.stderr, covered.bayes.stderr)
    excess = gd_beta.minimal_risk(law) - law.sigma2
    assert abs(covered.gd_beta.mean - excess) < 5 * covered.gd_beta.stderr


def test_context_risks_without_noise_leave_the_unseen():
    law = PromptLaw.isotropic(5, 3, 0.0)
    found = rates.context_risks(law, 50, np.random.default_rng(1))
    assert found.bayes.mean == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_lbfgs_finds_the_set_of_minimisers(which):
    law, rng = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[which], np.random.default_rng(10)
    ends = gd_beta_minimisers(law, 3, rng)
    assert ends.risks == pytest.approx(gd_beta.minimal_risk(law), rel=1e-10)
    assert gd_beta.distance_from_minimisers(law, ends.beta, ends.Gamma).max() < 1e-5
    assert chapter.prediction_spread(law, ends, gd_beta.optimal_gamma(law), rng) < 1e-5
    assert chapter.prediction_spread(law, ends, 1.01 * gd_beta.optimal_gamma(law), rng) > 1e-4
    spread = chapter.parameter_spread(ends)
    assert spread > 0.1 if which == 2 else spread < 1e-5


def test_minimisers_of_a_huge_task_mean_without_noise():
    """What H does not see of the mean must not grow with it: times the rounding of H's zeros it would be a risk."""
    parameters = check_parameters(CHAPTER, d=3, n=1000, sigma2=0.0, beta_norm=1000.0)
    _, skewed, singular = mean_task_laws.laws(parameters, Streams("a test", 0))
    assert singular.beta_star @ singular.H @ singular.beta_star == pytest.approx(1e6)
    ends = gd_beta_minimisers(singular, 3, np.random.default_rng(11))
    assert ends.risks.min() == pytest.approx(gd_beta.minimal_risk(singular), rel=1e-9)
    long = gd_beta.at_length(skewed, 10_000_000)
    near = gd_beta_minimisers(long, 1, np.random.default_rng(12), around=long.beta_star)
    assert np.abs(skewed.H @ near.Gamma[0] - np.eye(3)).max() < 1e-4


def ratio_of_step_and_ridge(law, prompts, rng):
    Gamma = gd_beta.optimal_gamma(law)
    step = lambda p: linear.gd_beta(p.X, p.y, law.beta_star, Gamma)
    return chapter.measured_ratio(law, step, lambda p: linear.bayes(p.X, p.y, law), prompts, rng)


@pytest.mark.parametrize("H", [np.eye(4), np.diag([1.0, 1.0, 0.01, 0.01])])
def test_ratio_of_risks(H):
    rng = np.random.default_rng(11)
    law = PromptLaw(6, H, np.eye(4), np.zeros(4), 0.3)
    bayes = 0.3 + rates.context_risks(law, 20_000, rng).bayes.mean
    ratio = ratio_of_step_and_ridge(law, 30_000, rng)
    assert abs(ratio.mean - gd_beta.minimal_risk(law) / bayes) < 5 * ratio.stderr + 0.005 * ratio.mean
    assert ratio.stderr < 0.01 * ratio.mean
    expected = gd_beta.minimal_risk(PromptLaw.isotropic(4, 6, 0.3)) / bayes_risk.isotropic_bayes_risk(4, 6, 0.3)
    assert rates.snr_ratio(0.3, 4, 6) == expected
    assert rates.snr_ratio(0.01) == pytest.approx(4.2475 / 0.3828, rel=1e-4)


def test_log_slope_of_a_power():
    x = np.array([1.0, 10, 100])
    values = [Estimate(3 * v**-0.7, 0.01 * 3 * v**-0.7, 9) for v in x]
    slope = rates.log_slope(values, x)
    assert slope.mean == pytest.approx(-0.7) and slope.stderr == pytest.approx(0.01 / np.log(10) / np.sqrt(2))


def test_flows_arrive_within_their_bounds_from_every_kind_of_start():
    law = mean_task_laws.isotropic_law(PARAMETERS)
    starts = flows.starts(law, 9, np.random.default_rng(12))
    b, mirror = starts[3][0] - law.beta_star, starts[4][0] - law.beta_star
    assert np.allclose(b / np.linalg.norm(b), -mirror / np.linalg.norm(mirror))
    for beta, Gamma in starts:
        for speed, slope in zip(theory.velocity(law, beta, Gamma), flows.slope(law, beta, Gamma), strict=True):
            assert np.abs(speed + slope).max() < 1e-11 * max(1, np.abs(slope).max())
    found = flows.flows(law, starts, count=30)
    assert max(gd_beta.distance_from_minimisers(law, f.beta[-1], f.Gamma[-1]) for f in found) < 1e-7
    assert (
        0.9 < flows.largest_bound_ratio(law, found) < 1 + 1e-7 < 1.01 < flows.largest_bound_ratio(law, found, shorter=1)
    )
    assert (
        0.1 < flows.largest_excess_ratio(law, found) < 1 + 1e-6 < 10 < flows.largest_excess_ratio(law, found, speed=2)
    )


def test_structure_of_the_flow():
    rng = np.random.default_rng(13)
    isotropic = mean_task_laws.isotropic_law(PARAMETERS)
    assert structure.isotropic_error(isotropic, -isotropic.beta_star, [0.3, 5.0], g=0.4) < 1e-8
    assert structure.isotropic_error(isotropic, np.zeros(3), [0.3, 5.0]) < 1e-8
    assert structure.isotropic_error(isotropic, -isotropic.beta_star, [0.3, 5.0], extra=1) > 1e-3
    assert structure.reference_error(rng) < 1e-9 < 1e-3 < structure.reference_error(rng, speed=0.5)
    law, Q = structure.commuting_law(7, 0.6, rng)
    assert (
        structure.diagonal_error(law, Q, 1.3, rng) < 1e-8 < 1e-3 < structure.diagonal_error(law, Q, 1.3, rng, extra=1)
    )
    predicted = np.diag(Q.T @ gd_beta.curvature(law, gd_beta.optimal_gamma(law)) @ Q) * 2
    np.testing.assert_allclose(structure.tail_rates_along(law, Q), predicted, rtol=1e-3)


@pytest.mark.parametrize("d, n", [(1, 5), (2, 1), (2, 20), (3, 7)])
def test_the_largest_condition_number_is_the_closed_form_s(d, n):
    """κ + 1/κ = (3n + 5)/2 for d ≥ 2; at n = 20 that is 32.47."""
    found = structure.largest_condition(d, n, np.random.default_rng(18), starts=3)
    assert found + 1 / found == pytest.approx((3 * n + 5) / 2 if d > 1 else 2, rel=1e-9)


def test_small_eigenvalues_keep_their_digits_beside_large_ones():
    """Rows of sizes from 1 to 1e7, mixed: the eigenvalues' product is the determinant, which is known without them."""
    B, sizes = np.random.default_rng(3).standard_normal((6, 6)), np.array([1e2, 1, 1e7, 1e4, 10, 1e5])
    alike = B + B.T
    determinant = np.linalg.det(alike) * (sizes**2).prod()
    product = lambda eigenvalues: eigenvalues.prod() / determinant
    mixed = sizes[:, None] * alike * sizes
    assert abs(product(flows.eigenvalues(mixed)) - 1) < 1e-10 < abs(product(np.linalg.eigvalsh(mixed)) - 1)
    np.testing.assert_array_equal(flows.eigenvalues(alike), np.linalg.eigvalsh(alike))


@pytest.mark.parametrize("sigma2, beta_norm", [(0.25, 1e6), (1e6, 3.0), (0.003, 2e5), (0.25, 1e-9)])
def test_the_tail_of_a_far_start_and_of_a_very_near_one_is_that_of_a_near_one(sigma2, beta_norm):
    law = PromptLaw.isotropic(3, 20, sigma2, beta_norm * np.eye(3)[0])
    rate = flows.measured_tail_rate(law, -law.beta_star, np.zeros((3, 3)))
    assert rate == pytest.approx(theory.tail_rates(law)[0], rel=1e-3)


def test_the_ends_of_a_search_under_much_noise_are_settled_by_the_gradient():
    """L-BFGS sees the risk alone, whose rounding hides Gamma's digits; H is singular, so the end is a set."""
    law = PromptLaw(20, np.diag([1.0, 0.6, 0.3, 0.2, 0]), np.eye(5), np.full(5, 3.0), 1e6)
    found = gd_beta_minimisers(law, 3, np.random.default_rng(5))
    off = [gd_beta.distance_from_minimisers(law, e.beta, e.Gamma).max() for e in (found, chapter.settled(law, found))]
    assert off[1] < 1e-13 < 1e-10 < off[0]


def test_a_mean_task_far_from_every_start_is_found():
    parameters = check_parameters(CHAPTER, d=20, n=65, sigma2=0.12, beta_norm=2e5)
    singular = mean_task_laws.laws(parameters, Streams("a test", 0))[2]
    least = gd_beta.minimal_risk(singular)
    # from these two starts a search in raw labels ends at 10 to 10,000 times the least risk, as processors round
    assert chapter.minimisers(singular, 2, np.random.default_rng(8)).risks == pytest.approx(least, rel=1e-10)


def test_what_a_singular_covariance_does_not_see_keeps_still(rng):
    """Of every end, to the last digits: rounding has no say in where a search ends."""
    H = np.diag([1.0, 0.6, 0.3, 0, 0])
    law = PromptLaw(20, H, np.eye(5), np.full(5, 3.0), 0.25)
    found = gd_beta_minimisers(law, 3, rng)
    ends = chapter.settled(law, found)
    np.testing.assert_array_equal(ends.beta[:, 3:], found.beta[:, 3:])
    unseen = ~np.outer(H.any(0), H.any(0))
    np.testing.assert_array_equal(ends.Gamma[:, unseen], found.Gamma[:, unseen])
    assert np.abs(ends.Gamma - found.Gamma).max() > 0


def test_curvatures_and_tail_at_the_start_and_end():
    law = mean_task_laws.isotropic_law(PARAMETERS)
    measured = flows.curvatures(law, np.zeros(3), np.zeros((3, 3)))
    expected = np.linalg.eigvalsh(theory.hessian(law, np.zeros(3), np.zeros((3, 3))))
    np.testing.assert_allclose(measured, expected, rtol=1e-9, atol=1e-12)
    rate = flows.measured_tail_rate(law, np.array([0.0, 1.7, 0]), np.zeros((3, 3)))
    assert rate == pytest.approx(theory.tail_rates(law)[0], rel=1e-3)


def test_discrete_steps_follow_the_flow_or_run_away():
    law = PromptLaw.isotropic(2, 7, 0.6, np.array([1.7, 0]))
    zero = np.zeros(2), np.zeros((2, 2))
    assert discrete.first_order(law, *zero).mean == pytest.approx(1, abs=0.1)
    curvature = theory.fastest_rate(law, law.beta_star, gd_beta.optimal_gamma(law))
    assert discrete.largest_stable_step(law, np.random.default_rng(14)) == pytest.approx(2 / curvature, rel=1e-2)
    assert discrete.deviation_from_flow(law, discrete.descend(law, "gd", [0.001], 30, *zero))[0] < 0.01
    assert np.isinf(discrete.descend(law, "gd", [1e3], 30, *zero).excess(law)[-1, 0])
    step = discrete.descend(law, "gd", [0.01], 1, *zero)
    speeds = theory.velocity(law, *zero)
    assert np.allclose(step.beta[1, 0], 0.01 * speeds[0]) and np.allclose(step.Gamma[1, 0], 0.01 * speeds[1])
    adam = discrete.descend(law, "adam", [0.05], 200, *zero)
    assert adam.excess(law)[-1, 0] < 1e-3 * adam.excess(law)[0, 0]


def test_the_power_law_is_one():
    law = rates.power_law(7, d=30, sigma2=0.5)
    np.testing.assert_allclose(gd_beta.spectrum(law), np.arange(1.0, 31) ** -2.0)
    assert (law.n, law.sigma2) == (7, 0.5)


def test_the_ratio_s_error_is_the_spread_of_repetitions():
    law, rng = PromptLaw.isotropic(3, 5, 0.3), np.random.default_rng(15)
    found = [ratio_of_step_and_ridge(law, 500, rng) for _ in range(150)]
    spread = np.std([ratio.mean for ratio in found], ddof=1)
    assert 0.8 < spread / np.mean([ratio.stderr for ratio in found]) < 1.25


def test_deviation_is_a_distance():
    """One step of GD at rate k beside the flow at time k, divided by the way from the start to the minimum."""
    law = PromptLaw.isotropic(2, 7, 0.6, np.array([1.7, 0]))
    zero = np.zeros(2), np.zeros((2, 2))
    path, speeds = discrete.descend(law, "gd", [0.05], 1, *zero), theory.velocity(law, *zero)
    flow = theory.integrate(law, *zero, [0.05])
    apart = np.r_[0.05 * speeds[0] - flow.beta[0], (0.05 * speeds[1] - flow.Gamma[0]).ravel()]
    way = np.sqrt(1.7**2 + (gd_beta.optimal_gamma(law) ** 2).sum())
    assert discrete.deviation_from_flow(law, path)[0] == pytest.approx(np.linalg.norm(apart) / way, rel=1e-6)


def test_the_sweep_of_rates_reaches_from_calm_to_unstable():
    law = PromptLaw.isotropic(2, 7, 0.6, np.array([4.0, 0]))
    zero = np.zeros(2), np.zeros((2, 2))
    at_start = theory.fastest_rate(law, *zero)
    at_minimum = theory.fastest_rate(law, law.beta_star, gd_beta.optimal_gamma(law))
    swept = discrete.sweep_rates(law, *zero, 5)
    assert at_start > 2 * at_minimum
    assert swept[[0, -1]] == pytest.approx([0.02 / at_start, 6 / at_minimum]) and len(swept) == 5


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_slowest_starts_near_and_far(which):
    """There b moves at 4 h/(n + 2), h the least positive eigenvalue of H, the very rate of the bound."""
    law = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[which]
    for k, size in ((1, 0.1), (2, 100.0)):
        beta, Gamma = flows.starts(law, 3, np.random.default_rng(17))[k]
        b, speed = beta - law.beta_star, theory.velocity(law, beta, Gamma)[0]
        assert np.linalg.norm(b) == pytest.approx(size)
        np.testing.assert_allclose(speed, -4 * theory.least_curvature(law) / 9 * b, rtol=1e-10, atol=1e-11 * size)
