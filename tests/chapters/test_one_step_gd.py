"""Chapter 1's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest
import torch

from icl.chapters import attention
from icl.chapters import one_step_gd as chapter
from icl.models.effective import EffectiveParameters
from icl.parameters import check_parameters
from icl.prompts import PromptLaw
from icl.theory import landscape
from icl.theory import one_step_gd as theory


@pytest.mark.parametrize("d, n, sigma2", [(4, 3, 0.0), (6, 17, 2.3), (3, 1, 0.1)])
def test_restarts_end_in_the_family_of_the_theorem(rng, d, n, sigma2):
    found = attention.restarts(PromptLaw.isotropic(d, n, sigma2), 4, rng)
    floor = theory.minimal_risk(d, n, sigma2)
    there = np.flatnonzero(found.reached(floor))
    assert len(there) and found.risks.min() == pytest.approx(floor, rel=1e-9)
    for k in there:
        assert chapter.distance_from_family(found.weights[k], d, n, sigma2) < 1e-5
    assert attention.learned_step(found.best, n) == pytest.approx(theory.step_size(d, n, sigma2), rel=1e-6)


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
    assert chapter.descend_from_valley(5, 20, 0.25, rng) is None


def test_training_on_samples(rng):
    d, n, sigma2 = 2, 6, 0.5
    law = PromptLaw.isotropic(d, n, sigma2)
    run = attention.train_on_samples(law, chapter.Schedule(600, 0.02), 256, 1, "test")
    assert attention.exact_risk(law, run.weights) == pytest.approx(theory.minimal_risk(d, n, sigma2), rel=0.02)
    assert run.curve[-100:].mean() < run.curve[:5].mean()


def test_budget_shrinks_with_the_size_of_a_prompt():
    small = chapter.budget(check_parameters("01_one_step_gd"))
    large = chapter.budget(check_parameters("01_one_step_gd", d=100, n=1000))
    assert small.prompts == 200_000 and 2000 <= large.prompts < 2500


@pytest.mark.parametrize("d, n", [(2, 20), (5, 100), (20, 40)])
def test_label_path_starts_keep_clear_of_plateau_and_false_valley(rng, d, n):
    found = attention.restarts(PromptLaw.isotropic(d, n, 0.25), 4, rng, scale=0.1, init="label_path")
    assert found.reached(theory.minimal_risk(d, n, 0.25)).all()


def test_what_training_cannot_show_is_named_with_the_share_at_stake():
    assert attention.too_faint(0.96, 1.0) is None and attention.too_faint(7.0, 10.0) is None
    assert "by 2 % only" in attention.too_faint(9.8, 10.0)


def test_errors_over_trainings_are_those_of_a_mean():
    found = attention.mean_over_trainings([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3) and found.stderr == pytest.approx(np.sqrt(7 / 3 / 3))


def test_the_learned_matrix_is_the_one_in_the_step(rng):
    """What is linear in the labels is x_query' Gamma X'y / n, for weights without any structure."""
    shapes = (3, 3, (), (3, 3), 3)
    weights = EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in shapes))
    batch = PromptLaw.isotropic(3, 5, 0.0).sample(rng, 20)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    linear = (weights.predict(X, y, x) - weights.predict(X, -y, x)).numpy() / 2
    moment = np.einsum("bnd,bn->bd", batch.X, batch.y) / 5
    step = np.einsum("bi,ij,bj->b", batch.x_query, attention.preconditioner(weights), moment)
    np.testing.assert_allclose(linear, step, rtol=1e-10, atol=1e-12)


class Recorded:
    """A sampler that keeps what it has drawn."""

    def __init__(self, law):
        self.law, self.d, self.n, self.drawn = law, law.d, law.n, []

    def sample(self, rng, B):
        self.drawn.append(self.law.sample(rng, B))
        return self.drawn[-1]


def test_prompts_are_fresh_and_runs_are_independent_and_repeatable():
    schedule = chapter.Schedule(3, 0.02)
    runs = []
    for seed in (1, 2, 1):
        sampler = Recorded(PromptLaw.isotropic(2, 3, 0.1))
        curve = attention.train_on_samples(sampler, schedule, 4, seed, "test").curve
        assert not np.isclose(sampler.drawn[0].X, sampler.drawn[1].X).any()
        runs.append((curve, sampler.drawn[0].X))
    assert not np.isclose(runs[0][1], runs[1][1]).any() and not np.isclose(runs[0][0], runs[1][0]).any()
    np.testing.assert_array_equal(runs[0][0], runs[2][0])


def test_each_training_has_a_stream_of_its_own():
    law = PromptLaw.isotropic(2, 3, 0.1)
    budget = chapter.Budget(0, 0, 0, chapter.Schedule(2, 0.02), 4)
    starts = [run.curve[0] for run in chapter.trainings(law, budget, 3, 5)]
    starts += [run.curve[0] for run in chapter.trainings(PromptLaw.isotropic(2, 4, 0.1), budget, 1, 5)]
    assert len(set(starts)) == 4
    assert [run.curve[0] for run in chapter.trainings(law, budget, 2, 5)] == starts[:2]


def test_small_facts_of_the_experiments(rng):
    assert chapter.families_at_d1(4, 0.3, 9, rng).stderr == pytest.approx(0.5 / 3)
    lengths = chapter.context_lengths(23, 9)
    assert 23 in lengths and lengths[0] == 1 and lengths[-1] == 92 and (np.diff(lengths) > 0).all()
