"""The statements that the atlas keeps of a notebook decide what the whole notebook decided."""

import datetime

import pytest

from icl.chapters import CHAPTERS, check_parameters, read_ledger
from icl.claims import allowance
from icl.ledger import claims_of
from press.atlas import point
from press.atlas.threads import one_thread
from press.layout import run_folder

pytestmark = pytest.mark.book
TODAY = datetime.date.today().toordinal()


@pytest.mark.parametrize("chapter", [list(CHAPTERS)[TODAY % len(CHAPTERS)]])
def test_the_cut_decides_what_the_whole_notebook_decided(chapter, monkeypatch):
    """With the same parameters, profile and seeds, all numbers are the same to rounding. One of them a day."""
    monkeypatch.setattr(point, "PATIENCE", 600)
    ledger = read_ledger(run_folder("quick"), chapter)
    whole = {claim.id: claim for claim in claims_of(ledger)}
    with one_thread():
        found = point.decide(chapter, check_parameters(chapter, **ledger["parameters"]))
    assert found.broken == {}
    assert {claim.id for claim in found.claims} == {id for id, claim in whole.items() if claim.method != "trained"}
    for claim in found.claims:
        before = whole[claim.id]
        assert claim.verdict == before.verdict, claim.id
        if claim.measured is not None:
            slack = dict(rel=1e-8, abs=allowance(before) / 10 if claim.method == "exact" else 1e-10, nan_ok=True)
            assert claim.predicted == pytest.approx(before.predicted, **slack), claim.id
            assert claim.measured == pytest.approx(before.measured, **slack), claim.id
