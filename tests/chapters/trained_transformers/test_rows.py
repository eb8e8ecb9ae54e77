"""Chapter 7's further rows on models whose answers are known."""

import numpy as np
import pytest
import torch

from icl.chapters.trained_transformers import probing, recipes, rivals, rows, study, weights
from icl.estimates import NotRun
from icl.models.encoder import EncoderConfig
from icl.models.lstm import LSTM, LSTMConfig
from icl.solvers import prefixes

TINY = recipes.Recipe("tiny", EncoderConfig(2, 2, 1, 8), n=4, queries=3)


def test_errors_by_examples_and_their_statistic(rng):
    runs = [rng.standard_normal((2, 500, 3)) * np.array([[[1.0]], [[0.5]]]) for _ in range(3)]
    np.testing.assert_allclose(rows.errors_by_examples(runs)[1, 0, 2], np.mean(runs[1][0, :, 2] ** 2))
    found = rows.over_prompts(runs, lambda errors: (errors[:, 1] / errors[:, 0]).mean(-1), rng)
    assert abs(found.mean - 0.25) < 5 * found.stderr < 0.15
    alone = rows.over_prompts(runs[:1], lambda errors: errors[:, 0].mean(-1), rng)
    assert alone.stderr == pytest.approx(np.sqrt(2 / 1500), rel=0.35)


def test_an_lstm_s_probes_see_what_it_has_read(rng):
    model = LSTM(LSTMConfig(2, 2, 12), rng=rng)
    train, test = (probing.Positions.draw(TINY, 200, rng) for _ in range(2))
    found = rows.lstm_layers(model, train, test)
    assert found.shape == (2, 200, 4)
    changed = probing.Positions(test.X, test.y.copy())
    changed.y[:, 3] += 5.0
    after = rows.lstm_layers(model, train, changed) + changed.answers - found - test.answers
    assert np.abs(after[..., :3]).max() < 1e-12 < np.abs(after[..., 3]).min(), (
        "only the answer after it has read the label"
    )


def test_examples_are_asked_for_again_one_by_one(rng):
    X, y = rng.standard_normal((5, 4, 2)), rng.standard_normal((5, 4))
    lstm, encoder = LSTM(LSTMConfig(2, 1, 6), rng=rng), TINY.build(rng)
    found = rows.asked_again(lstm, X, y)
    with torch.no_grad():
        again = [torch.from_numpy(part[:, [0, 1, 2, 3, 2]]).float() for part in (X, y)]
        np.testing.assert_allclose(found[:, 2], lstm(*again)[:, -1].numpy() - y[:, 2], atol=1e-6)
    order = [2, 0, 3, 1]
    shuffled = rows.asked_again(encoder, X[:, order], y[:, order])
    np.testing.assert_allclose(shuffled, rows.asked_again(encoder, X, y)[:, order], atol=1e-5)
    assert rows.one_answer(encoder, X[0], y[0], X[0, :1]) == pytest.approx(
        rows.asked_again(encoder, X, y)[0, 0] + y[0, 0], abs=1e-5
    )


def test_distance_by_hand(rng):
    ours, theirs = rng.standard_normal((2, 40, 5)), rng.standard_normal((3, 40, 5))
    found = probing.nearness(ours, probing.Algorithm(np.arange(3), theirs), rng)
    assert found.map[1, 2] == pytest.approx(-np.sqrt(np.mean((ours[1] - theirs[2]) ** 2)))
    same = probing.nearness(theirs, probing.Algorithm(np.arange(3), theirs), rng)
    np.testing.assert_array_equal(same.best()[0], [0, 1, 2])


def test_other_starts_are_newton_s(rng):
    test = probing.Positions.draw(TINY, 60, rng)
    steps = np.array([2, 3, 4, 5])
    alpha = 0.5 / test.prefixes.largest[..., None] ** 2  # of the starts that are tried, alpha λ_max² = ½
    left = (1 - alpha * test.prefixes.eigenvalues**2)[..., None] ** 2.0**steps
    answers = (test.prefixes.inverse_weights[..., None] * (1 - left)).sum(2)
    own = np.moveaxis(answers - test.answers[..., None], -1, 0)
    found = study.Study(TINY, test, [probing.Probed(own, own, None)], 3)
    (worse,) = found.similarities(probing.Algorithm(np.array([0]), np.ones((1, 60, 4))))
    ends = rivals.start_advantages(found, worse)
    level = np.mean([run.map.max(-1)[3:].mean() for run in worse])
    assert ends["start_most"] + level == pytest.approx(1), "one of them finds itself"
    assert ends["start_least"] < ends["start_most"] - 1e-4


