"""A claim that states a formula must refute the most natural wrong one, or say what it cannot tell apart."""

import pytest

from icl.chapters import CHAPTERS, catalogue
from icl.claims import off
from press.finished import read_run


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_an_equality_has_a_near_miss_or_says_why_it_has_none(chapter):
    both = [id for id, entry in catalogue(chapter).items() if entry["near_miss"] and entry["cannot_tell"]]
    equal = {id: entry for id, entry in catalogue(chapter).items() if entry["relation"] == "equal"}
    assert both + [id for id, entry in equal.items() if not (entry["near_miss"] or entry["cannot_tell"])] == []


@pytest.mark.book
def test_every_near_miss_fails():
    nearest = {claim.id: off(claim) for claim in read_run("quick").claims if claim.near is not None}
    assert len(nearest) >= 100 and {id: far for id, far in nearest.items() if not far > 1} == {}
