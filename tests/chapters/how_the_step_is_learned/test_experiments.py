"""Chapter 8's measurements, at other parameters and on turned problems, each against another road."""

import numpy as np
import pytest
import torch
from multi_head_risk import MultiHeadRisk
from support import assert_within_errors

from icl.chapters import check_parameters
from icl.chapters.how_the_step_is_learned import experiments, optimiser_runs, pictures, searches
from icl.estimates import NotRun
from icl.models.multi_head import MultiHeadAttention
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.theory import gd_beta
from icl.theory import how_the_step_is_learned as theory
from icl.validation import InputError

LAW = experiments.diagonal_law([0.5, 0.3, 0.2], 7, 0.4)
STAIRS = theory.stairs(np.diag(LAW.H), LAW.n, LAW.sigma2)


def product(v, Q, K):
    return np.einsum("...m,...mri,...mrj->...ij", v, Q, K)


def risk_of(law):
    return lambda parts: gd_beta.risk(law, np.zeros(law.d), product(*parts))


def apart(law):
    _, N, _ = gd_beta.second_moments(law, np.zeros(law.d))

    def velocity(v, Q, K):
        G = law.H @ law.Psi @ law.H - law.H @ product(v, Q, K) @ N
        return (
            np.einsum("...mri,...ij,...mrj->...m", Q, G, K),
            np.einsum("...m,...ij,...mrj->...mri", v, G, K),
            np.einsum("...m,...ji,...mrj->...mri", v, G, Q),
        )

    return velocity


def come_down(law, start, rng, heads, rank=1):
    path = experiments.follow(
        apart(law), experiments.small_heads(law, heads, rank, start, rng), experiments.horizon(law, start)
    )
    risks = risk_of(law)(path.parts)
    return path, risks, experiments.stops(risks, path.speed)


