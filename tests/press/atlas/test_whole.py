"""The statements that the atlas keeps of a notebook decide what all of its statements decide."""

import ast
import datetime

import pytest

from icl.chapters import CHAPTERS, check_parameters
from press.atlas import point
from press.atlas.needed import Statement
from press.atlas.threads import one_thread

TODAY = datetime.date.today().toordinal()


@pytest.mark.parametrize("chapter", [list(CHAPTERS)[TODAY % len(CHAPTERS)]])
def test_the_cut_decides_what_the_whole_notebook_decides(chapter, monkeypatch, tmp_path):
    """The same numbers, bit for bit, whatever the figures and trainings between draw and set. One chapter a day."""
    monkeypatch.setenv("ICL_OUT", str(tmp_path))  # figures are written
    fields = CHAPTERS[chapter].schema.model_fields
    small = {name: value for name, value in {"d": 2, "n": 5}.items() if name in fields}
    parameters = check_parameters(chapter, **small, profile="claims")
    numbers = lambda found: {claim.id: repr((claim.predicted, claim.measured, claim.stderr)) for claim in found.claims}
    with one_thread():
        cut = point.decide(chapter, parameters)
        monkeypatch.setattr(point, "needed", _every_statement)
        point.statements.cache_clear()
        monkeypatch.setattr(point, "PATIENCE", 5)  # what takes longer is a training; it and what reads it are left out
        whole = point.decide(chapter, parameters)
    assert cut.broken == {} and numbers(whole) == numbers(cut)
    figures = [len(found.ledger.as_dict()["figures"]) for found in (cut, whole)]
    assert figures[0] == 0 < figures[1]


@pytest.fixture(autouse=True)
def statements_read_anew():
    yield
    point.statements.cache_clear()  # no later test is to have every statement


def _every_statement(cells: list[str], *_) -> list[Statement]:
    return [Statement(number, node) for number, cell in enumerate(cells) for node in ast.parse(cell).body]
