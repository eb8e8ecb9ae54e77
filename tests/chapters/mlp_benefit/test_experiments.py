"""Chapter 4's experiments, at parameters that stand nowhere else."""

import dataclasses

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.mlp_benefit import experiments as chapter
from icl.chapters.mlp_benefit import false_valleys, mean_task_laws
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import Restarts
from icl.theory import gd_beta
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
    assert "rank one" in chapter.rank_below_two(law).reason


def test_what_noise_hides_from_the_risk_is_no_minimiser():
    """A block that stores the mean task alone: under much noise its risk is the least one to ten digits."""
    law = PromptLaw.isotropic(2, 42, 4e6, np.full(2, 0.65))
    best = EffectiveParameters.from_numpy(law.beta_star, -law.beta_star, 1.0, gd_beta.optimal_gamma(law).T, np.zeros(2))
    silent = EffectiveParameters.from_numpy(law.beta_star, np.zeros(2), 0.0, np.zeros((2, 2)), np.zeros(2))
    ends = Restarts(np.array([ExactRisk(law)(one).item() for one in (silent, best)]), [silent, best])
    assert ends.reached(theory.ltb_minimal_risk(law)).all()
    (found,) = chapter.minimisers(law, ends)
    assert found["c"] == 1.0


def test_the_limit_of_small_means_is_not_read_off_where_noise_drowns_it():
    assert chapter.too_loud(PromptLaw.isotropic(5, 20, 52_000.0)) is None
    assert "lost in the rounding" in chapter.too_loud(PromptLaw.isotropic(5, 20, 53_000.0)).reason


@pytest.mark.parametrize("law", mean_task_laws.laws(PARAMETERS, Streams("a test", 0)))
def test_minimisers_are_the_ends_at_the_floor(law, rng):
    assert chapter.rank_below_two(law) is None
    ends = chapter.descend(law, 2, rng, LinearTransformerBlock)
    found = chapter.minimisers(law, ends)
    assert len(found) == ends.reached(theory.ltb_minimal_risk(law)).sum() >= 1
    H, target = law.H, law.H @ gd_beta.optimal_gamma(law) @ law.H
    for part in found:
        assert chapter.risk_of(law, **part) == pytest.approx(theory.ltb_minimal_risk(law), rel=1e-10)
        np.testing.assert_allclose(H @ part["w1"], H @ law.beta_star, atol=1e-6)
        np.testing.assert_allclose(part["c"] * H @ part["V"].T @ H, target, atol=1e-6)
    above = Restarts(ends.risks + 1, ends.weights)
    assert chapter.minimisers(law, above) == []


def test_law_with_mean():
    for size in (1e-3, 1e5):
        assert theory.mean_size(chapter.law_with_mean(4, 9, 0.5, size)) == pytest.approx(size**2, rel=1e-12)


def test_lower_bound_is_almost_attained():
    for n in (1, 6, 50):
        law = chapter.sharp_law(n)
        assert 1 <= theory.gap(law) / theory.lower_bound(law) < 1.003


def test_gaps_of_random_problems_are_the_lesser_of_two_searches(rng, monkeypatch):
    monkeypatch.setenv("ICL_CORES", "1")
    laws = chapter.random_laws(6, rng)
    ranks = [np.linalg.matrix_rank(law.H) + np.linalg.matrix_rank(law.Psi) - 2 * law.d for law in laws]
    assert [rank < 0 for rank in ranks] == [k % 3 == 0 and law.d > 1 for k, law in enumerate(laws)]
    gaps, agree = chapter.least_gaps(laws, rng)
    np.testing.assert_allclose(gaps, [theory.gap(law) for law in laws], rtol=1e-6)
    assert agree >= 4
    monkeypatch.setattr(chapter, "descended_gap", lambda law, rng: 0.5 * theory.gap(law))
    halves, agree = chapter.least_gaps(laws, rng)
    np.testing.assert_allclose(halves, gaps / 2, rtol=1e-6)
    assert agree == 0
    monkeypatch.setattr(chapter, "descended_gap", lambda law, rng: 2 * theory.gap(law))
    np.testing.assert_allclose(chapter.least_gaps(laws, rng)[0], gaps, rtol=1e-6)


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
