"""The ledger: what is decided, completeness, bytes; and read back: counted, shown, and refused where damaged."""

import json
import math
import re

import fake_run
import numpy as np
import pytest

from icl import ledger as ledgers
from icl.chapters import CHAPTERS, catalogue, check_parameters, read_all, read_ledger
from icl.claims import DRIFT, FAILS, HOLDS, NOT_RUN, UNDECIDED
from icl.estimates import Estimate, NotRun
from icl.files import read_sealed, sealed, write_atomically
from icl.ledger import Ledger, running_cell
from icl.randomness import Streams
from icl.validation import InputError

CHAPTER = "01_one_step_gd"
ENTRY = {"source": "s", "statement": "x < y & z", "method": "exact", "relation": "equal", "fails": "too small."}
CATALOGUE = {
    "a.equal": {**ENTRY, "rtol": 0.1, "atol": 0.5},
    "a.most": {**ENTRY, "rtol": 0.0, "atol": 0.0, "relation": "at most"},
    "a.least": {**ENTRY, "rtol": 0.0, "atol": 0.0, "relation": "at least"},
}


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("ICL_OUT", str(tmp_path))
    return Ledger(CHAPTER, check_parameters(CHAPTER), CATALOGUE, Streams(CHAPTER, 0))


def test_numbers_estimates_and_what_was_not_run_are_decided_in_one_call(ledger):
    found = ledger.claims(
        {
            "a.least": (None, NotRun("needs a GPU")),
            "a.equal": (np.float64(-10), -11.5),
            "a.most": (1, Estimate(1.2, 0.125, 10)),
        }
    )
    skipped, equal, most = found
    assert (skipped.verdict, skipped.reason, skipped.predicted) == (NOT_RUN, "needs a GPU", None)
    assert (equal.verdict, equal.tolerance, equal.stderr) == (HOLDS, 1.5, 0.0), "0.1 · |−10| + 0.5"
    assert (most.verdict, most.measured, most.stderr, most.reason) == (UNDECIDED, 1.2, 0.125, "")
    assert found._repr_html_().count("<tr>") == 4


def test_the_error_of_a_sampled_prediction_counts_too(ledger):
    (claim,) = ledger.claims({"a.equal": (Estimate(2.0, 0.3, 10), Estimate(2.5, 0.4, 10))})
    assert (claim.predicted, claim.measured, claim.stderr) == (2.0, 2.5, pytest.approx(0.5))


def test_a_failing_claim_carries_the_published_reason(ledger):
    failing, holding = ledger.claims({"a.least": (1, 0), "a.most": (1, math.pi / 4)})
    assert (failing.verdict, failing.reason, holding.verdict, holding.reason) == (FAILS, "too small.", HOLDS, "")


def test_a_near_miss_has_words_and_a_number(ledger, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "a.equal", CATALOGUE["a.equal"] | {"near_miss": "n for n + 1"})
    for claim in ({"a.equal": (1, 1)}, {"a.most": (1, 1, 2)}):
        with pytest.raises(InputError, match="its words in chapter.toml go together"):
            ledger.claims(claim)
    skipped = ledger.claims({"a.equal": (1, NotRun("why not"), 2)})[0]
    assert (skipped.near, skipped.near_miss) == (None, "n for n + 1")


def test_a_near_miss_is_kept(ledger, tmp_path, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "a.equal", CATALOGUE["a.equal"] | {"near_miss": "n for n + 1"})
    ledger.claims({"a.equal": (1, 1.5, np.float64(2)), "a.most": (1, 1), "a.least": (1, 1)})
    ledger.save()
    claim = ledgers.claims_of(read_ledger(tmp_path, CHAPTER))[0]
    assert (claim.near, claim.near_miss, claim.tolerance) == (2.0, "n for n + 1", 0.6)


@pytest.mark.parametrize("stderr", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 1])
def test_error_bars_must_make_sense(ledger, stderr, place):
    pair = [1, 1]
    pair[place] = Estimate(1, stderr, 10)
    with pytest.raises(InputError, match=f"standard error must .*, not {stderr}"):
        ledger.claims({"a.equal": pair})


@pytest.mark.parametrize("measured", [None, "three", np.ones(2)])
def test_what_is_no_number_is_refused(ledger, measured):
    with pytest.raises(InputError, match="a.equal: give a number, an Estimate or NotRun"):
        ledger.claims({"a.equal": (1, measured)})


def test_no_claim_may_be_left_out_or_decided_twice(ledger):
    ledger.claims({"a.equal": (1, 1)})
    with pytest.raises(InputError, match="leaves claims out: a.most, a.least"):
        ledger.save()
    with pytest.raises(InputError, match="decided twice"):
        ledger.claims({"a.equal": (1, NotRun("why not"))})
    with pytest.raises(InputError, match="not in the catalogue"):
        ledger.claims({"a.other": (1, 1)})


