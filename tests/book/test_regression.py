"""The last run is of this code, no number of it moved, and its claims fail only where the book says why."""

import pytest

from icl.chapters import CHAPTERS, catalogue, read_ledger
from icl.ledger import failures
from press.layout import BASELINES, run_folder
from press.regression import compare, report
from press.sources import check_current

pytestmark = pytest.mark.book
RUN = run_folder("quick")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_numbers_have_not_moved(chapter):
    check_current(RUN, [chapter], "quick")
    assert report([compare(RUN, BASELINES / "quick", chapter)]) == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_claim_is_decided_and_fails_only_where_the_book_says_why(chapter):
    ledger = read_ledger(RUN, chapter)
    assert [claim["id"] for claim in ledger["claims"]] == list(catalogue(chapter))
    assert failures([ledger], explained=False) == []
    explained = [id for id, entry in catalogue(chapter).items() if entry["fails"]]
    assert [claim.id for claim in failures([ledger], explained=True)] == explained
