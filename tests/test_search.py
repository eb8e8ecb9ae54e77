"""What every chapter does with linear attention: searches on the exact risk, trainings on samples, what is read off."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from icl import search
from icl.models.effective import EffectiveParameters
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw, token_matrix
from icl.theory import mlp_benefit, moments, one_step_gd
from icl.training import Schedule

STEEP = PromptLaw(20, np.diag([1.0, 0.5]), np.eye(2), np.full(2, 500.0), 0.3).with_labels_scaled(1 / 500)
BUILDS = {
    "attention": (LinearSelfAttention, lambda law: mlp_benefit.lsa_minimum(law).risk),
    "block": (LinearTransformerBlock, mlp_benefit.ltb_minimal_risk),
}


def test_the_best_start_is_the_lowest(rng):
    law = PromptLaw.isotropic(3, 7, 0.4)
    short = search.restarts(law, 4, rng, iterations=6)
    assert search.exact_risk(law, short.best) == pytest.approx(short.risks.min(), rel=1e-12)
    assert short.risks.max() > 1.01 * short.risks.min() > 1.01 * one_step_gd.minimal_risk(3, 7, 0.4)


def test_the_step_that_is_learned_is_the_theorems(rng):
    found = search.restarts(PromptLaw.isotropic(3, 7, 0.4), 2, rng)
    assert found.risks.min() == pytest.approx(one_step_gd.minimal_risk(3, 7, 0.4), rel=1e-9)
    assert search.learned_step(found.best, 7) == pytest.approx(one_step_gd.step_size(3, 7, 0.4), rel=1e-6)


def test_a_finished_search_ends_where_lbfgs_alone_crawls(rng):
    floor = mlp_benefit.ltb_minimal_risk(STEEP)
    build, kind = LinearTransformerBlock, dict(count=2, iterations=40)
    seed = int(rng.integers(2**32))
    crawling = search.restarts(STEEP, rng=np.random.default_rng(seed), build=build, **kind)
    finished = search.descents(STEEP, [kind], np.random.default_rng(seed), build=build)
    assert (crawling.risks > 1.001 * floor).all()
    assert finished.risks.min() == pytest.approx(floor, rel=1e-9)


def test_from_the_plateau_that_few_iterations_do_not_leave_the_last_steps_do(rng):
    law, floor = PromptLaw.isotropic(3, 7, 0.4), one_step_gd.minimal_risk(3, 7, 0.4)
    crawling = search.restarts(law, 4, np.random.default_rng(3), iterations=3)
    finished = search.descents(law, [dict(count=4, iterations=3)], np.random.default_rng(3))
    assert (crawling.risks > 1.5 * floor).all() and finished.astray.tolist() == [False, False, False, True]
    assert finished.risks[:3] == pytest.approx([floor] * 3, rel=1e-12)
    slopes = [RiskGradient(law)(end)[1] for end in finished.weights[:3]]
    assert all(np.abs(slope[name]).max() < 1e-14 for slope in slopes for name in ("v", "c", "V", "u")), (
        "to the last digit"
    )


def test_a_search_does_not_mind_how_large_labels_are():
    """Under noise of variance 1e5 the best step takes a ten-millionth off the risk, and y must first be found."""
    law, eta = PromptLaw.isotropic(2, 6, 1e5), one_step_gd.step_size(2, 6, 1e5)
    found = search.descents(law, [dict(count=4)], np.random.default_rng(5))
    blind = search.restarts(law, 4, np.random.default_rng(5))
    assert search.learned_step(found.best, 6) == pytest.approx(eta, rel=1e-9)
    assert search.learned_step(blind.best, 6) == pytest.approx(eta / 2, rel=1e-2), "one direction only"


# H and Psi do not commute, and the mean task is 30,000 times as large as what varies.
HIDING = PromptLaw(30, np.diag([1.0, 0.3]), np.array([[1.0, 0.4], [0.4, 0.5]]), np.array([3e4, -1e4]), 2.0)


@pytest.mark.parametrize("name", BUILDS)
def test_where_a_mean_task_hides_all_else_eased_laws_lead_to_the_bottom(name):
    build, floor = BUILDS[name]
    starts = [dict(count=2, screened=4), dict(count=2, screened=4, **search.OPEN)]
    ends = search.descents(HIDING, starts, np.random.default_rng(1), build=build)
    assert ends.risks.min() == pytest.approx(floor(HIDING), rel=1e-11)


def test_without_them_the_block_may_end_in_a_false_valley(rng, monkeypatch):
    Q, _ = np.linalg.qr(rng.standard_normal((10, 10)))
    Psi = (Q * np.geomspace(2, 0.5, 10)) @ Q.T
    law = PromptLaw(10, np.diag(np.geomspace(1, 0.25, 10)), (Psi + Psi.T) / 2, np.full(10, 3e5), 4.6)
    least, of_mean, kind = mlp_benefit.ltb_minimal_risk(law), moments.tau(law), dict(count=1, screened=4, scale=0.1)

    def gained():
        ends = (
            search.descents(law, [kind], np.random.default_rng(seed), build=LinearTransformerBlock) for seed in range(4)
        )
        return [(of_mean - found.risks.min()) / (of_mean - least) for found in ends]

    assert gained() == pytest.approx([1.0] * 4, rel=1e-9)
    monkeypatch.setattr(search, "eased", lambda law: [law])
    assert min(gained()) < 0.5


def test_eased_laws_end_with_the_law_itself_and_begin_where_the_mean_hides_nothing():
    laws = search.eased(HIDING)
    hidden = [law.beta_star @ law.H @ law.beta_star / np.trace(law.H @ law.Psi) for law in laws]
    assert laws[-1] is HIDING and hidden[0] == pytest.approx(100) and len(laws) == 6
    assert all(1 < later / earlier <= 30 for earlier, later in pairwise(hidden))
    assert len({round(np.trace(law.Psi) / law.sigma2, 9) for law in laws}) == 1, "noise keeps its share"
    quiet = PromptLaw.isotropic(5, 20, 0.25, np.full(5, 4.0))
    assert search.eased(quiet) == [quiet] and len(search.eased(PromptLaw.isotropic(5, 20, 0.0))) == 1


def test_where_noise_hides_how_tasks_vary_there_is_less_of_it_first():
    loud = PromptLaw.isotropic(5, 20, 1e6)
    laws = search.eased(loud)
    assert [law.sigma2 for law in laws] == pytest.approx(np.geomspace(260, 1e6, 4))
    assert all(np.array_equal(law.Psi, loud.Psi) for law in laws) and laws[-1] is loud
    nothing = PromptLaw(4, np.eye(2), np.zeros((2, 2)), np.ones(2), 1.0)
    assert search.eased(nothing) == [nothing], "where no task varies there is nothing to hide"


def test_of_two_ways_the_lower_one_counts():
    assert search._other_way(np.array([2.0, 1.0, 1.0, 3.0])).tolist() == [False, False, True, True]
    assert search._other_way(np.array([2.0, 1.5, 1.0, 3.0])).tolist() == [True, True, False, False]


@pytest.mark.parametrize("d, n, sigma2", [(20, 40, 1e4), (20, 5, 0.25)])
def test_where_noise_hides_nearly_all_the_open_start_finds_it_and_it_alone_is_finished(d, n, sigma2, monkeypatch):
    law, eta = PromptLaw.isotropic(d, n, sigma2), one_step_gd.step_size(d, n, sigma2)
    took, finish = [], search.finish
    monkeypatch.setattr(search, "finish", lambda *given: took.append(given) or finish(*given))
    monkeypatch.setenv("ICL_CORES", "1")
    found = search.descents(
        law, [dict(count=2, iterations=500), dict(count=1, iterations=5000, **search.OPEN)], np.random.default_rng(5)
    )
    gained = d + sigma2 - found.risks
    assert gained[2] == pytest.approx(d + sigma2 - one_step_gd.minimal_risk(d, n, sigma2), rel=1e-7)
    assert search.learned_step(found.weights[2], n) == pytest.approx(eta, rel=1e-9)
    ways = len(search.eased(law))  # directly, and through a law of less noise
    assert (gained[:2] < gained[2] / 2).all() and len(took) == ways, "the random starts end in the false valley"
    assert found.astray.tolist() == [True, True, False] + [True] * 3 * (ways - 1) and found.best is found.weights[2]
    assert not found.reached(found.risks[0])[0], "where noise hides the valley, its risk is still none that was meant"


def test_predictions_have_a_unit_of_their_own_where_noise_outweighs_the_examples():
    quiet, mean = PromptLaw.isotropic(5, 20, 0.25), PromptLaw.isotropic(5, 20, 0.25, np.full(5, 2.0))
    assert search.units(quiet) == (pytest.approx(np.sqrt(5.25 / 5)), 1.0)
    assert search.units(mean) == (pytest.approx(np.sqrt(25.25 / 5)), 1.0)
    assert search.units(PromptLaw.isotropic(5, 20, 1e6))[1] == pytest.approx(26e-6)
    nothing = PromptLaw(4, np.eye(2), np.zeros((2, 2)), np.zeros(2), 1.0)
    assert search.units(nothing)[1] == 1.0, "where there is nothing to learn, no unit fits"


@pytest.mark.parametrize("d, n, sigma2", [(2, 6, 0.3), (6, 20, 1e5)])
def test_the_minimiser_is_a_layer_that_takes_the_best_step_however_much_noise_there_is(rng, d, n, sigma2):
    law = PromptLaw.isotropic(d, n, sigma2)
    batch = law.sample(rng, 50)
    with torch.no_grad():
        answers = search.minimiser(law, rng)(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))).numpy()
    sums = np.einsum("bnd,bn->bd", batch.X, batch.y)
    step = one_step_gd.step_size(d, n, sigma2) * np.einsum("bd,bd->b", batch.x_query, sums)
    np.testing.assert_allclose(answers, step, rtol=1e-5, atol=1e-5 * np.abs(step).max())


@pytest.mark.parametrize("name", BUILDS)
def test_each_model_ends_at_its_own_minimum(name, rng):
    build, floor = BUILDS[name]
    law = PromptLaw(9, np.diag([1.0, 0.4]), np.array([[1.0, 0.3], [0.3, 0.7]]), np.array([1.0, -0.5]), 0.4)
    ends = search.descents(law, [dict(count=6, iterations=20, init="label_path")], rng, build=build)
    assert ends.risks.min() == pytest.approx(floor(law), rel=1e-12)
    for risk, weights in zip(ends.risks, ends.weights, strict=True):
        assert search.exact_risk(law, weights) == pytest.approx(risk, rel=1e-13)
        assert name == "block" or not weights.w1.any()


def test_training_on_samples(rng):
    d, n, sigma2 = 2, 6, 0.5
    law = PromptLaw.isotropic(d, n, sigma2)
    run = search.train_on_samples(law, Schedule(600, 0.02), 256, 1, "test")
    assert search.exact_risk(law, run.weights) == pytest.approx(one_step_gd.minimal_risk(d, n, sigma2), rel=0.02)
    assert run.curve[-100:].mean() < run.curve[:5].mean()


def test_long_contexts_are_trained_on_their_sums(rng, monkeypatch):
    law = PromptLaw.isotropic(2, 2 * search.LONG + 1, 0.5)
    monkeypatch.setattr(PromptLaw, "sample", lambda *_: pytest.fail("every example is drawn"))
    run = search.train_on_samples(law, Schedule(600, 0.02), 256, 1, "test")
    assert search.exact_risk(law, run.weights) == pytest.approx(one_step_gd.minimal_risk(2, law.n, 0.5), rel=0.02)


@pytest.mark.parametrize("d, n", [(2, 20), (5, 100), (20, 40)])
def test_label_path_starts_keep_clear_of_plateau_and_false_valley(rng, d, n):
    found = search.restarts(PromptLaw.isotropic(d, n, 0.25), 4, rng, scale=0.1, init="label_path")
    assert found.reached(one_step_gd.minimal_risk(d, n, 0.25)).all()


def test_what_training_cannot_show_is_named_with_the_share_at_stake():
    assert search.too_faint(0.96, 1.0) is None and search.too_faint(7.0, 10.0) is None
    assert "by 2 % only" in search.too_faint(9.8, 10.0).reason


def test_errors_over_trainings_are_those_of_a_mean():
    found = search.mean_over_trainings([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3) and found.stderr == pytest.approx(np.sqrt(7 / 3 / 3))


def test_the_learned_matrix_is_the_one_in_the_step(rng):
    """What is linear in the labels is x_query' Gamma X'y / n, for weights without any structure."""
    shapes = (3, 3, (), (3, 3), 3)
    weights = EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in shapes))
    batch = PromptLaw.isotropic(3, 5, 0.0).sample(rng, 20)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    linear = (weights.predict(X, y, x) - weights.predict(X, -y, x)).numpy() / 2
    moment = np.einsum("bnd,bn->bd", batch.X, batch.y) / 5
    step = np.einsum("bi,ij,bj->b", batch.x_query, search.preconditioner(weights), moment)
    np.testing.assert_allclose(linear, step, rtol=1e-10, atol=1e-12)


class Recorded:
    """A sampler that keeps what it has drawn."""

    def __init__(self, law):
        self.law, self.d, self.n, self.drawn = law, law.d, law.n, []

    def sample(self, rng, B):
        self.drawn.append(self.law.sample(rng, B))
        return self.drawn[-1]


def test_prompts_are_fresh_and_runs_are_independent_and_repeatable():
    schedule = Schedule(3, 0.02)
    runs = []
    for seed in (1, 2, 1):
        sampler = Recorded(PromptLaw.isotropic(2, 3, 0.1))
        curve = search.train_on_samples(sampler, schedule, 4, seed, "test").curve
        assert not np.isclose(sampler.drawn[0].X, sampler.drawn[1].X).any()
        runs.append((curve, sampler.drawn[0].X))
    assert not np.isclose(runs[0][1], runs[1][1]).any() and not np.isclose(runs[0][0], runs[1][0]).any()
    np.testing.assert_array_equal(runs[0][0], runs[2][0])
