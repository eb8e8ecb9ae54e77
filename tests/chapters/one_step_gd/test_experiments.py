"""Chapter 1's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest

from icl import search
from icl.chapters import check_parameters
from icl.chapters.one_step_gd import experiments as chapter
from icl.estimates import Estimate, monte_carlo
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


def test_both_families_at_d1_are_as_good(rng):
    share, worst = chapter.families_at_d1(7, 0.3, 60, rng)
    assert abs(share.mean - 0.5) <= 5 * share.stderr and 0 < share.mean < 1
    assert worst == pytest.approx(theory.minimal_risk(1, 7, 0.3), rel=1e-9)
    _, worst = chapter.families_at_d1(98, 150.4, 20, np.random.default_rng(0))
    assert worst == pytest.approx(theory.minimal_risk(1, 98, 150.4), rel=1e-12), "much noise: L-BFGS alone stops short"


def test_means_with_controls_are_sharper_and_as_right(rng):
    """E XᵀyyᵀX and its trace, with what |y|² explains taken off, beside plain means."""
    d, n, sigma2 = 3, 6, 1.3
    law = PromptLaw.isotropic(d, n, sigma2)

    def sides(B):
        batch = law.sample(rng, B)
        Xy = np.einsum("bni,bn->bi", batch.X, batch.y)
        return {"matrix": Xy[:, :, None] * Xy[:, None], "c1": (Xy**2).sum(1) / d, "y": (batch.y**2).sum(1)}

    sharp = chapter.means(law, sides, {"y": n * (d + sigma2)}, 40_000)
    plain = monte_carlo(lambda B: sides(B)["c1"], 40_000)
    assert list(sharp) == ["matrix", "c1"] and sharp["matrix"].mean.shape == (d, d)
    for found in (sharp["c1"], plain):
        assert abs(found.mean - theory.c1(d, n, sigma2)) <= 5 * found.stderr
    assert chapter.farthest_entry(sharp["matrix"], theory.c1(d, n, sigma2) * np.eye(d)) < 5
    assert sharp["c1"].stderr < 0.6 * plain.stderr


def test_farthest_entry_by_hand():
    found = Estimate(np.array([[2.0, 0.3], [0.0, 1.0]]), np.array([[0.5, 0.1], [0.1, 1.0]]), 9)
    assert chapter.farthest_entry(found, np.eye(2)) == pytest.approx(3)


@pytest.mark.parametrize("d, n", [(2, 9), (3, 60)])
def test_an_open_label_path_avoids_the_false_valley(rng, d, n):
    assert len(landscape.valleys(d, n, 0.25)) == 2
    assert chapter.open_path_excess([(d, n)], 0.25, 3, rng) < 1e-9


def test_more_heads_do_no_better(rng):
    law = PromptLaw.isotropic(3, 7, 0.4)
    assert chapter.best_of_heads(law, 2, 2, rng) == pytest.approx(theory.minimal_risk(3, 7, 0.4), rel=1e-9)


def test_where_the_far_valley_is(rng):
    limit, end = chapter.far_valley(3, 0.6, rng)
    assert limit == pytest.approx(end, rel=0.01) and end == pytest.approx(4 * np.sqrt(3 / 20_000) / 3.6, rel=0.01)
    assert "2 ≤ d ≤ 20" in chapter.far_valley(1, 0.6, rng)[1].reason


def test_best_logit_step_is_the_lowest_of_a_grid(rng):
    margins = rng.normal(1.0, 4.0, 5000)
    steps = np.linspace(0, 0.5, 501)
    found = chapter.best_logit_step(margins)
    assert found.mean == pytest.approx(steps[np.logaddexp(0, -steps[:, None] * margins).mean(1).argmin()], abs=1e-3)
    assert 0 < found.stderr < 0.02


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
    assert chapter.families_at_d1(4, 0.3, 9, rng)[0].stderr == pytest.approx(0.5 / 3)
    lengths = chapter.context_lengths(23, 9)
    assert 23 in lengths and lengths[0] == 1 and lengths[-1] == 92 and (np.diff(lengths) > 0).all()