def test_spectra_have_trace_one_and_fall():
    for d in (1, 2, 5):
        for name, h in experiments.spectra(d, 1.5).items():
            assert len(h) == d and h.sum() == pytest.approx(1) and (np.diff(h) <= 0).all(), name
    np.testing.assert_allclose(experiments.spectra(4, 1.0)["chapter"], [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(experiments.spectra(3, 0.0)["chapter"], experiments.spectra(3, 1.0)["white"])
    np.testing.assert_allclose(experiments.spectra(2, 1.0)["power"], [2 / 3, 1 / 3])


def test_small_starts_are_small_and_balanced(rng):
    v, Q, K = experiments.small_heads(LAW, 5, 2, 1e-3, rng)
    size = 1e-3 * np.cbrt(theory.best_entries(np.diag(LAW.H), LAW.n, LAW.sigma2).min())
    assert v.shape == (5,) and Q.shape == K.shape == (5, 2, 3)
    np.testing.assert_allclose(np.abs(v), size)
    np.testing.assert_allclose(np.linalg.norm(Q, axis=2), size)
    np.testing.assert_allclose(np.linalg.norm(K, axis=2), size)
    v, U = experiments.small_matrix(LAW, 1e-3, rng)
    assert abs(float(v)) == pytest.approx(size) and np.linalg.norm(U) == pytest.approx(size)


def test_even_one_covariate_is_learned(rng):
    """From the wrong sign of v the flow would end at 0."""
    one = experiments.diagonal_law([1.0], 1, 0.0)
    for _ in range(5):
        v, Q, K = experiments.small_heads(one, 1, 1, 1e-3, rng)
        v0, U = experiments.small_matrix(one, 1e-3, rng)
        assert product(v, Q, K)[0, 0] > 0 and v0 * U[0, 0] > 0


def test_the_flow_rests_on_the_stairs_in_any_basis(rng):
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turned = PromptLaw(LAW.n, turn @ LAW.H @ turn.T, np.eye(3), np.zeros(3), LAW.sigma2)
    v, Q, K = experiments.small_heads(LAW, 4, 1, experiments.START, rng)
    start = v, Q @ turn.T, K @ turn.T
    path = experiments.follow(apart(turned), start, experiments.horizon(LAW, experiments.START))
    risks = risk_of(turned)(path.parts)
    found = risks[experiments.stops(risks, path.speed)]
    assert experiments.missed(found, STAIRS) < 1e-8


def test_a_head_of_rank_two_stops_on_the_second_stair(rng):
    assert come_down(LAW, 1e-3, rng, 1, rank=2)[1][-1] == pytest.approx(STAIRS[2], abs=1e-8)


def test_a_merged_matrix_rests_nowhere_between():
    _, N, _ = gd_beta.second_moments(LAW, np.zeros(3))

    def velocity(v, U):
        v = v[..., None, None]
        G = LAW.H @ LAW.H - LAW.H @ (v * U) @ N
        return (U * G).sum((-2, -1)), v * G

    value = lambda at: gd_beta.risk(LAW, np.zeros(3), at[0][..., None, None] * at[1])
    counts, ends = experiments.drops(LAW, velocity, value, Streams("a", 1))
    assert counts == [0, 0, 0] and np.allclose(ends, STAIRS[-1], rtol=1e-9)


def test_stops_of_a_made_up_descent():
    risks = np.array([1.0, 1.0, 0.6, 0.5, 0.5, 0.2, 0.1, 0.1, 0.1])
    speed = np.array([1e-3, 1e-4, 1.0, 1e-5, 0.9, 1.0, 1e-6, 1e-9, 1e-8])
    assert experiments.stops(risks, speed) == [0, 3, 8]
    twice = np.array([1.0, 0.6, 0.5, 0.5, 0.5, 0.2, 0.1])
    assert experiments.stops(twice, np.array([1, 2, 1e-3, 1e-2, 1e-4, 2, 1e-9])) == [0, 4, 6]
    barely = np.array([1, 2, 1e-3, 1.5e-3, 1.4e-3, 2, 1e-9])  # slower for a moment, but no rest
    assert experiments.stops(np.array([1.0, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]), barely) == [0, 2, 6]
    assert experiments.missed(np.array([1.0, 0.5]), np.array([1.0, 0.4])) == pytest.approx(0.1)
    assert experiments.missed(np.array([1.0, 0.5]), STAIRS) == np.inf


def test_crossings_of_a_known_flow(monkeypatch):
    path = experiments.follow(lambda x: (-x,), (np.array([1.0, 2.0]),), 5.0, rtol=1e-11)
    first = lambda parts: parts[0][..., 0]
    assert experiments.crossing(path, first, 0.5) == pytest.approx(np.log(2), rel=1e-8)
    assert np.isnan(experiments.crossing(path, first, 2.0))
    times, values = experiments.sampled(path, first, np.array([1.0, 5.0, 9.0]))
    np.testing.assert_allclose(values, np.exp([-1, -5, -5]), rtol=1e-8)
    monkeypatch.setattr(experiments, "_MOST_EVALUATIONS", 3000)
    with pytest.raises(InputError, match="could not be followed"):
        experiments.follow(lambda x: (x**2,), (np.array([1.0]),), 5.0)


def test_the_derivative_of_a_velocity_is_exact(rng):
    parts = rng.standard_normal(4), *rng.standard_normal((2, 4, 1, 3))
    joined = experiments.Joined(parts)
    state, step = joined.join(parts), 1e-5 * rng.standard_normal(28)
    np.testing.assert_array_equal(joined.split(state)[2], parts[2])
    ahead, behind = (joined.join(apart(LAW)(*joined.split(state + sign * step))) for sign in (1, -1))
    found = joined.jacobian(apart(LAW), state) @ step
    np.testing.assert_allclose(found, (ahead - behind) / 2, rtol=1e-6, atol=1e-13)


def test_last_move_and_slopes():
    assert experiments.last_move(np.array([0.0, 1, 2, 3]), np.array([1.0, 0.5, 0.009, 0.0])) == 1
    assert experiments.slope_of([1.0, 2, 4], [3.0, 24, 192]) == pytest.approx(3)
    assert experiments.no_stair_between(2) is None and isinstance(experiments.no_stair_between(1), NotRun)


def test_horizons_are_long_enough(rng):
    for start in (0.3, 1e-4):
        assert come_down(LAW, start, rng, 4)[1][-1] == pytest.approx(STAIRS[-1], rel=1e-9)


def test_off_slope_tells_right_from_wrong(rng):
    parts = rng.standard_normal(2), *rng.standard_normal((2, 2, 3, 3))
    assert searches.off_slope(apart(LAW), LAW, parts) < 1e-12
    doubled = lambda *at: [2 * part for part in apart(LAW)(*at)]
    assert searches.off_slope(doubled, LAW, parts) == pytest.approx(1)


def test_other_weights_stay_at_zero(rng):
    """With v = 0 and u = 0 a whole layer's risk has no slope in them: the flow of the chapter is the layer's."""
    model = MultiHeadAttention(3, 4, rng=rng)
    with torch.no_grad():
        model.v.zero_()
        model.u.zero_()
    MultiHeadRisk(LAW)(model).backward()
    assert model.v.grad.abs().max() < 1e-14 and model.u.grad.abs().max() < 1e-14 < model.V.grad.abs().max()


def test_heads_on_prompts(rng):
    v, Q, K = rng.standard_normal(2), *rng.standard_normal((2, 2, 1, 3))
    guess = lambda X, y, x: np.einsum("bi,ij,bnj,bn->b", x, product(v, Q, K), X, y) / LAW.n
    assert_within_errors(searches.over_prompts(LAW, guess, 100_000, rng), risk_of(LAW)((v, Q, K)))


def test_the_least_risk_of_a_rank(rng):
    def value_and_slope(Gamma):
        _, N, _ = gd_beta.second_moments(LAW, np.zeros(3))
        slope = 2 * (LAW.H @ Gamma @ N - LAW.H @ LAW.H)
        return float(gd_beta.risk(LAW, np.zeros(3), Gamma)), slope

    found = [searches.least_of_rank(value_and_slope, 3, R, 5, rng, 1.0) for R in range(1, 4)]
    np.testing.assert_allclose(found, STAIRS[1:], atol=1e-10)


def test_the_least_risk_of_a_rank_under_much_noise(rng):
    law = experiments.diagonal_law(experiments.spectra(5, 1.5)["chapter"], 3, 7000.0)
    (_, N, _), H2 = gd_beta.second_moments(law, np.zeros(5)), law.H @ law.H
    both = lambda Gamma: (gd_beta.risk(law, np.zeros(5), Gamma), 2 * (law.H @ Gamma @ N - H2))
    unit = theory.best_entries(np.diag(law.H), 3, 7000.0).min()
    found = [searches.least_of_rank(both, 5, R, 1, rng, unit) for R in range(1, 6)]
    np.testing.assert_allclose(found, theory.stairs(np.diag(law.H), 3, 7000.0)[1:], rtol=1e-15, atol=2e-12)


def test_resting_points_rest_and_are_of_many_kinds(rng):
    points = searches.resting_points(apart(LAW), LAW, 25, rng)
    levels = np.array([risk_of(LAW)(point) for point in points])
    every = theory.resting_levels(np.diag(LAW.H), LAW.n, LAW.sigma2)
    assert np.abs(levels[:, None] - every).min(1).max() < 1e-9 and len({*levels.round(6)}) >= 4


def test_trained_heads_have_the_exact_risk(rng):
    start = experiments.small_heads(LAW, 4, 1, 1.0, rng)
    assert optimiser_runs.RankOneHeads(start)(LAW).item() == pytest.approx(risk_of(LAW)(start), rel=1e-12)
    before = [part.copy() for part in start]
    run = optimiser_runs.with_torch(LAW, start, "Muon", 0.05)
    assert len(run.curve) == round(optimiser_runs.TRAVEL / 0.05) and run.curve[-1] < run.curve[0]
    assert all((a == b).all() for a, b in zip(before, start, strict=True)), "the start is not trained away"


def test_time_on_the_stairs():
    stairs = np.array([1.0, 0.5, 0.0])
    even = np.linspace(1, 0, 10_001)
    assert optimiser_runs.on_the_stairs(even, stairs) == pytest.approx(0.02 / 0.98, rel=0.01)
    waiting = np.r_[np.ones(50), np.linspace(1, 0.5, 11), np.full(89, 0.5), np.linspace(0.5, 0, 11), np.zeros(70)]
    assert optimiser_runs.on_the_stairs(waiting, stairs) == pytest.approx(91 / 110, abs=0.01)
    assert optimiser_runs.on_the_stairs(even, stairs[[0, 2]]) == 0
    back = np.r_[1.0, 0.97, np.ones(7), 0.5, 0.3, 0.0]  # Adam may climb back to the start: that is no stair between
    assert optimiser_runs.on_the_stairs(back, stairs) == pytest.approx(1 / 10)


def test_plain_descent_waits_and_the_others_do_not():
    found = optimiser_runs.compare(LAW, apart(LAW), risk_of(LAW), Streams("a", 3)).numbers(STAIRS)
    assert found["descent_least"] > 0.5 > 0.3 > found["Muon_most"] and found["even_pace"] == pytest.approx(0.04)


def test_budgets():
    full = experiments.budget(check_parameters("08_how_the_step_is_learned"))
    long = experiments.budget(check_parameters("08_how_the_step_is_learned", n=10_000))
    assert full.prompts == 200_000 and long.prompts == 1000 and full.restarts == long.restarts


def test_pictures_hold_their_numbers():
    times, Gammas = np.geomspace(0.3, 100, 5), np.array([np.eye(3) * k for k in range(4)])
    columns = pictures.staircase((times, times + 1), (times, times + 2), STAIRS, Gammas).columns
    np.testing.assert_array_equal(columns["Gamma_2"], 2 * np.eye(3).ravel())
    np.testing.assert_array_equal(columns["merged"], times + 2)
    sizes = np.array([0.1, 0.01])
    columns = pictures.starts({0.1: (times, times)}, STAIRS, sizes, 3 / sizes, sizes, sizes).columns
    np.testing.assert_array_equal(columns["wait_apart"], 3 / sizes)
    run = optimiser_runs.Descent("Adam", 0.01, np.linspace(1, 0, 40))
    columns = pictures.optimisers({"Adam": {0.3: run}, "Muon": {0.3: run}}, STAIRS).columns
    np.testing.assert_array_equal(columns["Adam_0p3_risk"], run.curve[columns["Adam_0p3_step"] - 1])
