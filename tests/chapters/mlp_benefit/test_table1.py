"""Table 1's trainings: in slices to the same bytes, kept with their settings, shown where there are any."""

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from icl.chapters import catalogue
from icl.chapters.mlp_benefit import gpt_sweep, table1
from icl.chapters.mlp_benefit import table1_pictures as pictures
from icl.chapters.newton_transformers.sequence_laws import Curriculum
from icl.estimates import Estimate, NotRun
from icl.files import read_sealed, sealed, write_atomically
from icl.training import Schedule
from icl.validation import InputError
from press import cli, trainings

FIRST, *_, LAST = table1.ENTRIES


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Models of one layer, trained for four steps, half of them on one covariate."""
    monkeypatch.setattr(table1, "SIZES", dict(d=2, n=3, layers=1, heads=1, width=4))
    monkeypatch.setattr(table1, "SCHEDULE", Schedule(4, 1e-3, 1.0))
    monkeypatch.setattr(table1, "CURRICULUM", Curriculum((1, 2, 1), (4, 4, 0), 2))
    monkeypatch.setattr(table1, "TEST_PROMPTS", 4000)
    monkeypatch.setattr(table1, "SLICE", 2)


def test_a_training_in_slices_ends_in_the_same_bytes(tmp_path):
    whole, sliced = tmp_path / "whole.json", tmp_path / "sliced.json"
    found = table1.train_entry(FIRST, 0, whole, states=tmp_path / "a")
    assert table1.train_entry(FIRST, 0, sliced, states=tmp_path / "b", minutes=1e-9) is None and not sliced.exists()
    assert table1.train_entry(FIRST, 0, sliced, states=tmp_path / "b") == found
    assert whole.read_bytes() == sliced.read_bytes() and not list((tmp_path / "b").iterdir())
    assert table1.committed(whole) == {FIRST: found} and found.stderr > 0 and found.count == 4000
    run = read_sealed(whole)["entries"][FIRST]["0"]
    assert len(run["curve"]) == 4 and "1 thread(s)" in run["made_with"]["machine"]


def test_several_trainings_have_a_mean_and_its_error(tmp_path):
    path = tmp_path / "t.json"
    losses = [table1.train_entry(LAST, seed, path, states=tmp_path).mean for seed in (3, 1)]
    table1.train_entry(FIRST, 0, path, states=tmp_path)
    found = table1.committed(path)
    assert list(found) == [FIRST, LAST] and losses[0] != losses[1]
    assert found[LAST].mean == pytest.approx(np.mean(losses))
    assert found[LAST].stderr == pytest.approx(abs(losses[0] - losses[1]) / 2) and found[LAST].count == 2


def test_two_trainings_at_once_are_both_kept(tmp_path, monkeypatch):
    path, tested = tmp_path / "t.json", table1.tested

    def meanwhile(*arguments):
        monkeypatch.setattr(table1, "tested", tested)
        table1.train_entry(LAST, 0, path, states=tmp_path)
        return tested(*arguments)

    monkeypatch.setattr(table1, "tested", meanwhile)
    table1.train_entry(FIRST, 0, path, states=tmp_path)
    assert list(table1.committed(path)) == [FIRST, LAST]


@pytest.mark.parametrize("id", table1.ENTRIES)
def test_each_entry_is_the_printed_one(id, tmp_path, monkeypatch):
    seen, tested = [], table1.tested
    monkeypatch.setattr(
        table1, "tested", lambda model, law, *rest: seen.append((model, law)) or tested(model, law, *rest)
    )
    table1.train_entry(id, 0, tmp_path / "t.json", states=tmp_path)
    ((model, law),) = seen
    assert law.beta_star.tolist() == [0.0 if "zero" in id else 10.0] * 2 and law.sigma2 == 0
    assert any("mlp" in name for name, _ in model.named_parameters()) == ("no_mlp" not in id)
    assert f"printed {table1.ENTRIES[id].printed:g};" in catalogue("04_mlp_benefit")[id]["statement"]


def test_trained_on_more_and_more_covariates_and_tested_on_all(tmp_path, monkeypatch):
    laws, errors = [], gpt_sweep.squared_errors
    monkeypatch.setattr(
        gpt_sweep, "squared_errors", lambda model, law, *rest: laws.append(law) or errors(model, law, *rest)
    )
    table1.train_entry(LAST, 0, tmp_path / "t.json", states=tmp_path)
    assert [np.diag(law.H).tolist() for law in laws] == [[1, 0]] * 2 + [[1, 1]] * 4
    assert all(law.beta_star.tolist() == [10, 10] and np.array_equal(law.Psi, np.eye(2)) for law in laws)


def test_the_curriculum_ends_at_all_covariates_long_before_the_training(monkeypatch):
    monkeypatch.undo()
    d, _ = table1.CURRICULUM.at(table1.SCHEDULE.steps // 2)
    assert d == table1.SIZES["d"] == max(table1.lessons(table1.ENTRIES[FIRST]))


def test_the_picture_shows_every_training(tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "CURRICULUM", Curriculum((1, 2, 1), (4, 4, 0), 3))
    path = tmp_path / "t.json"
    for id, seed in ((FIRST, 0), (LAST, 0), (LAST, 7)):
        table1.train_entry(id, seed, path, states=tmp_path)
    columns, content = pictures.curves(path).columns, read_sealed(path)["entries"]
    assert columns.keys() == {"step", "of_the_mean", "zero_mean_mlp_0", "mean_no_mlp_0", "mean_no_mlp_7"}
    assert columns["mean_no_mlp_7"].tolist() == content[LAST]["7"]["curve"] != columns["mean_no_mlp_0"].tolist()
    assert columns["step"].tolist() == [1, 2, 3, 4] and columns["of_the_mean"].tolist() == [1, 1, 1, 2]
    assert len(pictures.curves(tmp_path / "none").columns) == 2


def test_what_is_missing_is_said_with_the_command():
    assert table1.committed(table1.RESULTS.with_name("none.json")) == {}
    missing = NotRun("no result yet: python -m icl train table1 makes one")
    assert table1.results("quick", table1.RESULTS.with_name("none.json")) == dict.fromkeys(table1.ENTRIES, missing)
    with pytest.raises(InputError, match="'table1.mean' is not an entry of Table 1; take one of table1.zero_mean_mlp"):
        table1.train_entry("table1.mean", 0)
    with pytest.raises(InputError, match="seed"):
        table1.train_entry(FIRST, -1)


def test_results_of_other_settings_and_altered_ones_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    table1.train_entry(FIRST, 0, path, states=tmp_path)
    write_atomically(tmp_path / "altered.json", path.read_text().replace('"loss": ', '"loss": 1'))
    with pytest.raises(InputError, match="altered.json was altered"):
        table1.committed(tmp_path / "altered.json")
    content = read_sealed(path)
    content["settings"]["sigma2"] = 0.25
    write_atomically(path, sealed(content))
    for read in (table1.committed, lambda path: table1.train_entry(LAST, 0, path, states=tmp_path)):
        with pytest.raises(InputError, match="t.json holds results of other settings"):
            read(path)


def test_the_paper_profile_trains_what_is_missing_where_there_is_a_gpu(tmp_path, monkeypatch):
    path, trained = tmp_path / "t.json", []
    table1.train_entry(FIRST, 0, path, states=tmp_path)
    monkeypatch.setattr(table1, "train_entry", lambda id, seed, at, *, device: trained.append((id, seed, at, device)))
    found = table1.results("quick", path)
    assert [id for id in found if isinstance(found[id], Estimate)] == [FIRST] and not trained
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert table1.results("standard", path) == found and not trained
    table1.results("paper", path)
    assert trained == [(id, 0, path, "cuda") for id in table1.ENTRIES if id != FIRST]


def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "STATES", tmp_path / "states")
    run = lambda *options: CliRunner().invoke(cli.commands, ["train", "table1", "--out", str(tmp_path), *options])
    assert run("--minutes", "1e-9").stdout == f"{FIRST}, seed 0: stopped and saved; the same command goes on.\n"
    lines = run().stdout.splitlines()
    assert [line.partition(",")[0] for line in lines] == list(table1.ENTRIES)
    assert all("test loss" in line and line.endswith("table1.json") for line in lines)


def test_the_same_command_trains_nothing_twice_and_another_seed_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "STATES", tmp_path / "states")
    monkeypatch.setattr(table1, "ENTRIES", {FIRST: table1.ENTRIES[FIRST]})
    path = tmp_path / table1.RESULTS.name
    run = lambda *options: CliRunner().invoke(cli.commands, ["train", "table1", "--out", str(tmp_path), *options])
    assert "test loss" in run().stdout
    assert run().stdout == f"{FIRST}, seed 0: there already; --anew trains it again.\n"
    assert list(table1.curves(path)[FIRST]) == [0]
    assert "test loss" in run("--seed", "1").stdout and list(table1.curves(path)[FIRST]) == [0, 1]
    before = path.read_bytes()
    assert "seed 1: test loss" in run("--seed", "1", "--anew").stdout and path.read_bytes() == before


def test_a_gpu_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no CUDA GPU"):
        next(trainings.train_table(0, tmp_path / "t.json", device="cuda"))