def test_least_squares_by_length(rng):
    test = probing.Positions.draw(TINY, 50, rng)
    errors = rivals.least_squares_errors(test)
    assert errors.shape == (4,) and errors[0] > 0.05 and errors[1:].max() < 1e-12


def test_vectors_of_another_kind_are_compared(rng):
    test = probing.Queries.draw(TINY, 30, rng)
    residuals = np.moveaxis(prefixes.newton(test.prefixes, [1, 3]) - test.answers[..., None], -1, 0)
    found = study.Study(TINY, test, [probing.Probed(residuals, residuals, None)], 3)
    induced = lambda part: np.einsum("pdr,...pr->...pd", np.linalg.pinv(test.queries), part + test.answers)
    ((alike,),) = found.similarities(found.newton, of=induced)
    assert alike.map[0, 1] == pytest.approx(1) and alike.map[1, 3] == pytest.approx(1)


def test_the_width_that_suffices_lies_between_two_that_were_tried(monkeypatch):
    assert rows.sufficient_width([4, 8, 16], [1e-1, 1e-3, 1e-5]) == pytest.approx(np.sqrt(4 * 8))
    assert rows.sufficient_width([4, 8, 16], [0.5, 0.04, rows.ENOUGH]) == pytest.approx(16)
    assert np.isnan(rows.sufficient_width([4, 8], [0.001, 0.0001])), "4 may be more than enough"
    assert np.isnan(rows.sufficient_width([4, 8], [0.5, 0.1]))
    shares = {"width_4_d3": 0.1, "width_8_d3": 0.001, "width_8_d10": 0.1, "width_16_d10": 0.001}
    error = lambda name: shares.get(name, 1.0 if "_4_" in name else 1e-9) * recipes.RECIPES[name].model.d
    monkeypatch.setattr(weights, "model_of", lambda name, run, *_: (None, {"test_error": error(name)}))
    ladders = rows.width_ladders("quick", 0)
    assert ladders[3][0] == (4, 8, 16) and ladders[10][1].shape == (3, 3) and ladders[5][1].shape == (3, 4)
    found = rows.width_growth(ladders)
    assert (found.mean, found.stderr, found.count) == (pytest.approx(2), pytest.approx(0, abs=1e-12), 3)


def test_growth_of_the_width_is_a_mean_over_runs_or_not_run():
    ladder = lambda *runs: ([4, 8, 16], np.array(runs))
    at_8, at_16 = [0.9, rows.ENOUGH, 1e-4], [0.9, 0.5, rows.ENOUGH]
    found = rows.width_growth({3: ladder(at_8, at_8), 10: ladder(at_8, at_16)})
    assert (found.mean, found.stderr) == (pytest.approx(1.5), pytest.approx(0.5))
    assert isinstance(rows.width_growth({3: ladder(at_8, [1e-3, 1e-4, 1e-5]), 10: ladder(at_8, at_16)}), NotRun)


def test_wider_is_better_by_the_worst_neighbours():
    shares = np.array([[0.4, 0.1, 0.2], [0.4, 0.1, 0.05]])
    found = rows.widening(shares)  # a quarter, then 2 and a half: together 1
    assert found.mean == pytest.approx(1) and found.stderr == pytest.approx(np.log(2)) and found.count == 2
    assert rows.widening(shares[:, ::-1]).mean == pytest.approx(4), "upside down the narrow one is better"


def test_endings_are_counted(monkeypatch):
    constant = {"a": 300, "b": 500, "c": 200}

    def model_of(name, run, *_):
        return None, {"flat": (name, run) != ("b", 1), "steps": {"constant": constant[name] + 100 * run, "all": 9999}}

    monkeypatch.setattr(weights, "model_of", model_of)
    found = rows.endings({"wide": ("a", "b"), "narrow": ("c",)}, "quick", 0)
    wide, narrow = {"wide_least": 300, "wide_most": 700}, {"narrow_least": 200, "narrow_most": 400}
    assert found == wide | narrow | {"trainings": 9, "trainings_flat": 8}
