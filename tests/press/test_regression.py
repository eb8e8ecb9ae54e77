"""The gate of the numbers: what is drift, what is noticed, who is named, and what becomes the new baseline."""

from copy import deepcopy

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, writes
from small_run import CHAPTER, CLAIM, save, small_run

from icl.chapters import CHAPTERS, catalogue
from icl.claims import Claim
from icl.files import dumps, read_json, write_atomically
from icl.validation import InputError
from press import regression, tolerances
from press.layout import BASELINES
from press.regression import Column, Comparison, compare, report, share_of_slack
from press.tolerances import Tolerance


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A small run with one claim and one figure, and baselines that equal it; no drift was ever measured."""
    monkeypatch.setattr(tolerances, "measured", lambda chapter: {})
    ledger = small_run(tmp_path / "run")
    regression.write(tmp_path / "run", tmp_path / "baselines", CHAPTER)
    return tmp_path / "run", tmp_path / "baselines", ledger


def told(run, **everything) -> str:
    return "\n".join(report([compare(*run[:2], CHAPTER)], **everything))


def test_nothing_moved(run):
    found = compare(*run[:2], CHAPTER)
    assert report([found]) == [] and found.count == 0
    assert [f"{column.table}.{column.name}" for column in found.columns] == ["claims.thm1.risk", "f.x", "f.y"]


def test_drift_is_allowed_and_a_move_is_named(run):
    save(run[0], run[2], "x,y\n1.0000000001,nan\n2,inf\n")
    assert told(run) == ""
    save(run[0], run[2], "x,y\n1.00000001,nan\n2,inf\n")
    assert "1 number of 1 column moved further than allowed:" in told(run)
    assert "[0] 1 → 1.00000001, a move of 1e-08 (allowed: 1e-09)" in told(run)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x,y\n1,nan\n2,7\n", "[1] inf → 7"),
        ("x,y\n1,0\n2,inf\n", "[0] nan → 0"),
        ("x,z\n1,nan\n2,inf\n", "f: columns were others, or in another order (vanished: y; new: z)"),
        ("y,x\nnan,1\ninf,2\n", "f: columns were others, or in another order (vanished: none; new: none)"),
        ("x,y\n1,nan\n2,inf\n3,4\n", "f.x: had 2 rows and has 3"),
    ],
)
def test_what_else_is_noticed(run, text, message):
    save(run[0], run[2], text)
    assert message in told(run)


def test_figures_that_vanish_or_appear(run):
    run[2]["figures"]["g"] = run[2]["figures"].pop("f")
    (run[0] / CHAPTER / "f.csv").rename(run[0] / CHAPTER / "g.csv")
    save(run[0], run[2])
    assert "f: is in the baselines but not in this run" in told(run)
    assert "g: is in this run but not in the baselines" in told(run)


def test_damage_is_one_sentence(run):
    folder, committed, ledger = run
    save(folder, ledger, "x,y\n1,two\n")
    with pytest.raises(InputError, match="f.csv of 01_one_step_gd cannot be read"):
        compare(folder, committed, CHAPTER)
    write_atomically(folder / f"{CHAPTER}.json", "{")
    with pytest.raises(InputError, match="is damaged"):
        compare(folder, committed, CHAPTER)
    with pytest.raises(InputError, match=f"run {CHAPTER} --out {folder / 'none'}`"):
        compare(folder / "none", committed, CHAPTER)
    small_run(folder)
    with pytest.raises(InputError, match="make baselines"):
        compare(folder, committed / "none", CHAPTER)


@pytest.mark.parametrize(
    "key, value, noticed",
    [("measured", 1 + 9e-10, False), ("measured", 1 + 2e-9, True), ("stderr", 9e-15, False), ("stderr", 2e-14, True)],
)
def test_a_claim_may_drift_as_far_as_its_method_allows(run, key, value, noticed):
    """1e-9 of an exact claim's size; its standard error, which is 0, by rounding."""
    run[2]["claims"][0][key] = value
    save(run[0], run[2])
    assert bool(told(run)) == noticed


def test_a_number_that_was_seen_to_move_may_move_ten_times_as_far(run, monkeypatch):
    moves = {"f.x": {"absolute": 1e-3, "relative": 1e-3}, "claims.thm1.risk": {"absolute": [0.0, 1e-3, 0.0, 1.0]}}
    monkeypatch.setattr(tolerances, "measured", lambda chapter: moves)
    content = deepcopy(run[2])
    content["figures"]["f"]["rtol"] = 1e-5
    content["claims"][0] |= {"measured": 1.009, "method": "trained"}
    save(run[0], content, "x,y\n1.009,nan\n2.009,inf\n")
    assert told(run) == ""
    content["claims"][0] |= {"measured": 1.011, "verdict": "fails"}
    save(run[0], content, "x,y\n1.011,nan\n2.009,inf\n")
    assert compare(*run[:2], CHAPTER).count == 3, "a verdict, a claim's number, a figure's"


