"""`icl check`: both tolerances, the owner of what moved, and what may not vanish."""

import json

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, writes

from icl.chapters import CHAPTERS, catalogue
from icl.claims import Claim
from icl.files import read_json, sealed, sha256, write_atomically
from press import baselines, checking, cli
from press.baselines import compare
from press.checking import compare_contents, contents, leeway, margins, shares
from press.layout import BASELINES, ROOT
from press.owners import against_theory, share_of_slack
from press.tolerances import Tolerance

CHAPTER = "01_one_step_gd"


def claim(**changes):
    fields = dict(
        id="thm1.risk", source="s", statement="x.", method="exact", relation="equal", predicted=2.0, measured=2.3,
        stderr=0.1, tolerance=0.5, verdict="holds", reason="", cell=2,
    )  # fmt: skip
    return fields | changes


def save(folder, **changes):
    """A run with one claim, decided in cell 2, and one figure, made in cell 3."""
    table, rtol = changes.pop("table", "x,y\n1,2\n"), changes.pop("rtol", 1e-9)
    write_atomically(folder / CHAPTER / "f.csv", table)
    figure = dict(alt="a", columns=["x", "y"], rows=1, rtol=rtol, sha256={"csv": sha256(table)}, cell=3)
    cells = [
        new_code_cell(source, execution_count=k) for k, source in enumerate(("import x", "decide()\n1", "draw()"), 1)
    ]
    write_atomically(folder / f"{CHAPTER}.ipynb", writes(new_notebook(cells=cells)))
    ledger = dict(chapter=CHAPTER, parameters={}, claims=[claim(**changes)], numbers={"k": 1.5}, figures={"f": figure})
    write_atomically(folder / f"{CHAPTER}.json", sealed(ledger))
    return folder


@pytest.fixture
def run(tmp_path):
    folder = save(tmp_path / "run")
    baselines.write(folder, tmp_path / "baselines" / "quick", CHAPTER)
    return folder, tmp_path / "baselines" / "quick"


def test_a_moved_claim_names_chapter_cell_claim_and_both_tolerances(run):
    folder, committed = run
    save(folder, measured=2.4)
    (move,) = compare(folder, committed, CHAPTER)
    said = str(move)
    assert "claims.thm1.risk [measured]: 2.3 → 2.4" in said and "allowed against the baseline: 2.3e-09" in said
    assert "01_one_step_gd, cell 2 (decide()), claim thm1.risk" in said
    assert "against theory: off by 0.4 (allowed: 1), holds" in said


def test_a_moved_figure_names_its_cell(run):
    folder, committed = run
    save(folder, table="x,y\n1,2.1\n")
    (move,) = compare(folder, committed, CHAPTER)
    assert "f.y [0]: 2 → 2.1" in str(move) and "01_one_step_gd, cell 3 (draw()), figure f" in str(move)


def test_margins_say_how_much_of_both_tolerances_is_used(run):
    folder, committed = run
    save(folder, measured=2.3 * (1 + 5e-10))
    said = str(margins(folder, committed, CHAPTER))
    assert "50 % (claims.thm1.risk) of the drift allowed" in said
    assert "at most 30 % (thm1.risk) of tolerance and 5 standard errors" in said


def test_shares():
    tolerance = Tolerance(0.1)
    found = shares(np.array([1.05, 0.0, 1.0, np.nan]), np.array([1.0, 0.0, 0.0, np.nan]), tolerance)
    assert found.tolist() == pytest.approx([0.5, 0.0, 1e14])


