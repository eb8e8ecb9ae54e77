"""Chapter 9's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest
from support import assert_within_errors

from icl.chapters import check_parameters
from icl.chapters.softmax_heads_losses import experiments as chapter
from icl.chapters.softmax_heads_losses import fits, losses, pictures
from icl.estimates import NotRun
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.theory import causal_stack, mlp_benefit, nonlinear_targets, one_step_gd, other_losses, softmax_heads

BUDGET = chapter.Budget(20_000, 3000, 60, 4000)


def test_risk_of_an_answer_with_and_without_its_control(rng):
    """0 has nothing in common with the control, twice the best step all of it."""
    law = PromptLaw.isotropic(3, 7, 0.6)
    eta = 2 * one_step_gd.step_size(3, 7, 0.6)
    double = lambda X, y, x: eta * np.einsum("bnd,bn,bd->b", X, y, x)
    for answer in (double, lambda X, y, x: 0 * y[:, 0]):
        assert_within_errors(chapter.risk_of(law, answer, 40_000, rng), 3.6)


def test_fitted_heads_are_the_best_pair(rng):
    law = PromptLaw.isotropic(2, 9, 0.4)
    found = fits.fit_heads(law, 2, BUDGET, rng)
    assert found.risk.mean == pytest.approx(softmax_heads.best_pair(2, 9, 0.4)[1], rel=0.02)
    assert fits.opposite(found, BUDGET) == fits.distance_from_pair(found.M) < 0.3
    few = chapter.Budget(0, 799, 0, 0)  # for eight weights
    assert "799 prompts" in fits.opposite(found, few).reason and fits.opposite(NotRun("why"), few).reason == "why"
    assert "n ≥ 2" in fits.fit_heads(PromptLaw.isotropic(2, 1, 0.4), 2, BUDGET, rng).reason


def test_distance_from_a_pair_by_hand():
    pair = np.stack([0.3 * np.eye(4), -0.3 * np.eye(4)])
    assert fits.distance_from_pair(pair) == pytest.approx(0)
    assert fits.distance_from_pair(pair * [[[2]], [[0]]]) == pytest.approx(1)
    off = pair.copy()
    off[0, 0, 1] = 0.3
    assert fits.distance_from_pair(off) == pytest.approx(1 / np.sqrt(8))


def test_gaps_of_several_heads(rng):
    law = PromptLaw.isotropic(2, 6, 0.5, np.array([1.5, -1]))
    gaps = np.array(chapter.heads_ladder(law, 3, 2, rng)) - one_step_gd.minimal_risk(2, 6, 0.5)
    size2, floor = 3.25, mlp_benefit.multi_head_floor(law)
    assert gaps[0] > gaps[1] and gaps[1:] == pytest.approx([floor, floor], rel=1e-7)
    assert all(gap >= 2 * size2 / ((min(K, 2) + 1) * 6 + 2) for K, gap in enumerate(gaps, 1))


def test_steps_under_other_losses(rng):
    law = PromptLaw.isotropic(2, 6, 0.5)
    predicted = other_losses.absolute_step(2, 6, 0.5)
    assert_within_errors(losses.best_absolute_step(law, 200_000, rng), predicted)
    logit, squared = losses.best_step_for_signs(2, 6, 100_000, rng)
    assert_within_errors(logit, other_losses.logit_step(2, 6))
    assert squared < 0.7 * logit.mean
    assert fits.steps_under("absolute", law, 6000, 3, rng).mean == pytest.approx(predicted, rel=0.03)
    for loss, law_, step, wrong in (
        ("absolute", law, predicted, 0.8 * predicted),
        ("logit", PromptLaw.isotropic(2, 6, 0.0), logit.mean, squared),
    ):
        at, off = losses.flatness(loss, law_, [step, wrong], 80_000, rng)
        assert at < 5.5 and off > 10, loss
    learned = fits.steps_under("logit", PromptLaw.isotropic(2, 6, 0.0), 6000, 3, rng)
    assert learned.mean == pytest.approx(other_losses.logit_step(2, 6), rel=0.06)


def test_queries_and_prefixes(rng):
    law = PromptLaw.isotropic(2, 5, 0.8)
    eta, k = one_step_gd.step_size(2, 5, 0.8), 3.8
    assert_within_errors(chapter.regressed_step(law, 3, 60_000, rng), eta)
    assert_within_errors(
        chapter.answers_to_queries(law, 1.3 * eta, 3, 60_000, rng), one_step_gd.one_step_risk(1.3 * eta, 2, 5, 0.8)
    )
    j = np.arange(1, 6)
    assert_within_errors(chapter.best_prefix_step(law, False, 60_000, rng), j.sum() / (j * (j + k)).sum())
    assert_within_errors(chapter.best_prefix_step(law, True, 60_000, rng), 5 / ((j + k) / j).sum())


def test_a_regressed_step_has_next_to_no_bias():
    """Least squares alone, on batches of 1000, comes out 1.3 % too long."""
    law = PromptLaw.isotropic(2, 6, 0.5)
    steps = [chapter.regressed_step(law, 3, 16_000, np.random.default_rng(k)).mean for k in range(40)]
    assert np.mean(steps) == pytest.approx(one_step_gd.step_size(2, 6, 0.5), rel=0.007)


def test_reference_steps_of_all_prefixes(rng):
    law = PromptLaw.isotropic(4, 20, 0.25)
    assert_within_errors(chapter.best_prefix_step(law, False, 60_000, rng), 0.052863)
    assert_within_errors(chapter.best_prefix_step(law, True, 60_000, rng), 0.514296)


def test_causal_ends(rng):
    ends = chapter.causal_ends(PromptLaw.isotropic(6, 11, 0.9), 20_000, Streams("a test", 1))
    assert_within_errors(ends["here"], causal_stack.limit_risk(6, 11, 0.9))
    assert_within_errors(ends["endless"], causal_stack.endless_risk(6, 0.9))
    assert all(
        isinstance(end, NotRun) for end in chapter.causal_ends(PromptLaw.isotropic(3, 11, 0.9), 9, None).values()
    )


def test_best_shared_steps(rng):
    found = chapter.best_shared_steps(PromptLaw.isotropic(4, 9, 0.3), [1, 3, 9], 3000, rng)
    assert found["causal"][0] == found["prefix"][0] == pytest.approx(one_step_gd.minimal_risk(4, 9, 0.3), rel=0.05)
    assert (np.diff(found["prefix"]) < 0).all() and (found["prefix"] < found["causal"])[1:].all()


def test_deep_stacks_stay_above_the_linear_floor(rng):
    moments = nonlinear_targets.moments("sign", 2)
    found = fits.fit_deep("sign", 2, 30, 0.1, 2, 5000, rng)
    floor, one_layer = nonlinear_targets.linear_floor(moments, 0.1), nonlinear_targets.minimal_risk(moments, 30, 0.1)
    assert floor < found.mean < one_layer + 5 * found.stderr
    misses = fits.nonlinearity_in_query(3, 6, 2, rng)
    assert misses["masked"] < 1e-12 and misses["unmasked"] > 1e-4


def test_pictures_of_extreme_sizes():
    for d, n, sigma2 in ((1, 1, 0.0), (3, 7, 0.4)):
        none = NotRun("no fit")
        found = pictures.weights_and_risk(d, n, sigma2, *softmax_heads.best_pair(d, n, sigma2)[:1], 1.0, none)
        assert np.isfinite(found.columns["pair"]).all() and "<svg" in found.svg()
    linear = found.columns["linear"]
    assert len(linear) == 7 and pictures.pair_weights(0.01, 3, 7, 0.4, pictures.scores(7)).sum() == pytest.approx(0)


def test_budget_shrinks_with_the_size_of_a_prompt():
    assert chapter.budget(check_parameters("09_softmax_heads_losses")).prompts == 200_000
    large = chapter.budget(check_parameters("09_softmax_heads_losses", d=100, n=1000))
    assert 2000 <= large.prompts < 2500
