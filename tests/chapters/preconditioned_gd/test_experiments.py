"""Chapter 2's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest
from support import assert_within_errors, estimate

from icl import search
from icl.chapters import check_parameters
from icl.chapters.one_step_gd.experiments import Budget
from icl.chapters.preconditioned_gd import condition_sweep, task_laws
from icl.chapters.preconditioned_gd import experiments as chapter
from icl.estimates import Estimate
from icl.prompts import PromptLaw, conditioned_covariance
from icl.randomness import Streams
from icl.solvers.linear import ridge
from icl.theory import gd_beta
from icl.theory import one_step_gd as theorem1
from icl.theory import preconditioned_gd as theory
from icl.training import Schedule
from icl.validation import InputError


def parameters(**values):
    return check_parameters("02_preconditioned_gd", **values)


def law_at(d, n, sigma2, condition, prior="identity", seed=3):
    H = conditioned_covariance(d, condition, np.random.default_rng(seed))
    if prior == "inverse":
        return theory.theorem2_law(H, n, sigma2)
    return PromptLaw(n, H, np.eye(d), np.zeros(d), sigma2)


def distance(weights, law):
    """Of the learned matrix from Gamma*, as far as the data can see, relative."""
    return gd_beta.distance_from_minimisers(law, law.beta_star, search.preconditioner(weights))


@pytest.mark.parametrize("d, n, sigma2, condition", [(3, 7, 0.9, 37.0), (4, 2, 0.0, 4.0), (1, 6, 0.2, 50.0)])
def test_attention_learns_the_inverse_covariance(rng, d, n, sigma2, condition):
    law = law_at(d, n, sigma2, condition, "inverse")
    weights = chapter.descend(law, rng)
    floor = theorem1.minimal_risk(d, n, sigma2)
    assert search.exact_risk(law, weights) == pytest.approx(floor, rel=1e-8)
    np.testing.assert_allclose(theory.preconditioner(law), theory.theorem2_preconditioner(law.H, n, sigma2), rtol=1e-9)
    assert distance(weights, law) < 1e-8


@pytest.mark.parametrize("d, n, sigma2, condition", [(3, 11, 0.4, 60.0), (2, 5, 1.7, 3.0)])
def test_attention_learns_any_preconditioner(rng, d, n, sigma2, condition):
    law = law_at(d, n, sigma2, condition)
    weights = chapter.descend(law, rng)
    penalty = n * np.linalg.inv(search.preconditioner(weights)) - (n + 1) * law.H
    np.testing.assert_allclose(penalty, (np.trace(law.H) + sigma2) * np.eye(d), atol=1e-6)
    skewed = PromptLaw(n, law.H, chapter.random_prior(d, rng), np.zeros(d), sigma2)
    assert np.abs(skewed.H @ skewed.Psi - skewed.Psi @ skewed.H).max() > 0.01, "they should not commute"
    thin = PromptLaw(n, law.H, chapter.without_directions(skewed.Psi, 1), np.zeros(d), sigma2)
    flat = PromptLaw(n, chapter.without_directions(law.H, 1), np.eye(d), np.zeros(d), sigma2)
    for other in (skewed, thin, flat):
        found = chapter.descend(other, rng)
        assert search.exact_risk(other, found) == pytest.approx(theory.minimal_risk(other), rel=1e-8)
        assert distance(found, other) < 1e-8


def test_under_much_noise_a_false_valley_has_not_reached_the_bottom():
    """Half of what can be learned is there 2e-11 of the risk: less than what `Restarts.reached` allows."""
    law = law_at(3, 5, 1e6, 10.0)
    least, nothing = theory.minimal_risk(law), np.trace(law.H) + 1e6
    ends = search.Restarts(np.array([nothing, (least + nothing) / 2, least]), ["none", "half", "all"])
    assert ends.reached(least).all() and chapter.reached(law, ends, least) == ["all"]


def test_squared_size_counts_every_entry_and_no_noise(rng):
    """Unbiased with noise of any size, and its error is the spread over repetitions; a wrong entry shows."""
    wrong, unit = np.array([[0.0, 0.3], [0.0, 0.0]]), np.diag([2.0, 1.0])
    for D, size in ((0 * wrong, 0.0), (wrong, 0.09 / 5)):
        runs = [chapter.squared_size(D + rng.standard_normal((40, 2, 2)), unit) for _ in range(400)]
        means, errors = np.array([(run.mean, run.stderr) for run in runs]).T
        assert_within_errors(Estimate(means.mean(), means.std() / 20, 400), size)
        assert 0.8 < means.std() / np.sqrt((errors**2).mean()) < 1.25
    sure = chapter.squared_size(np.stack([wrong] * 5), unit)
    assert sure.mean == pytest.approx(0.09 / 5) and sure.stderr == pytest.approx(0, abs=1e-9)


def test_a_mean_over_prompts_and_its_error(rng):
    law = law_at(3, 9, 0.3, 6.0)
    found = chapter.over_prompts(lambda batch: batch.y_query**2, law, 30_000, rng)
    assert_within_errors(found, np.trace(law.H) + 0.3)
    assert found.count == 30_000


@pytest.mark.parametrize("name", ["sparse_tasks", "rademacher_tasks"])
def test_only_the_second_moment_of_tasks_matters(rng, name):
    law = law_at(4, 6, 0.7, 12.0)
    sampler = getattr(task_laws, name)(law)
    batch = sampler.sample(rng, 20_000)
    second = batch.beta[:, :, None] * batch.beta[:, None]
    assert (np.abs(second.mean(0) - np.eye(4)) <= 5 * second.std(0) / np.sqrt(20_000) + 1e-12).all()
    residual = batch.y - np.einsum("bnd,bd->bn", batch.X, batch.beta)
    assert residual.var() == pytest.approx(law.sigma2, rel=0.05), "labels belong to the new tasks"
    found = task_laws.best_matrix(sampler, law, 60_000, rng)
    assert_within_errors(found.Gamma, theory.preconditioner(law))
    assert_within_errors(found.ratio, 1.0)
    assert_within_errors(found.risk, theory.minimal_risk(law))
    assert found.ratio.stderr < 0.004, "a 2 % error must show"


def test_plain_gd_by_regression(rng):
    law = law_at(3, 8, 0.3, 25.0, "inverse")
    eta, risk = task_laws.plain_gd_by_regression(law, 200_000, rng)
    predicted_eta, predicted_risk = theory.plain_gd(law)
    assert_within_errors(eta, predicted_eta)
    assert_within_errors(risk, predicted_risk)
    assert eta.stderr < 0.004 * predicted_eta


def test_turning_swaps_the_ends():
    H = conditioned_covariance(4, 9.0, np.random.default_rng(1))
    eigenvalues, Q = np.linalg.eigh(H)
    swapped = chapter.turned(H, np.pi / 2)
    np.testing.assert_allclose(np.diag(Q.T @ swapped @ Q), eigenvalues[[3, 1, 2, 0]], atol=1e-12)
    np.testing.assert_allclose(chapter.turned(H, 0.0), H, atol=1e-12)
    np.testing.assert_allclose(chapter.turned(np.eye(1), 0.7), np.eye(1))


@pytest.mark.parametrize("d, n, sigma2", [(3, 6, 0.4), (4, 2, 0.5), (4, 2, 0.0), (3, 5, 0.0)])
def test_bayes_risk_over_x_only(rng, d, n, sigma2):
    identity, inverse = law_at(d, n, sigma2, 15.0), law_at(d, n, sigma2, 15.0, "inverse")
    over_X = condition_sweep.bayes_risks([identity, inverse], 4000, rng)
    exact = theorem1.lemma1_constant(d, n, sigma2)
    assert abs(over_X[1].mean - exact) <= 5 * over_X[1].stderr + 1e-9

    def draw(B):  # ridge regression with penalty sigma2, through the data pipeline
        batch = identity.sample(rng, B)
        miss = ridge(batch.X, batch.y, sigma2) - batch.beta
        return ((miss @ identity.H) * miss).sum(1) + sigma2

    pipeline = estimate(draw, 20_000)
    assert abs(over_X[0].mean - pipeline.mean) <= 5 * np.hypot(over_X[0].stderr, pipeline.stderr) + 1e-9


def test_stability_at_d1_has_a_known_mean(rng):
    n, eta = 7, 0.1
    found = chapter.stability(1, n, eta, 20_000, rng)
    assert_within_errors(found.mean, eta * n / 2)  # lambda_max = |z|², of mean n
    assert found.unstable.mean == pytest.approx((found.ratios > 1).mean())


def test_condition_sweep_and_training(rng):
    small = parameters(d=2, n=9, sigma2=0.6, condition=5.0, seed=8)
    sweep = condition_sweep.condition_sweep(small, 0, "inverse", [1.0, 7.0], [1.0, 7.0], 200, rng)
    np.testing.assert_allclose(sweep.trained, theorem1.minimal_risk(2, 9, 0.6), rtol=1e-8)
    identity = condition_sweep.condition_sweep(small, 0, "identity", [1.0, 7.0], [7.0], 200, rng)
    assert identity.trained[0] == pytest.approx(theory.minimal_risk(identity.laws[1]), rel=1e-8)
    runs = condition_sweep.adam_against_condition(
        small, 0, Budget(2000, 1, 1, Schedule(400, 0.02), 128), [2.0], Streams("a test", 0)
    )
    assert condition_sweep.excess_percent(small, 0, [2.0], runs)[0] < 5


def test_further_off_is_counted_in_standard_errors():
    near, far = Estimate(1.5, 1.0, 9), Estimate(1.1, 0.01, 9)
    assert task_laws.further_off([near, far], 1.0) is far


@pytest.mark.parametrize("condition", [0.5, float("nan"), float("inf"), -3.0])
def test_bad_condition_numbers(condition):
    with pytest.raises(InputError, match="condition"):
        parameters(condition=condition)


def test_the_sweep_sweeps_the_condition_number(rng):
    small = parameters(d=3, n=9, sigma2=0.6, condition=5.0, seed=8)
    sweep = condition_sweep.condition_sweep(small, 0, "identity", [1.0, 7.0, 300.0], [7.0], 20, rng)
    assert [np.linalg.cond(law.H) for law in sweep.laws] == pytest.approx([1.0, 7.0, 300.0])
    assert sweep.trained[0] == pytest.approx(theory.minimal_risk(sweep.laws[1]), rel=1e-7)


@pytest.mark.parametrize("name", ["sparse_tasks", "rademacher_tasks"])
def test_the_query_is_labelled_by_the_new_task_too(rng, name):
    law = law_at(4, 6, 0.7, 12.0)
    batch = getattr(task_laws, name)(law).sample(rng, 20_000)
    residual = batch.y_query - (batch.x_query * batch.beta).sum(1)
    assert residual.var() == pytest.approx(law.sigma2, rel=0.05)


def test_errors_of_the_bayes_risk_are_those_of_a_mean(rng):
    law = law_at(2, 3, 0.4, 5.0)
    runs = [condition_sweep.bayes_risks([law], 50, rng)[0] for _ in range(200)]
    spread = np.std([run.mean for run in runs], ddof=1)
    assert 0.8 < spread / np.mean([run.stderr for run in runs]) < 1.25


def test_a_covariance_far_from_round_costs_no_digits(rng):
    H = conditioned_covariance(3, 1e6, rng)
    law = PromptLaw(9, H, np.eye(3), np.zeros(3), 0.3)
    weights, root = chapter.descend(law, rng), law.roots[0]
    G = root @ theory.preconditioner(law) @ root
    assert np.linalg.norm(root @ search.preconditioner(weights) @ root - G) < 1e-12 * np.linalg.norm(G)
