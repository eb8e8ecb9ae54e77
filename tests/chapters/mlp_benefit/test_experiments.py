"""Chapter 4's experiments, at parameters that stand nowhere else."""

import dataclasses

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.mlp_benefit import experiments as chapter
from icl.chapters.mlp_benefit import false_valleys, gpt_sweep, mean_task_laws
from icl.estimates import Estimate
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import Restarts
from icl.theory import mlp_benefit as theory
from icl.training import Schedule

PARAMETERS = check_parameters("04_mlp_benefit", d=3, n=7, sigma2=0.6, beta_norm=1.7)


@pytest.mark.parametrize("law", mean_task_laws.laws(PARAMETERS, Streams("a test", 0)))
def test_measured_gap_is_the_exact_one(law, rng):
    assert chapter.measured_gap(law, 3, rng) == pytest.approx(theory.gap(law), rel=1e-7)


@pytest.mark.parametrize("size, sigma2", [(75.0, 0.25), (1.0, 3000.0)])
def test_a_huge_task_mean_and_much_noise_are_searched_in_units_of_their_own(size, sigma2, rng):
    law = PromptLaw.isotropic(2, 20, sigma2, np.full(2, size))
    ends = chapter.descend(law, 1, rng, LinearTransformerBlock)
    assert ends.risks.min() == pytest.approx(theory.ltb_minimal_risk(law), rel=1e-9)
    assert ExactRisk(law)(ends.best).item() == pytest.approx(ends.risks.min(), rel=1e-9)


def test_the_search_does_not_depend_on_the_units_of_the_labels():
    law = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[1]
    here, there = (
        chapter.descend(each, 1, np.random.default_rng(3), LinearSelfAttention).risks
        for each in (law, law.with_labels_scaled(1024.0))
    )
    np.testing.assert_allclose(there, 1024.0**2 * here, rtol=1e-13)


@pytest.mark.parametrize("law", mean_task_laws.laws(check_parameters("04_mlp_benefit", d=1), Streams("a test", 0)))
def test_in_one_dimension_the_theorem_on_minimisers_does_not_apply(law):
    """Nor for the singular law, which then has three covariates of which one varies."""
    assert "rank one" in chapter.largest_violation(law, Restarts(np.zeros(0), [])).reason


@pytest.mark.parametrize("law", mean_task_laws.laws(PARAMETERS, Streams("a test", 0)))
def test_minimisers_both_ways(law, rng):
    ends = chapter.descend(law, 2, rng, LinearTransformerBlock)
    assert chapter.largest_violation(law, ends) < 1e-5
    assert chapter.largest_excess(law, 5, rng) < 1e-11
    point = chapter.random_minimiser(law, rng)
    moved = EffectiveParameters(point.w1, point.v, point.c, point.V, point.u + 0.1)
    assert chapter.violation(law, point) < 1e-10 < 1e-3 < chapter.violation(law, moved)


def test_construction_and_its_risk(rng):
    law = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[1]
    assert chapter.construction_error(law, rng) < 1e-12
    found = chapter.constructed_risk(law, 60_000, rng)
    assert abs(found.mean - theory.ltb_minimal_risk(law)) < 5 * found.stderr


def test_rank_one_exception_needs_rank_one(rng):
    H, psi, mean = (
        mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[1].H,
        rng.standard_normal(3),
        rng.standard_normal(3),
    )
    one = PromptLaw(6, H, np.outer(psi, psi), mean, 0.2)
    assert chapter.rank_one_risk(one) == pytest.approx(theory.ltb_minimal_risk(one), rel=1e-12)
    two = dataclasses.replace(one, Psi=np.outer(psi, psi) + np.eye(3))
    assert chapter.rank_one_risk(two) > 1.01 * theory.ltb_minimal_risk(two)


def test_law_with_mean_and_the_limits_of_its_ratio():
    for size, limit in ((1e-3, theory.small_norm_limit(4, 9, 0.5)), (1e5, theory.large_norm_limit(9))):
        law = chapter.law_with_mean(4, 9, 0.5, size)
        assert theory.mean_size(law) == pytest.approx(size**2, rel=1e-12)
        assert theory.gap(law) / theory.mean_size(law) == pytest.approx(limit, rel=1e-5)


def test_lower_bound_is_almost_attained():
    for n in (1, 6, 50):
        law = chapter.sharp_law(n)
        assert 1 <= theory.gap(law) / theory.lower_bound(law) < 1.003


