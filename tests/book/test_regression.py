"""Every figure number and claim of the last run against its committed baseline, by pytest-regressions."""

from functools import partial

import numpy as np
import pandas
import pytest

from icl.chapters import CHAPTERS, catalogue, read_ledger
from icl.ledger import failures
from press.baselines import compare, read_csv, tables
from press.layout import BASELINES, run_folder

pytestmark = pytest.mark.book
RUN, COMMITTED = run_folder("quick"), BASELINES / "quick"
# from what is committed, so that a table that vanished is missed
TABLES = [(chapter, path.stem) for chapter in CHAPTERS for path in sorted((COMMITTED / chapter).glob("*.csv"))]


@pytest.mark.parametrize("chapter, name", TABLES)
def test_numbers_have_not_moved(num_regression, monkeypatch, chapter, name):
    table = next((table for table in tables(RUN, chapter) if table.name == name), None)
    assert table is not None, f"{chapter} no longer makes {name}"
    # a column that happens to hold whole numbers would be read as integers, and compared without any tolerance
    monkeypatch.setattr(pandas, "read_csv", partial(pandas.read_csv, dtype=dict.fromkeys(table.columns, float)))
    index = table.rows if name == "claims" else None
    committed, rows = COMMITTED / chapter / f"{name}.csv", len(table.rows)
    tolerances = {
        column: {"rtol": 0.0, "atol": _padded(table.tolerances[column].allowed(old), rows)}
        for column, old in read_csv(committed).items()
        if column in table.columns
    }
    num_regression.check(dict(table.columns), tolerances=tolerances, fullpath=committed, data_index=index)


def _padded(allowed, rows):
    """A short column ends in empty cells, which may not become numbers."""
    return np.pad(allowed, (0, max(rows - len(allowed), 0)))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nothing_appeared_or_vanished(chapter):
    assert compare(RUN, COMMITTED, chapter) == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_claim_is_decided_and_fails_only_where_the_book_says_why(chapter):
    ledger = read_ledger(RUN, chapter)
    assert [claim["id"] for claim in ledger["claims"]] == list(catalogue(chapter))
    assert failures([ledger], explained=False) == []
    explained = [id for id, entry in catalogue(chapter).items() if entry["fails"]]
    assert [claim.id for claim in failures([ledger], explained=True)] == explained
