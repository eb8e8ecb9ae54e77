"""The numbers behind the pictures are the ones their columns name, each from another source than the picture's own."""

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.gd_beta_gradient_flow import flow_pictures, proof_pictures
from icl.chapters.gd_beta_gradient_flow import pictures as gd_beta
from icl.chapters.gd_beta_gradient_flow.risk_ratios import RATE_LENGTHS, ContextRisks
from icl.chapters.mlp_benefit import pictures as mlp_benefit
from icl.chapters.mlp_benefit import prompt_pictures
from icl.chapters.mlp_benefit.gpt_sweep import RATES, SEEDS, Sweep
from icl.chapters.newton_transformers import constructed_pictures as transformers
from icl.chapters.newton_transformers import depth_pictures
from icl.chapters.newton_transformers.constructed import newton_predictions, walk
from icl.chapters.newton_transformers.trained_depth import Trained
from icl.chapters.nonlinear_targets import pictures as nonlinear
from icl.chapters.nonlinear_targets.experiments import Measured
from icl.chapters.one_step_gd import pictures as one_step
from icl.chapters.preconditioned_gd import condition_pictures
from icl.chapters.preconditioned_gd import pictures as preconditioned
from icl.chapters.preconditioned_gd.condition_sweep import ConditionSweep
from icl.estimates import Estimate
from icl.models.effective import EffectiveParameters
from icl.prompts import PromptLaw
from icl.targets import FAMILIES
from icl.theory import gd_beta as risks
from icl.theory import gradient_flow as flow_theory
from icl.theory import mlp_benefit as benefit
from icl.theory import nonlinear_targets as targets
from icl.theory.depth_ladder import Rungs

LAW = PromptLaw(6, np.diag([1.0, 0.4]), np.diag([0.5, 2.0]), np.zeros(2), 0.3)
SEEN = Estimate(1.5, 0.1, 100)


def test_weights_are_shown_in_the_scale_in_which_the_label_path_is_one():
    """The picture does not change when (v, c) is multiplied and (V, u) divided by a number."""
    v, V, u = np.array([1.0, 2.0]), np.array([[1.0, 2], [3, 4]]), np.array([5.0, 6])
    weights = [
        EffectiveParameters.from_numpy(np.zeros(2), scale * v, scale * 3.0, V / scale, u / scale) for scale in (1, -2)
    ]
    columns = one_step.weights(weights[0], weights[1], weights[0]).columns
    expected = np.r_[3 * V.ravel(), 3 * u, v / 3]
    for column in columns.values():
        np.testing.assert_allclose(column, expected)


def test_other_lengths_of_one_preconditioner():
    Gamma = risks.optimal_gamma(LAW)
    columns = preconditioned.other_lengths(LAW, Gamma, [2, 6, 50], {6: SEEN}).columns
    lengths = [risks.at_length(LAW, n) for n in (2, 6, 50)]
    np.testing.assert_allclose(columns["kept"], [risks.risk(law, np.zeros(2), Gamma) for law in lengths])
    np.testing.assert_allclose(columns["retrained"], [risks.minimal_risk(law) for law in lengths])
    assert columns["kept"][0] > columns["retrained"][0] and columns["kept"][1] == pytest.approx(columns["retrained"][1])
    assert (columns["measured"], columns["measured_stderr"]) == ([1.5], [0.1])


def test_turned_covariance():
    columns = preconditioned.transfer(LAW, risks.optimal_gamma(LAW), {0.0: SEEN}).columns
    start, end = 0, -1
    assert (
        columns["kept"][start] == pytest.approx(risks.minimal_risk(LAW)) == pytest.approx(columns["retrained"][start])
    )
    swapped = PromptLaw(6, np.diag([0.4, 1.0]), LAW.Psi, LAW.beta_star, 0.3)
    assert columns["retrained"][end] == pytest.approx(risks.minimal_risk(swapped))
    assert (columns["plain_gd"] >= columns["retrained"]).all()