def test_random_ratios_above_one(rng):
    assert chapter.random_ratios(20, rng).min() >= 1 - 1e-9


def test_heads(rng):
    law = PromptLaw.isotropic(2, 5, 0.4, np.array([1.0, 0.5]))
    gaps = chapter.head_gaps(law, [1, 2, 3], 3, rng)
    assert gaps[0] == pytest.approx(theory.gap(law), rel=1e-7)
    assert gaps[0] > gaps[1] and gaps[2] == pytest.approx(theory.multi_head_floor(law), rel=1e-6)


def test_one_hidden_unit_is_enough(rng):
    law = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[0]
    ends = chapter.descend(law, 1, rng, chapter.ONE_HIDDEN_UNIT)
    assert ends.risks.min() == pytest.approx(theory.ltb_minimal_risk(law), rel=1e-8)


def test_the_false_valley_holds(rng):
    best, false = theory.ltb_valleys(false_valleys.TRAP)
    assert false_valleys.descend_from_valley(false, rng) == pytest.approx(false.risk, rel=1e-8)
    assert false_valleys.descend_from_valley(best, rng) == pytest.approx(best.risk, rel=1e-8)
    assert false_valleys.gd_beta_reached(4, rng) == 4


def test_trainings_fall(rng):
    law = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[0]
    budget = dataclasses.replace(
        chapter.budget(PARAMETERS), trainings=1, schedule=Schedule(300, 0.02, clip=1.0), batch=64
    )
    runs = chapter.trainings(law, budget, Streams("a test", 3), LinearTransformerBlock, "t")
    assert runs.exact.curve[-1] == pytest.approx(theory.ltb_minimal_risk(law), rel=1e-2)


def test_sweep_has_every_run(monkeypatch):
    monkeypatch.setattr(gpt_sweep, "TEST_PROMPTS", 2000)
    monkeypatch.setitem(gpt_sweep.BUDGETS, "quick", gpt_sweep.GPTBudget(2, (1e-3, 1e-2), 2))
    sweep = gpt_sweep.sweep(PARAMETERS, Streams("a test", 0))
    assert sweep.risks.shape == (2, 2, 2, 2) and np.isfinite(sweep.risks).all()
    assert sweep.ratios().shape == (2, 2)
    np.testing.assert_array_equal(sweep.risks, gpt_sweep.sweep(PARAMETERS, Streams("a test", 0)).risks)


def test_share_of_stuck_starts_has_a_binomial_error():
    ends = Restarts(np.array([1.0, 1.0, 2.0, 3.0]), [])
    found = false_valleys.stuck_rate(ends, 1.0)
    assert (found.mean, found.stderr) == (0.5, 0.25)


def test_trainings_have_streams_of_their_own_and_start_alike():
    law, schedule = mean_task_laws.laws(PARAMETERS, Streams("a test", 0))[0], Schedule(2, 0.02, clip=1.0)
    budget = dataclasses.replace(chapter.budget(PARAMETERS), trainings=3, schedule=schedule, batch=8)
    runs = chapter.trainings(law, budget, Streams("a test", 3), LinearTransformerBlock, "t")
    assert len({run.curve[0] for run in runs.sampled}) == 3
    model = LinearTransformerBlock(
        3, rng=np.random.default_rng(Streams("a test", 3).entropy("training of t", 0)), init="label_path"
    )
    assert runs.exact.curve[0] == ExactRisk(law)(model.effective(7)).item()


def test_ratios_are_without_over_with_the_mlp(monkeypatch):
    """A made-up model whose risk is 6 without the MLP and 2 with it."""
    monkeypatch.setitem(gpt_sweep.BUDGETS, "quick", gpt_sweep.GPTBudget(2, (1e-3, 1e-2), 2))
    monkeypatch.setattr(gpt_sweep, "train_gpt", lambda config, *rest, **named: (config, None))
    monkeypatch.setattr(gpt_sweep, "tested", lambda config, *rest: Estimate(2.0 if config.mlp else 6.0, 0.0, 1))
    sweep = gpt_sweep.sweep(PARAMETERS, Streams("a test", 0))
    np.testing.assert_allclose(sweep.ratios(), 3.0)
    assert (sweep.risks[:, 0] == 2).all() and (sweep.risks[:, 1] == 6).all()
    assert [np.linalg.norm(law.beta_star) for law in sweep.laws] == pytest.approx([0, 1.7])