def test_file_has_every_claim_in_catalogue_order(ledger, tmp_path):
    ledger.claims({"a.least": (1, NotRun("needs a GPU")), "a.most": (1, Estimate(0.5, 0.1, 10)), "a.equal": (1, 1)})
    ledger.number("size", 3)
    ledger.save()
    content = json.loads((tmp_path / f"{CHAPTER}.json").read_text())
    assert [claim["id"] for claim in content["claims"]] == ["a.equal", "a.most", "a.least"]
    assert content["claims"][2]["verdict"] == NOT_RUN and content["claims"][2]["measured"] is None
    assert content["numbers"] == {"size": 3.0}
    assert content["parameters"]["d"] == 5
    assert list(content) == ["chapter", "parameters", "claims", "numbers", "figures", "streams", "sha256"]


def test_numbers_that_are_not_finite_are_text_in_the_file_and_numbers_again_when_read(ledger, tmp_path):
    ledger.claims({"a.least": (1, math.inf), "a.most": (1, math.nan), "a.equal": (1, 1)})
    ledger.number("size", -math.inf)
    ledger.save()
    content = json.loads((tmp_path / f"{CHAPTER}.json").read_text())
    assert [claim["measured"] for claim in content["claims"]] == [1.0, "nan", "inf"]
    found = read_ledger(tmp_path, CHAPTER)
    assert found["numbers"] == {"size": -math.inf} and math.isnan(found["claims"][1]["measured"])
    assert [claim.verdict for claim in ledgers.claims_of(found)] == [HOLDS, FAILS, HOLDS]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_catalogues_are_complete(chapter):
    for id, entry in catalogue(chapter).items():
        fields = {"source", "statement", "method", "relation", "rtol", "atol", "headline", "fails"}
        fields |= {"near_miss", "cannot_tell"}
        assert set(entry) == fields, id
        assert entry["method"] in DRIFT and entry["relation"] in ("equal", "at most", "at least"), id
        assert entry["statement"].endswith("."), id
        if entry["method"] == "exact" and not re.search("slope|tends to|L-BFGS finds .* near", entry["statement"]):
            assert entry["rtol"] <= 1e-3 and entry["atol"] <= 1e-3, f"{id}: an exact claim needs a tight tolerance"


def test_the_running_cell_is_the_one_the_notebook_numbers():
    """In a real kernel: IPython's own counter is one ahead there."""
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    cells = ["from icl.ledger import running_cell", "print(running_cell())", "for _ in 'ab': print(running_cell())"]
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(notebook, kernel_name="python3", startup_timeout=180).execute()
    for cell in notebook.cells[1:]:
        assert {int(word) for word in cell.outputs[0].text.split()} == {cell.execution_count}
    assert running_cell() is None


@pytest.mark.parametrize(
    "verdict, words",
    [(HOLDS, "1 holds"), (UNDECIDED, "1 is undecided"), (FAILS, "1 fails"), (NOT_RUN, "1 was not run")],
)
def test_verdicts_are_counted_and_failures_found(tmp_path, verdict, words):
    fake_run.write(tmp_path, verdict=verdict, reason="no GPU")
    first, *others = read_all(tmp_path)
    assert ledgers.summary([first]).startswith(f"1 claim: {words}")
    assert len(ledgers.failures([first, *others], explained=True)) == (verdict == FAILS)
    assert ledgers.failures([first, *others], explained=False) == []
    fake_run.write(tmp_path, verdict=verdict, reason="")
    assert len(ledgers.failures(read_all(tmp_path), explained=False)) == (verdict == FAILS)
    assert ledgers.failures(others, explained=False) == []
    assert ledgers.summary(others) == f"{len(others)} claims: {len(others)} hold."


def test_a_line_for_every_claim():
    content = fake_run.ledger(CHAPTER)
    assert ledgers.table(content).splitlines() == [f"  {claim}" for claim in ledgers.claims_of(content)]
    assert "1.5 predicted, 1.25 ± 0.1 measured" in ledgers.table(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content["claims"][0].pop("verdict"),
        lambda content: content["claims"][0].update(colour="red"),
        lambda content: content["claims"][0].update(verdict="perhaps"),
        lambda content: content["claims"][0].update(measured="1.25"),
        lambda content: content["parameters"].update(d=0),
        lambda content: content.pop("figures"),
        lambda content: content.pop("numbers"),
    ],
)
def test_damage_is_refused(tmp_path, damage):
    fake_run.write(tmp_path)
    path = tmp_path / f"{CHAPTER}.json"
    content = read_sealed(path)
    damage(content)
    write_atomically(path, sealed(content))
    with pytest.raises(InputError, match="is damaged .*; delete it and run the chapter again"):
        read_all(tmp_path)