def test_shares_of_the_signal_against_the_condition_number():
    laws = [LAW, PromptLaw(6, np.eye(2), np.eye(2), np.zeros(2), 0.3)]
    signals = np.array([1 * 0.5 + 0.4 * 2, 2.0])
    sweep = ConditionSweep(np.array([1.0, 9.0]), laws, [SEEN, SEEN], np.array([9.0]), np.array([1.3]))
    columns = condition_pictures.against_condition({"$H^{-1}$": sweep, "identity": sweep}).columns
    least = np.array([risks.minimal_risk(law) for law in laws])
    for tag in ("inverse", "identity"):
        np.testing.assert_allclose(columns[f"{tag}_preconditioned"], (least - 0.3) / signals)
        np.testing.assert_allclose(columns[f"{tag}_bayes"], 1.2 / signals)
        np.testing.assert_allclose(columns[f"{tag}_bayes_stderr"], 0.1 / signals)
        np.testing.assert_allclose(columns[f"{tag}_trained"], [1.0 / signals[1]])


def test_deviations_in_per_cent_with_five_standard_errors():
    chosen = {name: FAMILIES[name] for name in ("sign", "linear")}
    found = Measured(*[Estimate(2.0 * k, 0.01 * k, 9) for k in (1, 2, 3, 4)], largest_share=0.0)
    predicted = {name: dict(a=1.0, b=4.0, step_size=5.0, risk=8.0) for name in chosen}
    columns = nonlinear.deviations(chosen, predicted, dict.fromkeys(chosen, found)).columns
    np.testing.assert_allclose(columns["a_percent"], 100.0)
    np.testing.assert_allclose(columns["step_size_percent"], 20.0)
    np.testing.assert_allclose(columns["a_five_stderr"], 5.0)
    np.testing.assert_allclose(columns["risk_five_stderr"], 2.5)


def test_one_curve_for_all_families():
    """n·eta* = 1 / (1 + h/n): points of two families on one curve, and one that never starts."""
    chosen = {name: FAMILIES[name] for name in ("linear", "sign", "quadratic")}
    half, lengths = {"linear": 4.0, "sign": 9.0, "quadratic": np.inf}, [1, 10, 100]
    found = {name: [Estimate(1 / (n + h), 0.01 / n, 9) for n in lengths] for name, h in half.items()}
    columns = nonlinear.one_curve(chosen, half, lengths, found).columns
    for name in ("linear", "sign"):
        np.testing.assert_allclose(columns[name], 1 / (1 + 1 / columns[f"{name}_over_h"]))
        np.testing.assert_allclose(columns[f"{name}_stderr"], 0.01)
    assert columns["curve_over_h"][0] < 1 / 9 and columns["curve_over_h"][-1] > 100 / 4
    np.testing.assert_allclose(columns["quadratic"], 0)
    np.testing.assert_allclose(columns["curve"], columns["curve_over_h"] / (1 + columns["curve_over_h"]))


def test_penalties_of_a_step_in_one_direction():
    C1, C2 = np.diag([4.0, 1]), np.diag([2.0, 1])
    gap = nonlinear.Gap(C1, C2, 5.0, 10, SEEN, SEEN)
    columns = nonlinear.penalties({"A": gap, "B": gap}).columns
    step = columns["panel0_step"] / 10
    np.testing.assert_allclose(columns["panel0_plain"], 5 - 2 * 3 * step + 5 * step**2)
    assert columns["panel0_plain"].min() == pytest.approx(5 - 9 / 5)


def test_parts_of_the_risk_add_up():
    chosen = {name: FAMILIES[name] for name in ("sign", "sine")}
    moments = {name: targets.moments(name, 3) for name in chosen}
    found = Measured(*[Estimate(2.0, 0.5, 9)] * 4, largest_share=0.0)
    columns = nonlinear.risk_split(chosen, moments, 7, 0.4, dict.fromkeys(chosen, found)).columns
    for k, name in enumerate(["sine", "sign"]):  # from the bottom row up
        total = moments[name].power + 0.4
        parts = columns["noise"][k] + columns["floor"][k] + columns["excess"][k]
        assert parts == pytest.approx(targets.minimal_risk(moments[name], 7, 0.4) / total)
        assert columns["noise"][k] == pytest.approx(0.4 / total)
        assert columns["measured_stderr"][k] == pytest.approx(0.5 / total)


