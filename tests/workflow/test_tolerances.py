"""What a number may move by: a share of its size, ten times what was measured, and no more."""

import numpy as np
import pytest

from icl.claims import DRIFT
from icl.files import read_sealed, sealed, write_atomically
from icl.parameters import CHAPTERS
from icl.validation import InputError
from icl.workflow import tolerances
from icl.workflow.baselines import read_csv
from icl.workflow.layout import BASELINES, MEASUREMENTS
from icl.workflow.tolerances import Tolerance, claim_moves, larger, largest_moves, of_claim, of_column


def test_where_nothing_moved_a_number_may_drift_by_its_share_and_by_rounding():
    allowed = of_column(1e-9, None).allowed(np.array([-2.0, 0.0, 1e-12]))
    assert allowed.tolist() == pytest.approx([2e-9 + 1e-14, 1e-14, 1e-21 + 1e-14])


def test_where_something_moved_it_is_ten_times_the_smaller_measure():
    """A small number may not move as far as a large one did, nor a large one by the share of a small one."""
    tolerance = of_column(0.0, {"absolute": 1e-3, "relative": 0.5})
    assert tolerance.allowed(np.array([100.0, 1e-4])).tolist() == pytest.approx([1e-2, 5e-4], rel=1e-9)
    assert of_column(0.0, {"absolute": 1e-3}).allowed(np.zeros(2)).tolist() == pytest.approx([1e-2, 1e-2])


def test_infinities_allow_no_more_than_the_others():
    tolerance = Tolerance(1e-9, absolute=1e-3, relative=0.0)
    assert tolerance.atol(np.array([np.inf, np.nan, 1.0])).tolist() == [1e-14] * 3


def test_a_claim_s_rows_each_have_their_own_and_no_verdict_may_change():
    moves = claim_moves(np.array([1.0, 1.5, 0.25, 2.0]), np.array([1.0, 1.25, 0.5, 1.0]))
    assert moves == {"absolute": [0.0, 0.25, 0.25, 1.0]}
    allowed = of_claim("trained", 1e9, moves).atol(np.zeros(4))
    assert allowed.tolist() == pytest.approx([1e3, 1e3 + 2.5, 1e3 + 2.5, 0.0])
    assert of_claim("exact", None, None).atol(np.zeros(4)).tolist() == pytest.approx([1e-14] * 3 + [0.0])


def test_the_largest_moves_of_a_column():
    old = np.array([1.0, 4.0, np.nan, np.inf, -2.0])
    new = np.array([1.5, 4.0, 1.0, np.inf, -1.0])
    assert largest_moves(new, old) == {"absolute": 1.0, "relative": 0.5}
    assert largest_moves(np.array([0.25, 2.0]), np.array([0.0, 1.0])) == {"absolute": 1.0}, "0 has no share"


def test_of_two_measurements_the_larger_counts():
    one, other = {"absolute": 1.0, "relative": 0.5}, {"absolute": 0.5, "relative": 2.0}
    assert larger(one, other) == {"absolute": 1.0, "relative": 2.0}
    assert larger(one, {"absolute": 3.0}) == {"absolute": 3.0}
    assert larger({"absolute": [1.0, 4.0]}, {"absolute": [2.0, 3.0]}) == {"absolute": [2.0, 4.0]}


def test_all_processors_count(tmp_path, monkeypatch):
    monkeypatch.setattr(tolerances, "MEASUREMENTS", tmp_path)
    assert tolerances.measured("01_x") == {}
    parts = {
        "one": {"01_x": {"columns": {"f.x": {"absolute": 1.0}, "f.y": {"absolute": 2.0}}}},
        "two": {
            "01_x": {"columns": {"f.x": {"absolute": 2.0}, "f.y": {"absolute": 1.0}}},
            "02_x": {"columns": {"f.z": {"absolute": 9.0}}},
        },
    }
    write_atomically(tmp_path / "drift.json", sealed({"processors": parts}))
    assert tolerances.measured("01_x") == {"f.x": {"absolute": 2.0}, "f.y": {"absolute": 2.0}}
    write_atomically(tmp_path / "drift.json", "{")
    with pytest.raises(InputError, match="drift.json is damaged"):
        tolerances.measured("01_x")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_committed_measurements_are_those_of_the_committed_numbers(chapter):
    """No allowance for a column that is gone, and none for numbers that are never measured."""
    tables = {path.stem: read_csv(path) for path in (BASELINES / "quick" / chapter).glob("*.csv")}
    columns = {f"{table}.{column}" for table, found in tables.items() for column in found}
    for processor, chapters in read_sealed(MEASUREMENTS / "drift.json")["processors"].items():
        assert chapters[chapter]["columns"].keys() <= columns, processor


def test_the_shares_are_the_promised_ones():
    """1e-9 of a double-precision number, 1e-5 of a single-precision training, and ten times what was measured."""
    assert DRIFT == {"exact": 1e-9, "monte-carlo": 1e-9, "trained": 1e-5}
    assert tolerances.FACTOR == 10 and tolerances.ROUNDING == 1e-14
