"""A claim that states a formula must refute the most natural wrong one, or say what it cannot tell apart."""

import pytest

from icl.chapters import CHAPTERS, catalogue
from icl.claims import off
from press.finished import read_run

EVERY = [(chapter, id) for chapter in CHAPTERS for id in catalogue(chapter)]


@pytest.mark.parametrize("chapter, id", EVERY, ids=[id for _, id in EVERY])
def test_an_equality_has_a_near_miss_or_says_why_it_has_none(chapter, id):
    entry = catalogue(chapter)[id]
    assert not (entry["near_miss"] and entry["cannot_tell"])
    if entry["relation"] == "equal":
        assert entry["near_miss"] or entry["cannot_tell"]


@pytest.mark.book
def test_every_near_miss_fails():
    nearest = {claim.id: off(claim) for claim in read_run("quick").claims if claim.near is not None}
    assert len(nearest) >= 100 and {id: far for id, far in nearest.items() if not far > 1} == {}