def test_verdicts_come_first_and_each_number_names_its_cell(run):
    """Chapter, cell, claim, and both tolerances."""
    run[2]["claims"][0] |= {"measured": 1.5, "tolerance": 0.25, "verdict": "fails", "cell": 2}
    run[2]["figures"]["f"]["cell"] = 3
    save(run[0], run[2], "x,y\n1,nan\n2.5,inf\n")
    cells = [new_code_cell(source, execution_count=k) for k, source in enumerate(("x", "decide()\n1", "draw()"), 1)]
    write_atomically(run[0] / f"{CHAPTER}.ipynb", writes(new_notebook(cells=cells)))
    assert told(run).splitlines() == [
        "1 verdict changed: 01_one_step_gd thm1.risk (holds → fails).",
        "2 numbers of 2 columns moved further than allowed:",
        "  01_one_step_gd claims.thm1.risk, cell 2 (decide()); against theory: off by 0.5 (allowed: 0.25), fails",
        "    [measured] 1 → 1.5, a move of 0.5 (allowed: 1e-09)",
        "  01_one_step_gd f.x, cell 3 (draw())",
        "    [1] 2 → 2.5, a move of 0.5 (allowed: 2e-09)",
    ]
    run[2]["claims"][0].update(verdict="not run at this profile", predicted=None, measured=None, stderr=None)
    save(run[0], run[2])
    assert "thm1.risk (holds → not run at this profile)" in told(run) and "theory: not run" in told(run)


def test_a_flood_is_cut_to_the_columns_that_moved_most():
    columns = [
        Column("f", f"x{k}", [0, 1], np.array([1 + 10.0**-k, 2.0 + 10.0**-k]), np.array([1.0, 2.0]), Tolerance(1e-20))
        for k in range(12)
    ]
    found = Comparison(CHAPTER, [], columns, [], {"f": "cell 1 (draw())"})
    short, whole = report([found]), report([found], everything=True)
    assert short[0] == "24 numbers of 12 columns moved further than allowed:"
    assert short[1].startswith(f"  {CHAPTER} f.x0 (and 1 more), cell 1") and len(short) == 2 + 2 * regression.SHOWN
    assert short[-1] == "  … and 2 more columns; --all shows every number."
    assert len(whole) == 1 + 3 * 12 and "f.x11" in "".join(whole)
    old, new = np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    claims = [Column("claims", f"c{k}", tolerances.CLAIM_ROWS, new, old, Tolerance(1e-9)) for k in range(25)]
    found = Comparison(CHAPTER, [], claims, [], {})
    assert report([found])[0].startswith("25 verdicts changed: ") and report([found])[0].endswith(" and 5 more.")
    assert "c24 (holds → fails)" in report([found], everything=True)[0]


def test_how_much_of_both_tolerances_is_used(run):
    claim = dict(predicted=2.0, measured=2.3, stderr=0.1, tolerance=0.5)
    run[2]["claims"] = [CLAIM | claim, CLAIM | claim | dict(id="far", measured=99.0, verdict="fails")]
    save(run[0], run[2])
    regression.write(*run[:2], CHAPTER)
    run[2]["claims"][0]["measured"] = 2.3 * (1 + 5e-10)
    save(run[0], run[2])
    said = str(compare(*run[:2], CHAPTER))
    assert "10 numbers against the baseline, at most 50 % (claims.thm1.risk) of the drift allowed" in said
    assert "2 claims against theory, at most 30 % (thm1.risk) of tolerance and 5 standard errors, but for 1 pub" in said


def test_leeway_is_what_a_number_may_move_by_as_a_share_of_its_size():
    def leeway(old, tolerance, table="f"):
        return Column(table, "x", [], np.array(old), np.array(old), tolerance).leeway.tolist()

    assert leeway([1.0, 0.0, -np.inf], Tolerance(1e-5)) == pytest.approx([1e-5, 0, 0])
    seen = Tolerance(1e-5, absolute=0.02, relative=0.01)
    assert leeway([2.0, 4.0, 1e-9], seen) == pytest.approx([0.1, 0.05, 0], rel=1e-4), "a billionth may be rounding"
    assert leeway([2.0, 2.3, 0.1, 1.0], Tolerance(1e-9), "claims") == pytest.approx([1e-9] * 3), "no verdict counts"
    assert leeway([0.0, 1e-6, 0.0, 1.0], Tolerance(1e-9, scale=1.0), "claims") == [0, 0, 0]


@pytest.mark.parametrize(
    "changes, share",
    [
        (dict(relation="at most"), 0.3),
        (dict(relation="at least"), 0.0),
        (dict(stderr=0.0, tolerance=0.0), np.inf),
        (dict(measured=2.0, stderr=0.0, tolerance=0.0), 0.0),
        (dict(verdict="not run at this profile"), np.nan),
    ],
)
def test_shares_of_what_theory_allows(changes, share):
    claim = CLAIM | dict(predicted=2.0, measured=2.3, stderr=0.1, tolerance=0.5)
    assert share_of_slack(Claim(**claim | changes)) == pytest.approx(share, nan_ok=True)


def test_a_new_baseline_keeps_how_it_was_made_but_not_of_which_files(run):
    write_atomically(run[0] / f"{CHAPTER}.provenance.json", dumps({"seconds": 3.5, "sources": {"icl/x.py": "0"}}))
    regression.write(*run[:2], CHAPTER)
    assert read_json(run[1] / CHAPTER / "provenance.json") == {"seconds": 3.5}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_catalogued_claim_has_a_baseline(chapter):
    header = (BASELINES / "quick" / chapter / "claims.csv").read_text().splitlines()[0]
    assert header.split(",")[1:] == list(catalogue(chapter))
