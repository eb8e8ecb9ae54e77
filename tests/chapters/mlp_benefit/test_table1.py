"""Table 1's trainings: in slices to the same bytes, kept with their settings, shown where there are any."""

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from icl import settling
from icl.chapters import catalogue
from icl.chapters.mlp_benefit import query_losses, query_training, table1
from icl.chapters.mlp_benefit import table1_pictures as pictures
from icl.estimates import Estimate, NotRun
from icl.files import read_sealed, sealed, write_atomically
from icl.settling import Plan
from icl.training import Schedule
from icl.validation import InputError
from press import cli, trainings

FIRST, *_, LAST = table1.ENTRIES


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Models of one layer, trained for 8 to 12 steps and half as many, swept by nine."""
    monkeypatch.setattr(table1, "SIZES", dict(d=2, n=3, layers=1, heads=1, width=4))
    monkeypatch.setattr(table1, "PLAN", Plan(1e-3, None, stretch=4, most=3, warm_up=2))
    monkeypatch.setattr(table1, "SWEEP", Schedule(9, 1e-3, 1.0, decay_from=8))
    monkeypatch.setattr(table1, "RATES", (0.01, 0.03))
    monkeypatch.setattr(table1, "TEST_PROMPTS", 4000)
    monkeypatch.setattr(table1, "SWEEP_PROMPTS", 200)
    monkeypatch.setattr(query_training, "SLICE", 4)


def without_times(path) -> dict:
    """The file's content but the core seconds."""
    content = read_sealed(path)
    for runs in content["entries"].values():
        for run in runs.values():
            assert run.pop("core_seconds") >= 0
    return content


def test_a_training_in_slices_ends_in_the_same_numbers(tmp_path):
    whole, sliced = tmp_path / "whole.json", tmp_path / "sliced.json"
    found = table1.train_entry(FIRST, 0, whole, states=tmp_path / "a")
    starts = 0
    while (again := table1.train_entry(FIRST, 0, sliced, states=tmp_path / "b", minutes=1e-9)) is None:
        starts += 1
        assert starts < 20
    assert starts >= 2 and again == found
    settled = table1.runs(sliced)[FIRST][0]["settled"]
    assert len(list((tmp_path / "b").iterdir())) == (not settled), "what a longer training needs is kept"
    assert without_times(whole) == without_times(sliced)
    assert table1.committed(whole) == {FIRST: found} and found.stderr > 0 and found.count == 4000


@pytest.mark.parametrize(
    "loss, error, told", [(0.00027742, 3.738e-6, "0.0002774 ± 0.0000037"), (12.34, 1.96, "12.3 ± 2.0")]
)
def test_a_loss_is_told_to_the_second_digit_of_its_error(loss, error, told, tmp_path, monkeypatch):
    run = {"loss": loss, "stderr": error, "loss_per_dimension": loss, "stderr_per_dimension": error}
    run |= {"steps": [4], "core_seconds": 60, "settled": True}
    monkeypatch.setattr(table1, "runs", lambda path: {LAST: {0: run}})
    assert pictures.trainings(tmp_path).rows[-1][4] == told


