"""The sweep of small GPTs: every run kept with its settings, with and without the MLP told apart."""

import numpy as np
import pytest
from click.testing import CliRunner

from icl.chapters.mlp_benefit import gpt_sweep, query_training
from icl.estimates import Estimate
from icl.files import read_sealed
from icl.settling import Plan
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.validation import InputError
from press import cli, trainings


@pytest.fixture
def tiny(monkeypatch):
    """Models of one layer, one rate, two seeds, trained for 8 to 12 steps and as many falling."""
    monkeypatch.setattr(gpt_sweep, "SIZES", dict(d=2, n=3, layers=1, heads=1, width=4))
    monkeypatch.setattr(gpt_sweep, "PLAN", Plan(1e-3, None, stretch=4, most=3, warm_up=2))
    monkeypatch.setattr(gpt_sweep, "RATES", (0.01,))
    monkeypatch.setattr(gpt_sweep, "SEEDS", (0, 1))
    monkeypatch.setattr(gpt_sweep, "TEST_PROMPTS", 500)


def numbers(path) -> dict:
    """All that is kept of the runs but their seconds."""
    runs = read_sealed(path)["runs"]
    return {
        (name, key): {part: value for part, value in run.items() if part != "core_seconds"}
        for name, found in runs.items()
        for key, run in found.items()
    }


def test_every_run_is_there_in_order_and_again_the_same(tiny, tmp_path):
    """Trained in whatever order, and gone on with after a stop."""
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    for run in gpt_sweep.every_run():
        gpt_sweep.train_run(*run, one, states=tmp_path / "a")
    for run in reversed(list(gpt_sweep.every_run())):
        starts = 0
        while gpt_sweep.train_run(*run, other, states=tmp_path / "b", minutes=1e-9) is None:
            starts += 1
            assert starts < 20
    assert numbers(one) == numbers(other) and list(numbers(one)) == list(numbers(other))
    found = gpt_sweep.sweep(one)
    assert found.risks.shape == found.steps.shape == found.settled.shape == (2, 2, 1, 2)
    assert len(np.unique(found.risks)) == 8 and set(found.steps.ravel()) <= {16, 24}
    assert found.risks.ravel()[1] == numbers(one)["zero_mlp", "0.01, seed 1"]["loss"]
    assert list((tmp_path / "a").iterdir()) == []


def test_ratios_are_without_over_with_the_mlp(tiny, tmp_path, monkeypatch):
    """A made-up test that says 6 of a model without the MLP and 2 of one with it."""
    has = lambda model: any("mlp" in name for name, _ in model.named_parameters())
    monkeypatch.setattr(query_training, "tested", lambda model, *_: Estimate(2.0 if has(model) else 6.0, 0.1, 9))
    for run in gpt_sweep.every_run():
        gpt_sweep.train_run(*run, tmp_path / "t.json", states=tmp_path)
    found = gpt_sweep.sweep(tmp_path / "t.json")
    np.testing.assert_allclose(found.ratios(), 3.0)
    assert (found.risks[:, 0] == 2).all() and (found.risks[:, 1] == 6).all()
    assert [np.linalg.norm(law.beta_star) for law in found.laws] == pytest.approx([0, gpt_sweep.BETA_NORM])


def test_the_command_trains_what_is_missing(tiny, tmp_path, monkeypatch):
    train = gpt_sweep.train_run
    monkeypatch.setattr(gpt_sweep, "train_run", lambda *run, **named: train(*run, **named, states=tmp_path / "states"))
    lines = list(trainings.train_sweep(tmp_path / "gpt_sweep.json"))
    assert len(lines) == 8 and all("test risk" in line for line in lines)
    result = CliRunner().invoke(cli.commands, ["train", "gpt_sweep", "--out", str(tmp_path)])
    assert result.exit_code == 0 and result.output.count("there already") == 8


def test_a_sweep_that_is_not_whole_or_of_other_settings_is_refused(tiny, tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    gpt_sweep.train_run("mean_mlp", 0.01, 1, path, states=tmp_path)
    with pytest.raises(InputError, match="7 trainings of the sweep are missing in .*: `python -m icl train gpt_sweep`"):
        gpt_sweep.sweep(path)
    monkeypatch.setattr(gpt_sweep, "SIGMA2", 0.5)
    with pytest.raises(InputError, match="other settings"):
        gpt_sweep.sweep(path)


def test_what_the_book_carries_is_whole_and_above_bayes():
    found, sizes = gpt_sweep.sweep(), gpt_sweep.SIZES
    assert found.risks.min() > 0.99 * isotropic_bayes_risk(sizes["d"], sizes["n"], gpt_sweep.SIGMA2)
    assert (found.steps >= 4 * gpt_sweep.PLAN.stretch).all()
