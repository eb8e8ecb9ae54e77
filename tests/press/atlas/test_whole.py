"""The statements that the atlas keeps of a notebook decide what all of its statements decide."""

import ast
import datetime

import jupytext
import pytest

from icl.chapters import CHAPTERS, check_parameters
from press.atlas import point
from press.atlas.needed import Statement
from press.atlas.threads import one_thread
from press.notebooks import source_of

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
        own = point.statements(chapter)[1]
        monkeypatch.setattr(point, "statements", lambda _: (_every_statement(chapter), own))
        monkeypatch.setattr(point, "PATIENCE", 5)  # what takes longer is a training; it and what reads it are left out
        whole = point.decide(chapter, parameters)
    assert cut.broken == {} and numbers(whole) == numbers(cut)
    figures = [len(found.ledger.as_dict()["figures"]) for found in (cut, whole)]
    assert figures[0] == 0 < figures[1]


def _every_statement(chapter: str) -> list[Statement]:
    cells = [cell for cell in jupytext.read(source_of(chapter)).cells if cell.cell_type == "code"]
    cells = [cell.source for cell in cells if "colab" not in cell.metadata.get("tags", [])]
    return [Statement(number, node) for number, cell in enumerate(cells) for node in ast.parse(cell).body]
