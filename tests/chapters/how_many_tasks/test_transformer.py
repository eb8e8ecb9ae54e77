"""Chapter 10's deep transformers: tiny trainings, the shipped ones intact and replayable, rivals by another route."""

import numpy as np
import pytest
import torch
from page_code import functions

from icl import checkpoints
from icl.chapters.how_many_tasks import deep, pictures, transformer
from icl.settling import Plan
from icl.theory import one_step_gd
from icl.validation import InputError
from press import trainings

PAGE = functions("10_how_many_tasks", "ridge", "mixture")
TINY = Plan(2e-3, None, stretch=15, most=2)
EVERY = [(count, seed) for count in transformer.COUNTS for seed in transformer.SEEDS]


def test_ridge_is_least_squares_with_the_penalty_as_rows(rng):
    X, y = rng.standard_normal((2, 5, 3)), rng.standard_normal((2, 5))
    for k, found in enumerate(PAGE.ridge(X, y, 0.3)):
        rows = np.vstack([X[k], np.sqrt(0.3) * np.eye(3)])
        np.testing.assert_allclose(found, np.linalg.lstsq(rows, np.r_[y[k], np.zeros(3)], rcond=None)[0], rtol=1e-9)


def test_mixture_is_bayes_rule_written_out(rng):
    X, y, tasks = rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 4)), rng.standard_normal((5, 3))
    for k, found in enumerate(PAGE.mixture(X, y, tasks, 0.5)):
        likely = [np.prod(np.exp(-((y[k] - X[k] @ w) ** 2) / (2 * 0.5))) for w in tasks]
        np.testing.assert_allclose(found, likely @ tasks / np.sum(likely), rtol=1e-9)


def test_prompts_follow_their_law(rng):
    batch = transformer.draw(rng, 40_000)
    labels = transformer.D + transformer.SIGMA2
    assert batch.answers.var() == pytest.approx(labels, rel=0.05) and batch.y.var() == pytest.approx(labels, rel=0.05)
    one = transformer.draw(rng, 5000, np.array([[1.0, 2.0, 0.0]]))
    residual = one.answers - one.queries @ [1.0, 2.0, 0.0]
    assert residual.var() == pytest.approx(transformer.SIGMA2, rel=0.05)
    assert one.X.shape == (5000, transformer.N, transformer.D) and one.answers.shape == (5000, transformer.QUERIES)


def test_a_short_training_learns_and_is_the_same_twice(tmp_path):
    curves = [transformer.train(4, 7, plan=TINY, folder=tmp_path).curve for _ in range(2)]
    assert np.array_equal(*curves) and curves[0][-5:].mean() < curves[0][:5].mean()
    assert list(tmp_path.iterdir()) == [], "what a finished training leaves behind"
    assert transformer.train(4, 8, plan=TINY, folder=tmp_path).curve[0] != curves[0][0]


def test_fresh_tasks_have_no_list():
    assert transformer.start(transformer.FRESH, 3)[1] is None and transformer.start(4, 0)[1].shape == (4, transformer.D)


@pytest.mark.parametrize("count, seed", EVERY)
def test_shipped_trainings_are_intact_and_start_from_their_seed(count, seed):
    tasks, _, record = transformer.load(count, seed)
    _, expected, _ = transformer.start(count, seed)
    assert (tasks is None) == (count == transformer.FRESH)
    if tasks is not None:
        np.testing.assert_array_equal(tasks, expected)
    assert len(record["first_losses"]) == transformer.REPLAYED and record["curve"][-1] < record["curve"][0]


def test_a_shipped_training_can_be_replayed():
    np.testing.assert_allclose(transformer.replay(64, 2, 5), transformer.load(64, 2)[2]["first_losses"][:5], rtol=1e-4)


def test_another_training_s_file_is_refused(tmp_path):
    path = transformer.FOLDER / transformer.file_name(16, 0)
    (tmp_path / transformer.file_name(16, 1)).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="another training than 16 tasks, seed 1"):
        transformer.load(16, 1, tmp_path)
    tensors, record = checkpoints.load(path)
    checkpoints.save(tmp_path / transformer.file_name(16, 0), tensors, record | {"recipe": {}})
    with pytest.raises(InputError, match="another training"):
        transformer.load(16, 0, tmp_path)
    early = {"flat": False, "steps": {"constant": 6000, "all": 8400}}
    checkpoints.save(tmp_path / transformer.file_name(16, 0), tensors, record | early)
    with pytest.raises(InputError, match="given up while constant rates still helped"):
        transformer.load(16, 0, tmp_path)