def test_leeway_is_what_a_number_may_move_by_as_a_share_of_its_size(run, monkeypatch):
    monkeypatch.setattr(baselines, "measured", lambda chapter: {"f.y": {"absolute": 0.02, "relative": 0.01}})
    folder, _ = run
    save(folder, table="x,y\n1,2\n0,4\n-inf,1e-9\n", rtol=1e-5)
    baselines.write(folder, folder / "b", CHAPTER)
    found = leeway(folder, folder / "b", CHAPTER)
    assert found["f.x"].tolist() == pytest.approx([1e-5, 0, 0], rel=1e-4)
    assert found["f.y"].tolist() == pytest.approx([0.1, 0.05, 0], rel=1e-4), "a billionth may be rounding"
    assert found["claims.thm1.risk"].tolist() == pytest.approx([1e-9, 1e-9, 1e-9])
    assert leeway(folder, folder / "none", CHAPTER) == {}
    save(folder, predicted=0.0, measured=0.1)
    baselines.write(folder, folder / "b", CHAPTER)
    assert leeway(folder, folder / "b", CHAPTER)["claims.thm1.risk"].tolist() == pytest.approx([0, 1e-9, 1e-9])
    save(folder, predicted=0.0, measured=1e-6, stderr=0.0)
    baselines.write(folder, folder / "b", CHAPTER)
    assert leeway(folder, folder / "b", CHAPTER)["claims.thm1.risk"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "changes, share",
    [
        (dict(relation="at most"), 0.3),
        (dict(relation="at least"), 0.0),
        (dict(stderr=0.0, tolerance=0.0), np.inf),
        (dict(measured=2.0, stderr=0.0, tolerance=0.0), 0.0),
    ],
)
def test_shares_of_what_theory_allows(changes, share):
    assert share_of_slack(Claim(**claim(**changes))) == pytest.approx(share)


def test_a_claim_not_run_has_no_distance():
    skipped = Claim(**claim(verdict="not run at this profile", predicted=None, measured=None, stderr=None))
    assert np.isnan(share_of_slack(skipped)) and "not run" in against_theory(skipped)


def test_the_committed_list_is_that_of_the_book():
    """A page, a chapter, a figure or a claim that vanishes is missed: figures and claims are in the baselines."""
    assert read_json(BASELINES / "contents.json") == contents()
    assert compare_contents(BASELINES, "quick") == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_catalogued_claim_has_a_baseline(chapter):
    header = (BASELINES / "quick" / chapter / "claims.csv").read_text().splitlines()[0]
    assert header.split(",")[1:] == list(catalogue(chapter))


def test_what_vanishes_is_missed(tmp_path, monkeypatch):
    committed = tmp_path / "baselines"
    (committed / "quick" / "07_gone").mkdir(parents=True)
    content = contents()
    content["pages"].append("book/gone")
    (committed / "contents.json").write_text(json.dumps(content))
    monkeypatch.setitem(CHAPTERS, "08_new", CHAPTERS[CHAPTER])
    said = [str(move) for move in compare_contents(committed, "quick")]
    assert "page book/gone: vanished" in said
    assert any(line.startswith("chapter 08_new: is new") for line in said)
    assert "baselines of 07_gone: belong to no chapter; delete them" in said


def test_check_fails_when_a_page_vanishes(run, tmp_path, monkeypatch, capsys):
    folder, _ = run
    monkeypatch.setattr(cli, "CHAPTERS", {CHAPTER: CHAPTERS[CHAPTER]})
    monkeypatch.setattr(cli, "BASELINES", tmp_path / "baselines")
    monkeypatch.setattr(cli, "run_folder", lambda profile: folder)
    content = contents()
    write_atomically(tmp_path / "baselines" / "contents.json", json.dumps(content))
    assert cli.commands.main(["check"], standalone_mode=False) is None
    assert "Every number is where its baseline is." in capsys.readouterr().out
    pages = [page for page in content["pages"] if page != "book/claims"]
    monkeypatch.setattr(checking, "contents", lambda: content | {"pages": pages})
    with pytest.raises(SystemExit, match="1"):
        cli.commands.main(["check"], standalone_mode=False)
    assert "page book/claims: vanished" in capsys.readouterr().out


def test_the_manifest_lists_every_figure():
    assert (ROOT / "codecheck.yml").read_text(encoding="utf-8") == checking.codecheck()
    assert checking.codecheck().count("file: _build/run/quick/") > 20
