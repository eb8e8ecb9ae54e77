"""Chapter 6's experiments at parameters of the test's own, and that they can tell right from wrong."""

import re

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.newton_transformers import constructed, experiments, fixed_alpha, trained_depth
from icl.chapters.newton_transformers.constructed_pictures import DesignTable
from icl.prompts import PromptLaw
from icl.theory import newton as theory

parameters = lambda **values: check_parameters("06_newton_transformers", **values)


def test_runs_take_as_many_steps_as_predicted(rng):
    kappas = (1, 3, 40)
    steps = experiments.steps_by_condition(4, kappas, rng)
    assert list(steps.newton) == [theory.steps_to_eps(kappa, 1e-8) for kappa in kappas]
    assert list(steps.gd) == [theory.gd_steps_to_eps(kappa, 1e-8) for kappa in kappas]
    S, b = experiments.slowest_problem(3, 1e7, rng)
    assert experiments.measured_newton_steps(S, b, 1e-15) == np.inf, "float64 does not get there, and the run ends"
    assert steps.gd[2] == theory.gd_steps_to_eps(40, 1e-8) > 300


def test_the_printed_alpha_is_stuck_and_smaller_ones_are_not(rng):
    S = experiments.gram(rng.standard_normal((5, 12, 4)))
    errors = experiments.errors_by_alpha(S[0], S[0] @ np.ones(4), (1.0, 2.0, 2.2), 40)
    assert errors[0, -1] < 1e-8 and 0.01 < errors[1, -1] < 2 and not errors[2, -1] < 1e3


@pytest.mark.parametrize("d,n,k", [(2, 6, 3), (4, 2, 2)])
def test_rare_prompts_are_weighed_right(rng, d, n, k):
    alpha = theory.whole_range_alpha(d, n)
    found = fixed_alpha.mean_risk_estimate(d, n, 0.4, k, 8000, rng)
    exact = theory.mean_risk(d, n, 0.4, k, alpha)
    assert abs(found.mean - exact) < 5 * found.stderr < 0.3 * exact


def test_bartlett_draws_have_wishart_moments(rng):
    S = fixed_alpha._random_gram(3, 7, 40_000, rng)
    np.testing.assert_allclose(S.mean(0), 7 * np.eye(3), atol=5 * np.sqrt(2 * 7 / 40_000))
    np.testing.assert_allclose((S @ S).mean(0), 7 * (7 + 1 + 3) * np.eye(3), rtol=0.03, atol=1.5)


def test_risk_curves_end_at_least_squares(rng):
    found = fixed_alpha.fixed_alpha_risks(3, 30, 0.5, 7, 4000, rng)
    limit = 0.5 * (1 + 3 / 26)
    assert abs(found.per_prompt.mean[-1] - limit) < 5 * found.per_prompt.stderr[-1]
    assert found.mean.shape == found.median.shape == (8,)


@pytest.mark.parametrize("values", [dict(d=3, n=2, k=4, condition=50.0), dict(d=60, n=33, k=2, sigma2=0.0)])
def test_constructions_at_sizes_of_their_own(rng, values, monkeypatch):
    monkeypatch.setattr(constructed, "GRID", ((7, 11, 5),))
    p = parameters(**values)
    for error, one_step_more in constructed.worst_errors(p, rng).values():
        assert error < 1e-11 < 1e-3 < one_step_more
    distance, ridge, behind = constructed.least_squares_limit(p, rng)
    assert distance < 1e-10 < 1e-3 < ridge and behind > 6
    batch, alpha, m = constructed.printed_second_layer(p, rng)
    scores = np.einsum("bnd,bd->bn", batch.X, batch.x_query)
    np.testing.assert_allclose(m, alpha * np.einsum("bn,bnd->bd", np.abs(scores), batch.X), rtol=1e-9, atol=1e-12)


def test_a_wrong_construction_would_be_seen(rng, monkeypatch):
    monkeypatch.setattr(constructed, "GRID", ((4, 9, 3),))
    wrong = lambda d, k, alpha: constructed.design_b(d, k, alpha * (1 + 1e-6))
    monkeypatch.setitem(constructed.BUILDERS, "B", wrong)
    found = constructed.worst_errors(parameters(), rng)
    assert found["B"][0] > 1e-9 and found["D"][0] < 1e-11


def test_the_walk_is_design_a_s(rng):
    found = constructed.walk(parameters(d=30, n=50, k=3), rng)
    assert found.tokens.shape == (6, 25, 18)
    assert found.tokens[-1, -1, -1] == pytest.approx(found.answers["A_prime"][-1], rel=1e-11)
    assert not found.tokens[:-1, :, -1].any(), "only the last layer answers"


def test_the_table_counts_built_layers():
    shown = DesignTable(4, 6)._repr_html_()
    assert '"layers">8</td><td data-label="width">10</td>' in shown and '"layers">14</td>' in shown
    assert "D: 7 layers, width 11" in repr(DesignTable(4, 6))


def test_budget_shrinks_with_d():
    assert experiments.budget(parameters(d=5)).draws == 20_000 > experiments.budget(parameters(d=20)).draws >= 50


def test_a_mean_without_a_variance_is_not_printed(rng):
    law = PromptLaw.isotropic(1, 4, 0.0)
    light = trained_depth.reliable_mean(lambda B: rng.standard_normal(B) ** 2, law, 5000)
    assert abs(light.mean - 1) < 5 * light.stderr < 0.2
    assert light.stderr == pytest.approx((2 / 5000) ** 0.5, rel=0.2)
    heavy = trained_depth.reliable_mean(lambda B: rng.pareto(1.1, B), law, 5000)
    index = float(re.search(r"Pareto index (\S+):", heavy.reason)[1])
    assert index == pytest.approx(1 / 1.1, abs=0.15)
