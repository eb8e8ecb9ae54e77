"""Comparison with the baselines: what is noticed, and what is drift."""

import json

import pytest

from icl.files import write_atomically
from icl.validation import InputError
from icl.workflow import baselines
from icl.workflow.baselines import compare, read_csv, tables

CHAPTER = "01_one_step_gd"


@pytest.fixture
def run(tmp_path):
    """A small run with one claim and one figure, and baselines that equal it."""
    folder = tmp_path / "run"
    claim = dict(
        id="thm1.risk", source="s", statement="x.", method="exact", relation="equal",
        predicted=1.0, measured=1.0, stderr=0.0, tolerance=0.0, verdict="holds", reason="",
    )  # fmt: skip
    figure = dict(alt="a", columns=["x", "y"], rows=2, rtol=1e-9, atol=0.0)
    ledger = dict(chapter=CHAPTER, parameters={}, claims=[claim], numbers={}, figures={"f": figure})
    write_atomically(folder / f"{CHAPTER}.json", json.dumps(ledger))
    write_atomically(folder / CHAPTER / "f.csv", "x,y\n1,nan\n2,inf\n")
    baselines.write(folder, tmp_path / "baselines", CHAPTER)
    return folder, tmp_path / "baselines", ledger


def test_nothing_moved(run):
    folder, committed, _ = run
    assert compare(folder, committed, CHAPTER) == []
    assert [table.name for table in tables(folder, CHAPTER)] == ["claims", "f"]


def test_drift_is_allowed_and_a_move_is_named(run):
    folder, committed, _ = run
    write_atomically(folder / CHAPTER / "f.csv", "x,y\n1.0000000001,nan\n2,inf\n")
    assert compare(folder, committed, CHAPTER) == []
    write_atomically(folder / CHAPTER / "f.csv", "x,y\n1.00000001,nan\n2,inf\n")
    (move,) = compare(folder, committed, CHAPTER)
    assert "f.x [0]: 1 → 1.00000001, a move of 1e-08 (allowed: 1e-09)" in str(move)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x,y\n1,nan\n2,7\n", "inf → 7"),
        ("x,y\n1,0\n2,inf\n", "nan → 0"),
        ("x,z\n1,nan\n2,inf\n", "columns were"),
        ("x,y\n1,nan\n2,inf\n3,4\n", "had 2 rows and has 3"),
    ],
)
def test_what_else_is_noticed(run, text, message):
    folder, committed, _ = run
    write_atomically(folder / CHAPTER / "f.csv", text)
    assert any(message in str(move) for move in compare(folder, committed, CHAPTER))


def test_a_claim_that_is_no_longer_run_is_noticed(run):
    folder, committed, ledger = run
    ledger["claims"][0].update(verdict="not run at this profile", predicted=None, measured=None, stderr=None)
    write_atomically(folder / f"{CHAPTER}.json", json.dumps(ledger))
    assert any("claims.thm1.risk [verdict]: 1 → 2" in str(move) for move in compare(folder, committed, CHAPTER))


def test_figures_that_vanish_or_appear(run):
    folder, committed, ledger = run
    ledger["figures"]["g"] = ledger["figures"].pop("f")
    (folder / CHAPTER / "f.csv").rename(folder / CHAPTER / "g.csv")
    write_atomically(folder / f"{CHAPTER}.json", json.dumps(ledger))
    messages = " ".join(map(str, compare(folder, committed, CHAPTER)))
    assert "f: is in the baselines but not" in messages and "g: is in this run but not" in messages


def test_damage_is_one_sentence(run):
    folder, committed, _ = run
    write_atomically(folder / CHAPTER / "f.csv", "x,y\n1,two\n")
    with pytest.raises(InputError, match="f.csv cannot be read"):
        compare(folder, committed, CHAPTER)
    write_atomically(folder / f"{CHAPTER}.json", "{")
    with pytest.raises(InputError, match="is damaged"):
        compare(folder, committed, CHAPTER)
    with pytest.raises(InputError, match="make book"):
        compare(folder / "none", committed, CHAPTER)
    with pytest.raises(InputError, match="make baselines"):
        compare(folder, committed / "none", CHAPTER)


def test_read_back(tmp_path):
    write_atomically(tmp_path / "t.csv", "a,b\n1,\n2,3\n")
    assert read_csv(tmp_path / "t.csv")["b"].tolist() == [3.0]