def test_scaled_gap_is_the_gap_over_its_lower_bound():
    sizes = np.array([0.5, 3.0])
    for size, scaled in zip(sizes, mlp_benefit.scaled_gap(3, 6, 0.4, sizes), strict=True):
        law = PromptLaw.isotropic(3, 6, 0.4, np.full(3, size / np.sqrt(3)))
        assert scaled == pytest.approx(benefit.gap(law) / benefit.lower_bound(law), rel=1e-8)
    columns = mlp_benefit.gap(check_parameters("04_mlp_benefit", d=2, n=4), np.array([[3.0, 4, 1.2]])).columns
    assert (columns["gap_n4"] >= 1 - 1e-9).all() and (columns["upper_n4"] >= columns["gap_n4"] - 1e-9).all()


def test_the_prompt_worked_by_hand_through_attention_and_through_the_block():
    X, y, x = np.array([[1, 0], [0, 1], [1, 1]]), np.array([5, 1, 6]), np.array([2, -1])
    figure = prompt_pictures.attention_and_block(X, y, x, np.array([3, 2]))
    assert list(figure.columns["score"]) == [2, -1, 1]
    assert list(figure.columns["value_attention_only"]) == [5, 1, 6]
    assert list(figure.columns["value_block"]) == [2, -1, 1]  # residuals
    assert list(figure.columns["answers"]) == [5, 6]


def test_densities_of_the_number_one_have_area_one(rng):
    columns = prompt_pictures.number_one(rng.uniform(0.2, 0.6, 4000), rng.uniform(0.9, 1.1, 4000)).columns
    width = np.diff(columns["estimate"])[0]
    for name, centre in (("one_head", 0.4), ("any_number", 1.0)):
        assert columns[name].sum() * width == pytest.approx(1)
        assert columns["estimate"] @ columns[name] * width == pytest.approx(centre, abs=0.01)


def test_gpts_stand_above_the_floors_of_their_laws():
    laws = PromptLaw.isotropic(3, 10, 0.3), PromptLaw.isotropic(3, 10, 0.3, np.full(3, 100.0))
    shape = 2, 2, len(RATES), len(SEEDS)
    risks = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    columns = mlp_benefit.gpt_sweep(Sweep(laws, risks, risks, risks > 0)).columns
    floors = [columns[f"floor_{name}"] for name in ("lsa", "ltb", "bayes")]
    assert floors[0][0] == pytest.approx(floors[1][0]) and floors[0][1] > 100 * floors[1][1]  # apart for a mean only
    assert floors[2][0] == floors[2][1] < floors[1].min()
    assert (columns[f"mean_attention_only_{RATES[1]:g}"] == risks[1, 1, 1]).all()


def test_one_step_at_other_lengths_and_its_bounds():
    law = PromptLaw.isotropic(2, 6, 0.3)
    columns = gd_beta.length_generalisation(law, {6: SEEN}).columns
    at = list(columns["length"]).index(6)
    assert columns["trained_at_n"][at] == pytest.approx(columns["trained_for_each"][at])
    others = np.arange(len(columns["length"])) != at
    assert (columns["trained_at_n"][others] > columns["trained_for_each"][others]).all()
    assert (columns["bayes"] < columns["trained_for_each"]).all()
    both = ContextRisks(gd_beta=SEEN, bayes=Estimate(1.0, 0.2, 100))
    columns = gd_beta.sandwich(law, {6: both}).columns
    order = ("lower", "bayes", "gd_beta", "upper")
    for low, high in zip(order, order[1:], strict=False):
        assert (columns[low] <= columns[high] * (1 + 1e-12)).all(), (low, high)
    assert columns["gd_beta"][at] == pytest.approx(risks.minimal_risk(law) - 0.3)
    assert [columns[f"{key}_stderr"][0] for key in ("gd_beta", "bayes")] == [0.1, 0.2]


def test_rates_of_the_power_law():
    both = [ContextRisks(gd_beta=SEEN, bayes=Estimate(1.0, 0.2, 100))] * len(RATE_LENGTHS)
    columns = gd_beta.rates(both, Estimate(4.0, 0.5, 9)).columns
    slope = np.polyfit(np.log(columns["n"]), np.log(columns["gd_beta"]), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)
    assert (columns["sum_min"] / 2 <= columns["gd_beta"]).all() and (columns["gd_beta"] <= 2 * columns["sum_min"]).all()