def test_what_is_kept_of_a_training(tmp_path):
    path = tmp_path / "t.json"
    found = table1.train_entry(LAST, 0, path, states=tmp_path)
    run = table1.runs(path)[LAST][0]
    steps, kept = len(run["curve"]), run["constant_steps"]
    assert run["loss_per_dimension"] == found.mean / 2 and run["stderr_per_dimension"] == found.stderr / 2
    assert run["steps"] == list(range(1, steps + 1)) and steps == 2 * kept and kept in (8, 12)
    third, fourth = run["last_stretches"]
    assert fourth["loss"] == pytest.approx(np.mean(run["curve"][kept - 4 : kept])) and fourth["steps"] == 4
    assert run["settled"] == (third["loss"] - fourth["loss"] <= 2 * np.hypot(third["stderr"], fourth["stderr"]))
    means = [np.mean(run["curve"][4 * k : 4 * k + 4]) for k in range(kept // 4)]
    assert run["stretches"] == pytest.approx(means) and "gpu_seconds" not in run
    assert run["muon"] in table1.RATES
    assert "1 thread(s)" in run["made_with"]["machine"]
    assert run["curve"][0] > 100, "raw units: labels of size 14 are answered with next to nothing"


def test_a_training_that_still_fell_goes_on_when_more_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(settling.Stretches, "flat", False)
    path, whole = tmp_path / "t.json", tmp_path / "whole.json"
    assert table1.unfinished(FIRST, 0, path)
    short = table1.train_entry(FIRST, 0, path, states=tmp_path / "a", most=2)
    assert table1.runs(path)[FIRST][0]["shorter"] == [] and table1.unfinished(FIRST, 0, path)
    (state,) = (tmp_path / "a").iterdir()
    assert state.name == f"{FIRST}-seed0.constant.safetensors"
    long = table1.train_entry(FIRST, 0, path, states=tmp_path / "a")
    assert table1.train_entry(FIRST, 0, whole, states=tmp_path / "b") == long != short
    run = table1.runs(path)[FIRST][0]
    (kept,) = run["shorter"]
    assert kept.pop("core_seconds") >= 0 and len(kept.pop("curve")) == 16
    assert kept == dict(constant_steps=8, steps=16, loss=short.mean, stderr=short.stderr)
    assert run["constant_steps"] == 12 and not run["settled"] and not table1.unfinished(FIRST, 0, path)
    table1.train_entry(FIRST, 0, path, states=tmp_path / "a")  # the same again is nothing shorter
    assert len(table1.runs(path)[FIRST][0]["shorter"]) == 1


def test_step_for_step_both_are_compared_where_all_have_been(monkeypatch):
    lengths = {"table1.zero_mean_mlp": [1, 2, 3], "table1.zero_mean_no_mlp": [4, 4, 9]}
    lengths |= {"table1.mean_mlp": [8.0, 6.0], "table1.mean_no_mlp": [1.0, 2.0, 0.0, 0.0]}
    trained = lambda means: {0: {"stretches": means}, 1: {"stretches": [*means[:1], 3 * means[1], *means[2:]]}}
    monkeypatch.setattr(table1, "runs", lambda path: {id: trained(means) for id, means in lengths.items()})
    steps, ratios = table1.step_for_step()
    assert steps == 2 * table1.PLAN.stretch
    assert [ratio.mean for ratio in ratios.values()] == [4 / 8, 12 / 4]
    assert ratios["table1.mean_order"].stderr == pytest.approx(3 * np.hypot(6 / 12, 2 / 4))
    steps, ratios = table1.step_for_step(table1.PLAN.stretch)
    assert steps == table1.PLAN.stretch and [ratio.mean for ratio in ratios.values()] == [1 / 4, 8]


def test_a_busy_machine_makes_no_step_dearer():
    law = table1.law_of(table1.ENTRIES[FIRST])
    training = query_training.QueryTraining(None, law, 0.01, [0], [1], state=None, label="", device="cpu")
    training.seconds, training.asked = 6.0, 3  # two a step
    cheaper, dearer = (dict(core_seconds=seconds, steps=[2, 4]) for seconds in (4, 12))
    assert [training.core_seconds(10, earlier) for earlier in (None, cheaper, dearer)] == [20, 10, 20]
    training.device = "cuda"  # whose host does other work: a core's seconds are those of the run before
    assert [training.core_seconds(10, earlier) for earlier in (None, cheaper, dearer)] == [20, 10, 30]


def test_the_rate_with_the_least_loss_is_taken_and_swept_once(tmp_path, monkeypatch):
    path, tested = tmp_path / "t.json", query_training.tested
    losses = iter([3.0, 2.0])
    monkeypatch.setattr(query_training, "tested", lambda *rest: Estimate(next(losses), 0.1, 200))
    with pytest.raises(StopIteration):  # the sweep is in the file before the training ends
        table1.train_entry(FIRST, 0, path, states=tmp_path)
    assert table1.sweeps(path) == {FIRST: {0.01: Estimate(3.0, 0.1, 200), 0.03: Estimate(2.0, 0.1, 200)}}
    monkeypatch.setattr(query_training, "tested", tested)
    for seed in (0, 1):
        table1.train_entry(FIRST, seed, path, states=tmp_path)
    assert [run["muon"] for run in table1.runs(path)[FIRST].values()] == [0.03, 0.03]


def test_every_rate_of_a_sweep_sees_the_same_prompts(tmp_path, monkeypatch):
    seen, errors = [], query_losses.query_errors

    def watched(model, law, count, queries, rng):
        seen.append(rng.bit_generator.state["state"]["state"])
        return errors(model, law, count, queries, rng)

    monkeypatch.setattr(query_training, "query_errors", watched)
    table1.train_entry(FIRST, 0, tmp_path / "t.json", states=tmp_path)
    assert seen[:9] == seen[9:18] and set(seen[18:]).isdisjoint(seen[:18]) and len(seen) in (18 + 16, 18 + 24)


def test_several_trainings_have_a_mean_and_its_error(tmp_path):
    path = tmp_path / "t.json"
    losses = [table1.train_entry(LAST, seed, path, states=tmp_path).mean for seed in (3, 1)]
    table1.train_entry(FIRST, 0, path, states=tmp_path)
    found = table1.committed(path)
    assert list(found) == [FIRST, LAST] and losses[0] != losses[1]
    assert found[LAST].mean == pytest.approx(np.mean(losses))
    assert found[LAST].stderr == pytest.approx(abs(losses[0] - losses[1]) / 2) and found[LAST].count == 2


def test_two_trainings_at_once_are_both_kept(tmp_path, monkeypatch):
    path, tested = tmp_path / "t.json", query_training.tested

    def meanwhile(*arguments):
        monkeypatch.setattr(query_training, "tested", tested)
        table1.train_entry(LAST, 0, path, states=tmp_path)
        return tested(*arguments)

    monkeypatch.setattr(query_training, "tested", meanwhile)
    table1.train_entry(FIRST, 0, path, states=tmp_path)
    assert list(table1.committed(path)) == [FIRST, LAST]


@pytest.mark.parametrize("id", table1.ENTRIES)
def test_each_entry_is_the_printed_one(id, tmp_path, monkeypatch):
    seen, tested = [], query_training.tested
    monkeypatch.setattr(
        query_training, "tested", lambda model, law, *rest: seen.append((model, law)) or tested(model, law, *rest)
    )
    table1.train_entry(id, 0, tmp_path / "t.json", states=tmp_path)
    *_, (model, law) = seen
    assert law.beta_star.tolist() == [0.0 if "zero" in id else 10.0] * 2 and law.sigma2 == 0
    assert any("mlp" in name for name, _ in model.named_parameters()) == ("no_mlp" not in id)
    assert f"printed {table1.ENTRIES[id].printed:g};" in catalogue("04_mlp_benefit")[id]["statement"]


def test_trained_on_the_law_it_is_tested_on_in_units_of_its_labels(tmp_path, monkeypatch):
    laws, errors = [], query_losses.query_errors
    monkeypatch.setattr(
        query_training, "query_errors", lambda model, law, *rest: laws.append((law, model)) or errors(model, law, *rest)
    )
    table1.train_entry(LAST, 0, tmp_path / "t.json", states=tmp_path)
    law, model = laws[-1]
    assert (
        np.array_equal(law.H, np.eye(2)) and np.array_equal(law.Psi, np.eye(2)) and law.beta_star.tolist() == [10, 10]
    )
    assert model.config.label_unit == pytest.approx(np.sqrt(2 + 200))  # E y² = tr Psi + |beta*|²


def test_the_picture_shows_every_training(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    for id, seed in ((FIRST, 0), (LAST, 0), (LAST, 7)):
        table1.train_entry(id, seed, path, states=tmp_path)
    columns, content = pictures.curves(path).columns, read_sealed(path)["entries"]
    names = ("zero_mean_mlp_0", "mean_no_mlp_0", "mean_no_mlp_7")
    assert columns.keys() == {"of_the_mean"} | {name + part for name in names for part in ("", "_step")}
    assert columns["mean_no_mlp_7"].tolist() == content[LAST]["7"]["curve"] != columns["mean_no_mlp_0"].tolist()
    assert columns["mean_no_mlp_7_step"].tolist() == content[LAST]["7"]["steps"]
    assert list(pictures.curves(tmp_path / "none").columns) == ["of_the_mean"]
    assert columns["of_the_mean"].tolist() == [2]


def test_what_is_missing_is_said_with_the_command():
    assert table1.committed(table1.RESULTS.with_name("none.json")) == {}
    missing = NotRun("no result yet: python -m icl train table1 makes one")
    assert table1.results("quick", table1.RESULTS.with_name("none.json")) == dict.fromkeys(table1.ENTRIES, missing)
    with pytest.raises(InputError, match="'table1.mean' is not an entry of Table 1; take one of table1.zero_mean_mlp"):
        table1.train_entry("table1.mean", 0)
    with pytest.raises(InputError, match="seed"):
        table1.train_entry(FIRST, -1)


@pytest.mark.parametrize("loss, flat, decides", [(0.001, False, True), (0.004, False, False), (0.004, True, True)])
def test_a_loss_above_the_printed_one_decides_only_when_settled(tmp_path, monkeypatch, loss, flat, decides):
    monkeypatch.setattr(settling.Stretches, "flat", flat)
    monkeypatch.setattr(query_training, "tested", lambda *rest: Estimate(loss, 0.0001, 4000))
    path = tmp_path / "t.json"
    table1.train_entry(FIRST, 0, path, states=tmp_path, most=2)
    told = "above the printed loss but not settled (0.004 ± 0.0001 raw, mean of 1 training): "
    undecided = NotRun(f"{told}python -m icl train table1 goes on")
    assert table1.results("quick", path)[FIRST] == (Estimate(loss, 0.0001, 4000) if decides else undecided)
    if not decides:
        table1.train_entry(FIRST, 0, path, states=tmp_path)
        assert table1.results("quick", path)[FIRST] == NotRun(f"{told}no longer training is planned")


def test_one_training_that_has_not_settled_leaves_the_entry_open(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    for seed, flat in enumerate((True, False)):
        monkeypatch.setattr(settling.Stretches, "flat", flat)
        table1.train_entry(FIRST, seed, path, states=tmp_path)
    assert "mean of 2 trainings" in table1.results("quick", path)[FIRST].reason


def test_the_order_of_two_entries_decides_when_both_have_settled(tmp_path, monkeypatch):
    path, losses = (
        tmp_path / "t.json",
        {id: Estimate(0.002 * 3**k, 0.0001, 4000) for k, id in enumerate(table1.ENTRIES)},
    )
    assert table1.orders(path) == {
        id: NotRun(f"no training yet of {' and '.join(pair)}: {table1.COMMAND} makes one")
        for id, pair in table1.ORDERS.items()
    }
    for id, flat in zip(table1.ENTRIES, (True, True, True, False), strict=True):
        monkeypatch.setattr(settling.Stretches, "flat", flat)
        monkeypatch.setattr(query_training, "tested", lambda *rest, id=id: losses[id])
        table1.train_entry(id, 0, path, states=tmp_path, most=2)
    found = table1.orders(path)
    zero = found["table1.zero_mean_order"]
    assert zero.mean == pytest.approx(1 / 3) and zero.stderr == pytest.approx(np.hypot(1 / 20, 1 / 60) / 3)
    told = f"not settled: {LAST} (0.33 ± 0.002 so far)"
    assert found["table1.mean_order"] == NotRun(told)


def test_the_floors_of_attention_at_the_size_of_the_table(monkeypatch):
    monkeypatch.undo()  # d = 20, n = 40
    found = table1.floors()
    assert found == pytest.approx(dict(lsa=114.14973, heads=11.872777, ltb=6.8852459, zero=6.8852459), rel=1e-7)


def test_the_table_has_a_row_for_every_training_and_both_units(tmp_path):
    path = tmp_path / "t.json"
    for seed in (0, 1):
        table1.train_entry(LAST, seed, path, states=tmp_path)
    rows, run = pictures.trainings(path).rows, table1.runs(path)[LAST][1]
    assert [row[:4] for row in rows[-2:]] == [("10", "without", "8.871", seed) for seed in "01"] and len(rows) == 5
    assert rows[0][3:] == ("–", "no training yet", "no training yet", "–", "–", "–")
    raw, divided = (float(cell.partition(" ±")[0]) for cell in rows[-1][4:6])
    assert raw == pytest.approx(run["loss"], abs=run["stderr"] / 20)
    assert divided == pytest.approx(1e4 * run["loss"] / 2, abs=1e4 * run["stderr"] / 40)
    assert rows[-1][6] == str(run["steps"][-1]) and rows[-1][8] == ("yes" if run["settled"] else "no")
    page = pictures.trainings(path)._repr_html_()
    assert page.count("<tr>") == 6 and page.count("<td") == 5 * len(pictures.HEAD)


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
    missing = [id for id in table1.ENTRIES if id != FIRST]
    found = table1.results("quick", path)
    none = NotRun(f"no result yet: {table1.COMMAND} makes one")
    assert [id for id in found if found[id] == none] == missing and not trained
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert table1.results("standard", path) == found and not trained
    table1.results("paper", path)
    assert trained == [(id, 0, path, "cuda") for id in missing]


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
    before = without_times(path)
    assert "seed 1: test loss" in run("--seed", "1", "--anew").stdout and without_times(path) == before


def test_a_gpu_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no CUDA GPU"):
        next(trainings.train_table(0, tmp_path / "t.json", device="cuda"))
