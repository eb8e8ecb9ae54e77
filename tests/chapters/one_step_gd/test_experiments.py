"""Chapter 1's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest

from icl import search
from icl.chapters import check_parameters
from icl.chapters.one_step_gd import experiments as chapter
from icl.models.effective import EffectiveParameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.theory import landscape
from icl.theory import one_step_gd as theory


@pytest.mark.parametrize("d, n, sigma2", [(4, 3, 0.0), (6, 17, 2.3), (3, 1, 0.1)])
def test_restarts_end_in_the_family_of_the_theorem(rng, d, n, sigma2):
    found = search.restarts(PromptLaw.isotropic(d, n, sigma2), 4, rng)
    floor = theory.minimal_risk(d, n, sigma2)
    there = np.flatnonzero(found.reached(floor))
    assert len(there) and found.risks.min() == pytest.approx(floor, rel=1e-9)
    for k in there:
        assert chapter.distance_from_family(found.weights[k], d, n, sigma2) < 1e-5
    assert search.learned_step(found.best, n) == pytest.approx(theory.step_size(d, n, sigma2), rel=1e-6)


def test_distance_sees_every_way_of_leaving_the_family():
    d, n, sigma2 = 3, 5, 0.2
    eta = n * theory.step_size(d, n, sigma2)
    exact = dict(w1=np.zeros(d), v=np.zeros(d), c=2.0, V=eta / 2 * np.eye(d), u=np.zeros(d))
    distance = lambda **change: chapter.distance_from_family(
        EffectiveParameters.from_numpy(**{**exact, **change}), d, n, sigma2
    )
    assert distance() < 1e-15
    for change in (dict(v=np.full(d, 0.01)), dict(u=np.full(d, 0.01)), dict(c=2.02), dict(V=1.01 * exact["V"])):
        assert distance(**change) > 1e-3


def test_both_families_at_d1(rng):
    families = chapter.families_at_d1(7, 0.3, 60, rng)
    assert abs(families.mean - 0.5) <= 5 * families.stderr and 0 < families.mean < 1


def test_factor_two_between_the_losses(rng):
    assert chapter.step_ratio(PromptLaw.isotropic(4, 6, 0.1), 0.03, rng) == pytest.approx(2, rel=1e-12)


def test_lemmas_at_other_sizes(rng):
    d, n, sigma2 = 3, 6, 1.3
    found = chapter.lemma_estimates(PromptLaw.isotropic(d, n, sigma2), 40_000, rng)
    predicted = dict(lemma1=theory.lemma1_constant, lemma2=theory.lemma2_constant, c1=theory.c1, c2=theory.c2)
    for name, formula in {**predicted, "bayes": theory.lemma1_constant}.items():
        estimate = getattr(found, name)
        assert abs(estimate.mean - formula(d, n, sigma2)) <= 5 * estimate.stderr, name
        assert estimate.stderr < 0.05 * formula(d, n, sigma2), f"{name}: too noisy to tell"


@pytest.mark.parametrize("d, n, sigma2", [(2, 9, 0.6), (3, 40, 0.25)])
def test_lbfgs_stays_in_the_false_valley(rng, d, n, sigma2):
    expected = landscape.valleys(d, n, sigma2)[-1].risk
    assert chapter.descend_from_valley(d, n, sigma2, rng) == pytest.approx(expected, rel=1e-8)


def test_no_false_valley_no_value(rng):
    assert "no second valley at d = 5" in chapter.descend_from_valley(5, 20, 0.25, rng).reason


def test_budget_shrinks_with_the_size_of_a_prompt():
    small = chapter.budget(check_parameters("01_one_step_gd"))
    large = chapter.budget(check_parameters("01_one_step_gd", d=100, n=1000))
    assert small.prompts == 200_000 and 2000 <= large.prompts < 2500


def test_each_training_has_a_stream_of_its_own():
    law = PromptLaw.isotropic(2, 3, 0.1)
    budget = chapter.Budget(0, 0, 0, chapter.Schedule(2, 0.02), 4)
    stream = Streams("a test", 5)
    starts = [run.curve[0] for run in chapter.trainings(law, budget, 3, stream)]
    starts += [run.curve[0] for run in chapter.trainings(PromptLaw.isotropic(2, 4, 0.1), budget, 1, stream)]
    assert len(set(starts)) == 4
    assert [run.curve[0] for run in chapter.trainings(law, budget, 2, Streams("a test", 5))] == starts[:2]


def test_small_facts_of_the_experiments(rng):
    assert chapter.families_at_d1(4, 0.3, 9, rng).stderr == pytest.approx(0.5 / 3)
    lengths = chapter.context_lengths(23, 9)
    assert 23 in lengths and lengths[0] == 1 and lengths[-1] == 92 and (np.diff(lengths) > 0).all()
