"""Chapter 6's experiments at parameters of the test's own, and that they can tell right from wrong."""

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.newton_transformers import constructed, experiments, fixed_alpha
from icl.chapters.newton_transformers.constructed_pictures import DesignTable
from icl.theory import newton as theory

parameters = lambda **values: check_parameters("06_newton_transformers", **values)


def test_runs_take_as_many_steps_as_predicted(rng):
    steps = experiments.steps_by_condition(4, (1, 3, 40), rng)
    assert list(steps.newton) == list(steps.newton_predicted) and list(steps.gd) == list(steps.gd_predicted)
    assert experiments.largest_step_error(steps) == 0
    S, b = experiments.slowest_problem(3, 1e7, rng)
    assert experiments.measured_newton_steps(S, b, 1e-15) == np.inf, "float64 does not get there, and the run ends"
    assert steps.gd[2] == theory.gd_steps_to_eps(40, 1e-8) > 300


def test_identities_hold_and_would_be_seen_to_fail(rng, monkeypatch):
    X = rng.standard_normal((3, 4, 6))
    S, b = experiments.gram(X), rng.standard_normal((3, 4, 1))
    moment = (np.swapaxes(X, 1, 2) @ b)[..., 0]
    assert experiments.residual_identity_error(S, 9) < 1e-11
    assert max(experiments.gd_identity_errors(S, moment, 6)) < 1e-11
    right = theory.residual
    monkeypatch.setattr(theory, "residual", lambda λ, k, alpha: right(λ, k + 1, alpha))
    assert experiments.residual_identity_error(S, 9) > 0.1


def test_the_printed_alpha_is_stuck_and_smaller_ones_are_not(rng):
    S = experiments.gram(rng.standard_normal((5, 12, 4)))
    top = np.linalg.eigvalsh(S)[:, -1]
    stuck = experiments.top_residual(S, 2 / top**2, 15)
    assert np.abs(stuck[1:] - 1).max() < 1e-8
    assert experiments.top_residual(S, 1.8 / top**2, 15)[-1].max() < 1e-8
    errors = experiments.errors_by_alpha(S[0], S[0] @ np.ones(4), (1.0, 2.0, 2.2), 40)
    assert errors[0, -1] < 1e-8 and 0.01 < errors[1, -1] < 2 and not errors[2, -1] < 1e3


def test_expansion_of_the_iteration_and_of_print():
    assert [list(c) for c in experiments.expanded_iterates(2)] == [[1], [2, -1], [4, -6, 4, -1]]
    S = np.diag([1.0, 0.5])
    expected = np.linalg.norm(3 * S @ S @ S) / np.linalg.norm(2 * S - S @ S @ S)
    assert experiments.printed_expansion_error(S) == pytest.approx(expected)


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
    assert max(constructed.worst_errors(p, rng).values()) < 1e-11
    assert constructed.layerwise_error(p, rng) < 1e-11
    distance, behind = constructed.least_squares_limit(p, rng)
    assert distance < 1e-10 and behind > 6
    absolute, wanted = constructed.printed_heads(p, rng)
    assert absolute < 1e-12 and wanted > 0.1


def test_a_wrong_construction_would_be_seen(rng, monkeypatch):
    monkeypatch.setattr(constructed, "GRID", ((4, 9, 3),))
    wrong = lambda d, k, alpha: constructed.design_a(d, k, alpha * (1 + 1e-6))
    monkeypatch.setitem(constructed.BUILDERS, "A", wrong)
    found = constructed.worst_errors(parameters(), rng)
    assert found["A"] > 1e-9 and found["D"] < 1e-11


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