def test_what_is_shipped_is_what_was_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(transformer, "PLAN", TINY)
    monkeypatch.setitem(transformer.train.__kwdefaults__, "plan", TINY)
    path = transformer.ship(4, 5, tmp_path, state=tmp_path / "states")
    tasks, model, record = transformer.load(4, 5, tmp_path)
    settled = transformer.train(4, 5, folder=tmp_path / "states")
    np.testing.assert_array_equal(tasks, transformer.start(4, 5)[1])
    assert path.name == "tasks_4-seed5.safetensors" and record["first_losses"] == settled.curve[:20].tolist()
    assert record["steps"] == {"constant": settled.constant, "all": len(settled.curve)}
    for one, other in zip(model.parameters(), settled.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_the_page_s_numbers_are_the_records():
    found, records = deep.numbers(), [transformer.load(count, seed)[2] for count, seed in EVERY]
    assert found["deep_least_steps"] == min(record["steps"]["all"] for record in records)
    assert found["deep_rested"] == sum(record["flat"] for record in records)
    assert found["deep_most_steps"] == max(record["steps"]["all"] for record in records)


def test_the_standard_profile_trains_anew_and_shorter(monkeypatch, tmp_path):
    monkeypatch.setattr(transformer, "STATES", tmp_path)
    monkeypatch.setattr(transformer, "SHORTER", TINY)
    tasks, model = transformer.trained(4, 0, "standard")
    np.testing.assert_array_equal(tasks, transformer.start(4, 10)[1])
    assert not torch.equal(next(model.parameters()), next(transformer.start(4, 10)[2].parameters()))


def test_the_command_keeps_what_is_there(tmp_path, monkeypatch):
    for count, seed in EVERY[1:]:
        name = transformer.file_name(count, seed)
        (tmp_path / name).write_bytes((transformer.FOLDER / name).read_bytes())
    ship = lambda count, seed, folder, *, minutes: folder / transformer.file_name(count, seed)
    monkeypatch.setattr(transformer, "ship", ship)
    first, *others = trainings.train_tasks(tmp_path)
    assert first.endswith("tasks_4-seed0.safetensors") and len(others) == len(EVERY) - 1
    assert all("there already" in line for line in others)
    with pytest.raises(InputError, match="leave --device away"):
        next(trainings.train_tasks(tmp_path, device="cuda"))


@pytest.fixture(scope="module")
def risks():
    return deep.compare(PAGE.ridge, PAGE.mixture, "quick", np.random.default_rng(11))


def test_rivals_are_best_where_they_are_bayes(risks):
    for count in (4, 16, 64):
        assert (risks.values["mixture", "seen", count] < risks.values["ridge", "seen", count]).all()
        assert (risks.values["mixture", "new", count] > risks.values["ridge", "new", count]).all()
        assert (risks.values["mixture", "seen", count] < 1.02 * risks.values["transformer", "seen", count]).all()
    for count in transformer.COUNTS:
        assert (risks.values["ridge", "new", count] < 1.02 * risks.values["transformer", "new", count]).all()
    assert ("mixture", "new", transformer.FRESH) not in risks.values


def test_ratios_are_means_over_trainings(risks):
    expected = (risks.values["transformer", "new", 4] / risks.values["ridge", "new", 4]).mean()
    found = risks.ratio("transformer", "ridge", "new", 4)
    assert found.mean == pytest.approx(expected) and found.count == len(transformer.SEEDS)
    near = risks.values["to_ridge", "new", 256] / risks.values["to_mixture", "new", 256]
    assert risks.nearer_to_ridge(256).mean == pytest.approx(near.mean())


def test_one_linear_layer_is_chapter_1_s(risks):
    ridge = np.mean([risks.values["ridge", "new", count].mean() for count in transformer.COUNTS])
    floor = one_step_gd.minimal_risk(transformer.D, transformer.N, transformer.SIGMA2)
    assert risks.linear[transformer.FRESH] == pytest.approx(floor / ridge)
    assert risks.linear[4] > risks.linear[256] > risks.linear[transformer.FRESH]


def test_the_picture_shows_the_ratios(risks):
    columns = pictures.deep_transformers(risks).columns
    assert columns["transformer_new"][0] == pytest.approx(risks.ratio("transformer", "ridge", "new", 4).mean)
    assert np.isnan(columns["transformer_seen"][-1]) and np.isnan(columns["mixture_new"][-1])
    assert columns["mixture_seen"][1] == pytest.approx(risks.ratio("mixture", "ridge", "seen", 16).mean)
    assert columns["linear_new"][2] == risks.linear[64]
