"""Ledgers read back: what fails is found, counted and shown, and what is damaged is refused."""

import fake_run
import pytest

from icl.chapters import CHAPTERS
from icl.files import sealed, write_atomically
from icl.validation import InputError
from press import ledgers

CHAPTER = next(iter(CHAPTERS))


@pytest.mark.parametrize(
    "verdict, words", [("holds", "1 hold"), ("fails", "1 fail"), ("not run at this profile", "1 were not run")]
)
def test_verdicts_are_counted_and_failures_found(tmp_path, verdict, words):
    fake_run.write(tmp_path, verdict=verdict, reason="no GPU")
    first, *others = ledgers.read_all(tmp_path)
    assert ledgers.summary([first]).startswith(f"1 claims: {words}")
    assert len(ledgers.failures([first, *others], explained=True)) == (verdict == "fails")
    assert ledgers.failures([first, *others], explained=False) == []
    fake_run.write(tmp_path, verdict=verdict, reason="")
    assert len(ledgers.failures(ledgers.read_all(tmp_path), explained=False)) == (verdict == "fails")
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
        lambda content: content.pop("figures"),
        lambda content: content.pop("numbers"),
    ],
)
def test_damage_is_refused(tmp_path, damage):
    fake_run.write(tmp_path)
    content = fake_run.ledger(CHAPTER)
    damage(content)
    write_atomically(tmp_path / f"{CHAPTER}.json", sealed(content))
    with pytest.raises(InputError, match="is damaged .*; delete it and run the chapter again"):
        ledgers.read_all(tmp_path)