def test_excess_of_the_flow_stays_below_the_bound_of_its_own_start():
    times = np.r_[0.0, np.geomspace(1e-2, 10, 20)]
    law = PromptLaw.isotropic(2, 6, 0.3, np.array([1.0, -2.0]))
    flows = [
        flow_theory.integrate(law, beta, Gamma, times)
        for beta, Gamma in (([0.0, 0.0], np.zeros((2, 2))), ([3.0, 5.0], np.eye(2)))
    ]
    columns = flow_pictures.excess(law, flows).columns
    assert columns["time"][0] > 0 and len(columns["time"]) == 20
    np.testing.assert_allclose(columns["flow1"], risks.excess(law, flows[1].beta, flows[1].Gamma)[1:])
    bound = flow_theory.excess_bound(law, np.zeros(2), np.zeros((2, 2)), columns["time"])
    np.testing.assert_allclose(columns["bound"], bound)
    assert (columns["flow0"] <= columns["bound"]).all()


class MadeUpLadder:
    """Risks that are known: 8, 7, … with one step, 6, 5.5, … with free ones, 4, 3, 2 for GD++."""

    def shared_step(self, layers):
        return Rungs(9.0 - layers, np.zeros(layers), np.zeros(layers))

    def free_steps(self, layers):
        return Rungs(6.5 - layers / 2, np.zeros(layers), np.zeros(layers))

    def gd_plus_plus(self, layers):
        return Rungs(5.0 - layers, np.zeros(layers), np.zeros(layers))


def test_depth_ladder_shows_what_is_above_bayes():
    trained = [Trained("gd", 2, False, 1.0, SEEN, None), Trained("full", 3, False, 1.0, Estimate(2.0, 0.3, 9), None)]
    columns = depth_pictures.ladder(MadeUpLadder(), 1.25, trained).columns
    np.testing.assert_allclose(columns["shared"], 7.75 - np.arange(1, 7) + 0.0)
    np.testing.assert_allclose(columns["free"], 5.25 - np.arange(1, 7) / 2)
    np.testing.assert_allclose(columns["plus_plus"], [2.75, 1.75, 0.75])
    np.testing.assert_allclose(columns["trained"], [0.25, 0.75])
    assert list(columns["trained_layers"]) == [2, 3] and list(columns["trained_stderr"]) == [0.1, 0.3]


def test_walk_shows_newton_s_answers_and_whitening_s():
    found = walk(check_parameters("06_newton_transformers", d=3, n=8, k=3), np.random.default_rng(5))
    columns = transformers.walk(found).columns
    newton = newton_predictions(found.prompt, 3, found.alpha)[:, 0]
    np.testing.assert_allclose(columns["answers_newton"][2:], newton, rtol=1e-9, atol=1e-12)
    assert len(columns["answers_schulz"]) == 4 and columns["least_squares"] == [found.least_squares]


def test_one_prompt_in_task_space():
    X, y, mean = np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([4.0, 0, 4]), np.array([2.0, 1])
    columns = proof_pictures.task_space(X, y, mean, np.eye(2) / 2).columns
    by_hand = [(0, 0), (4 / 3, 2 / 3), (2, 1), (2.5, 1), (4, 0)]
    np.testing.assert_allclose(np.stack([columns["x"], columns["y"]], axis=1), by_hand, atol=1e-12)


def test_the_pull_keeps_its_floor_and_the_start_its_bound():
    n = 7
    columns = proof_pictures.flow_proof(3, n, 0.4, 2.0).columns
    pull = columns["too_short"] + columns["noise"]
    assert pull.min() == pytest.approx(2 / (n + 2), rel=1e-3) and (pull >= 2 / (n + 2) - 1e-15).all()
    np.testing.assert_allclose(
        columns["bound"], flow_theory.beta_bound(PromptLaw.isotropic(3, n, 0.4), columns["time"])
    )
    for name in ("zero", "near", "far"):
        assert columns[name][0] == 1 and (columns[name] <= columns["bound"] * (1 + 1e-9)).all()
    assert columns["far"][20] == pytest.approx(columns["bound"][20], rel=1e-2)
    assert columns["near"][20] < 0.9 * columns["bound"][20]
