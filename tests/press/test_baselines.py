"""Comparison with the baselines: what is noticed, and what is drift."""

from copy import deepcopy

import pytest
from small_run import CHAPTER, save, small_run

from icl.files import sealed, write_atomically
from icl.validation import InputError
from press import baselines
from press.baselines import compare, read_csv, tables


@pytest.fixture
def run(tmp_path):
    """A small run with one claim and one figure, and baselines that equal it."""
    folder = tmp_path / "run"
    ledger = small_run(folder)
    baselines.write(folder, tmp_path / "baselines", CHAPTER)
    return folder, tmp_path / "baselines", ledger


def test_nothing_moved(run):
    folder, committed, _ = run
    assert compare(folder, committed, CHAPTER) == []
    assert [table.name for table in tables(folder, CHAPTER)] == ["claims", "f"]


def test_drift_is_allowed_and_a_move_is_named(run):
    folder, committed, ledger = run
    save(folder, ledger, "x,y\n1.0000000001,nan\n2,inf\n")
    assert compare(folder, committed, CHAPTER) == []
    save(folder, ledger, "x,y\n1.00000001,nan\n2,inf\n")
    (move,) = compare(folder, committed, CHAPTER)
    assert "f.x [0]: 1 → 1.00000001, a move of 1e-08 (allowed against the baseline: 1e-09)" in str(move)


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
    folder, committed, ledger = run
    save(folder, ledger, text)
    assert any(message in str(move) for move in compare(folder, committed, CHAPTER))


def test_a_claim_that_is_no_longer_run_is_noticed(run):
    folder, committed, ledger = run
    ledger["claims"][0].update(verdict="not run at this profile", predicted=None, measured=None, stderr=None)
    save(folder, ledger)
    assert any("claims.thm1.risk [verdict]: 1 → 2" in str(move) for move in compare(folder, committed, CHAPTER))


def test_figures_that_vanish_or_appear(run):
    folder, committed, ledger = run
    ledger["figures"]["g"] = ledger["figures"].pop("f")
    (folder / CHAPTER / "f.csv").rename(folder / CHAPTER / "g.csv")
    save(folder, ledger)
    messages = " ".join(map(str, compare(folder, committed, CHAPTER)))
    assert "f: is in the baselines but not" in messages and "g: is in this run but not" in messages


def test_damage_is_one_sentence(run):
    folder, committed, ledger = run
    save(folder, ledger, "x,y\n1,two\n")
    with pytest.raises(InputError, match="f.csv of 01_one_step_gd cannot be read"):
        compare(folder, committed, CHAPTER)
    write_atomically(folder / f"{CHAPTER}.json", "{")
    with pytest.raises(InputError, match="is damaged"):
        compare(folder, committed, CHAPTER)
    with pytest.raises(InputError, match="make book"):
        compare(folder / "none", committed, CHAPTER)
    with pytest.raises(InputError, match="make baselines"):
        compare(folder, committed / "none", CHAPTER)


def test_read_back(tmp_path):
    write_atomically(tmp_path / "t.csv", "a,b\n1,3\n2,\n")
    assert read_csv(tmp_path / "t.csv")["b"].tolist() == [3.0]


@pytest.mark.parametrize(
    "text", ["", "a\n", "a,b\n1,\n2,3\n", "a,b\n1\n", "a,b\n1,2,3\n", "a,a\n1,2\n", "a\n\0\n", "a\n1_x\n"]
)
def test_tables_that_are_refused(tmp_path, text):
    write_atomically(tmp_path / "t.csv", text)
    with pytest.raises(InputError, match="t.csv cannot be read as a table of numbers"):
        read_csv(tmp_path / "t.csv")


def test_a_claim_may_drift_as_far_as_its_method_allows(run, monkeypatch):
    """1e-9 of an exact claim's size; its standard error, which is 0, by rounding."""
    monkeypatch.setattr(baselines, "measured", lambda chapter: {})
    folder, committed, ledger = run
    for key, moved, noticed in (
        ("measured", 1 + 9e-10, False),
        ("measured", 1 + 2e-9, True),
        ("stderr", 9e-15, False),
        ("stderr", 2e-14, True),
    ):
        content = deepcopy(ledger)
        content["claims"][0][key] = moved
        write_atomically(folder / f"{CHAPTER}.json", sealed(content))
        assert bool(compare(folder, committed, CHAPTER)) == noticed, (key, moved)


def test_a_number_that_was_seen_to_move_may_move_ten_times_as_far(run, monkeypatch):
    moves = {"f.x": {"absolute": 1e-3, "relative": 1e-3}, "claims.thm1.risk": {"absolute": [0.0, 1e-3, 0.0, 1.0]}}
    monkeypatch.setattr(baselines, "measured", lambda chapter: moves)
    folder, committed, ledger = run
    content = deepcopy(ledger)
    content["figures"]["f"]["rtol"] = 1e-5
    content["claims"][0] |= {"measured": 1.009, "method": "trained"}
    save(folder, content, "x,y\n1.009,nan\n2.009,inf\n")
    assert compare(folder, committed, CHAPTER) == []
    content["claims"][0] |= {"measured": 1.011, "verdict": "fails"}
    save(folder, content, "x,y\n1.011,nan\n2.009,inf\n")
    places = [str(move).partition(":")[0] for move in compare(folder, committed, CHAPTER)]
    assert places == [f"{CHAPTER} claims.thm1.risk [{row}]" for row in ("measured", "verdict")] + [f"{CHAPTER} f.x [0]"]
