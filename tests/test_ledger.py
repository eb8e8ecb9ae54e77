"""The ledger: verdicts, completeness, escaping, bytes."""

import json
import math
import re

import pytest

from icl.chapters import CHAPTERS, catalogue, check_parameters
from icl.estimates import Estimate
from icl.ledger import DRIFT, FAILS, HOLDS, NOT_RUN, Ledger, running_cell
from icl.validation import InputError

CHAPTER = "01_one_step_gd"
ENTRY = {
    "source": "s",
    "statement": "x < y & z",
    "method": "exact",
    "relation": "equal",
    "fails": "",
}


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("ICL_OUT", str(tmp_path))
    ledger = Ledger(CHAPTER, check_parameters(CHAPTER), catalogue(CHAPTER))
    ledger._catalogue = {
        "a.equal": {**ENTRY, "rtol": 0.1, "atol": 0.5},
        "a.most": {**ENTRY, "rtol": 0.0, "atol": 0.0, "relation": "at most"},
        "a.least": {**ENTRY, "rtol": 0.0, "atol": 0.0, "relation": "at least"},
    }
    return ledger


@pytest.mark.parametrize(
    "id, predicted, measured, stderr, verdict",
    [
        ("a.equal", 10, 11.5, 0, HOLDS),  # 0.1 · 10 + 0.5 is just enough
        ("a.equal", 10, 11.6, 0, FAILS),
        ("a.equal", -10, -11.5, 0, HOLDS),
        ("a.equal", 10, 12.4, 0.2, HOLDS),  # five standard errors on top
        ("a.equal", 10, 12.6, 0.2, FAILS),
        ("a.equal", 10, math.nan, 0, FAILS),
        ("a.equal", 10, math.inf, 0, FAILS),
        ("a.most", 1, -5, 0, HOLDS),
        ("a.most", 1, 1.01, 0, FAILS),
        ("a.least", 1, 5, 0, HOLDS),
        ("a.least", 1, 0.99, 0, FAILS),
    ],
)
def test_verdicts(ledger, id, predicted, measured, stderr, verdict):
    assert ledger.decide(id, predicted=predicted, measured=measured, stderr=stderr).verdict == verdict


@pytest.mark.parametrize("stderr", [-1.0, math.nan, math.inf])
def test_error_bars_must_make_sense(ledger, stderr):
    with pytest.raises(InputError, match="standard error"):
        ledger.decide("a.equal", predicted=1, measured=1, stderr=stderr)


def test_a_failing_claim_says_why_and_a_holding_one_does_not(ledger):
    ledger._catalogue = {id: entry | {"fails": "too <small>."} for id, entry in ledger._catalogue.items()}
    failing = ledger.decide("a.least", predicted=1, measured=0)
    assert failing.reason == "too <small>." and str(failing).endswith("(too <small>.)")
    assert "Why it fails: too &lt;small&gt;." in failing._repr_html_()
    holding = ledger.decide("a.most", predicted=1, measured=0)
    assert holding.reason == "" and "Why" not in holding._repr_html_()


def test_no_claim_may_be_left_out_or_decided_twice(ledger):
    ledger.decide("a.equal", predicted=1, measured=1)
    with pytest.raises(InputError, match="undecided: a.most, a.least"):
        ledger.save()
    with pytest.raises(InputError, match="decided twice"):
        ledger.not_run("a.equal", "why not")
    with pytest.raises(InputError, match="not in the catalogue"):
        ledger.decide("a.other", predicted=1, measured=1)


def test_file_has_every_claim_in_catalogue_order(ledger, tmp_path):
    ledger.not_run("a.least", "needs a GPU")
    ledger.decide_estimate("a.most", predicted=1, estimate=Estimate(0.5, 0.1, 10))
    ledger.decide("a.equal", predicted=1, measured=1)
    ledger.number("size", 3)
    ledger.save()
    content = json.loads((tmp_path / f"{CHAPTER}.json").read_text())
    assert [claim["id"] for claim in content["claims"]] == ["a.equal", "a.most", "a.least"]
    assert content["claims"][2]["verdict"] == NOT_RUN and content["claims"][2]["measured"] is None
    assert content["numbers"] == {"size": 3.0}
    assert content["parameters"]["d"] == 5


def test_html_escapes_what_a_ledger_holds(ledger):
    claim = ledger.not_run("a.equal", "<script>alert(1)</script>")
    assert "<script>" not in claim._repr_html_() and "x &lt; y &amp; z" in claim._repr_html_()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_catalogues_are_complete(chapter):
    for id, entry in catalogue(chapter).items():
        fields = {"source", "statement", "method", "relation", "rtol", "atol", "headline", "fails"}
        assert set(entry) == fields, id
        assert entry["method"] in DRIFT and entry["relation"] in ("equal", "at most", "at least"), id
        assert entry["statement"].endswith("."), id
        if entry["method"] == "exact" and not re.search("slope|L-BFGS finds .* near", entry["statement"]):
            assert entry["rtol"] <= 1e-3 and entry["atol"] <= 1e-3, f"{id}: an exact claim needs a tight tolerance"


@pytest.mark.parametrize(
    "measured, stderr, shown",
    [
        (1.4416249, 8.2e-5, "1.441625 ± 0.000082"),
        (523.59032, 1.12, "523.6 ± 1.1"),
        (-0.4749, 0.0395, "−0.475 ± 0.040"),
        (3.0e-12, 1e-12, "3e−12 ± 1e−12"),
        (123456.0, 250.0, "123460 ± 250"),
        (-51890.34, 392.6, "−51890 ± 390"),
        (9.4066e15, 7.6e13, "9.4066e+15 ± 7.6e+13"),
        (1.44047619, 0.0, "1.440476"),
    ],
)
def test_digits_follow_the_standard_error(ledger, measured, stderr, shown):
    claim = ledger.decide("a.equal", predicted=1, measured=measured, stderr=stderr)
    assert f">{shown}</td>" in claim._repr_html_()


def test_an_estimate_is_judged_by_its_own_standard_error(ledger):
    claim = ledger.decide_estimate("a.equal", predicted=2.0, estimate=Estimate(2.5, 0.125, 10))
    assert (claim.predicted, claim.measured, claim.stderr) == (2.0, 2.5, 0.125)


def test_an_estimate_that_cannot_be_had_is_not_run_for_its_reason(ledger):
    claim = ledger.decide_estimate("a.equal", predicted=2.0, estimate=Estimate(2.0, 0.1, 10), unless="too faint")
    assert (claim.verdict, claim.reason, claim.measured) == (NOT_RUN, "too faint", None)


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
