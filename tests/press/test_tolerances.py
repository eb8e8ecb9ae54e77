"""What a number may move by: a share of its size, ten times what was measured, and no more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from icl.chapters import CHAPTERS
from icl.claims import DRIFT, HOLDS, NOT_RUN
from icl.files import read_csv, read_sealed, sealed, write_atomically
from icl.validation import InputError
from press import tolerances
from press.layout import BASELINES, MEASUREMENTS
from press.tolerances import Tolerance, larger, of_claim, of_column, rounding


def test_where_nothing_moved_a_number_may_drift_by_its_share_or_by_rounding():
    allowed = of_column(1e-9, None).allowed(np.array([-2.0, 0.0, 1e-12]))
    assert allowed.tolist() == pytest.approx([2e-9, 1e-14, 1e-14])
    assert of_column(1e-5, None).allowed(np.array([-2.0, 0.0, 1e-12])).tolist() == pytest.approx([2e-5, 1e-14, 1e-14])


def test_where_a_training_moved_it_is_ten_times_the_smaller_measure():
    """A small number may not move as far as a large one did, nor a large one by the share of a small one."""
    tolerance = of_column(1e-5, {"absolute": 1e-3, "relative": 0.5})
    assert tolerance.allowed(np.array([100.0, 1e-4, 1e4])).tolist() == pytest.approx([1e-2, 5e-4, 0.1], rel=1e-9)
    assert of_column(1e-5, {"absolute": 1e-3}).allowed(np.zeros(2)).tolist() == pytest.approx([1e-2, 1e-2])


def test_a_double_precision_number_moves_further_only_where_it_may_be_rounding():
    """A billionth, or a hundred-thousandth of the largest number of its column."""
    tolerance = of_column(1e-9, {"absolute": 1e-3})
    old = np.array([100.0, 1e-2, 0.99e-3, 1e-9])
    assert tolerance.allowed(old).tolist() == pytest.approx([1e-7, 1e-11, 1e-2, 1e-2])
    assert rounding(old).tolist() == [False, False, True, True]
    assert rounding(old, scale=1e-6).tolist() == [False, False, False, True]


@given(
    arrays(float, st.integers(1, 8), elements=st.floats(-1e12, 1e12)),
    st.floats(0, 1e6),
    st.one_of(st.none(), st.floats(0, 1e6)),
)
def test_whatever_was_measured_no_other_double_precision_number_moves_by_more_than_a_billionth(old, absolute, relative):
    tolerance = Tolerance(DRIFT["exact"], absolute, relative)
    counts = ~rounding(old)
    assert (tolerance.allowed(old)[counts] <= 1e-9 * np.abs(old)[counts]).all()


def test_infinities_allow_no_more_than_the_others():
    tolerance = Tolerance(1e-5, absolute=1e-3, relative=0.0)
    assert tolerance.allowed(np.array([np.inf, np.nan, 0.0])).tolist() == [1e-14] * 3


def test_a_claim_s_rows_each_have_their_own_and_no_verdict_may_change():
    """A standard error over trainings moves with the mean, whose rounding it is the difference of."""
    moves = {"absolute": [0.0, 0.25, 0.125, 1.0]}
    trained = of_claim(dict(method="trained", relation="equal", predicted=1e9, stderr=0.1, verdict=HOLDS), moves)
    assert trained.allowed(np.zeros(4)).tolist() == pytest.approx([1e-14, 2.5, 2.5, 1e-14])
    never_measured = of_claim(
        dict(method="exact", relation="at most", predicted=None, stderr=None, verdict=NOT_RUN), None
    )
    assert never_measured.allowed(np.zeros(4)).tolist() == pytest.approx([1e-14] * 4)


@pytest.mark.parametrize(
    "relation, measured, allowed",
    [
        ("at least", 0.6, 2),  # the bound counts as kept from 0.5 on
        ("at least", 0.1, 2),
        ("at least", 1.5, 0),  # as far inside as the tolerance is wide
        ("at most", 1.9, 2),
        ("at most", 0.5, 0),
        ("equal", 1.5, 0),
        ("at most", float("nan"), 0),
    ],
)
def test_between_holds_and_undecided_a_verdict_may_go_where_the_measurement_may_drift_there(
    relation, measured, allowed
):
    moves = {"absolute": [0.0, 0.05, 0.0, 1.0]}  # tenfold, half of 1
    claim = dict(method="trained", relation=relation, predicted=1.0, measured=measured, stderr=0.1, tolerance=0.5)
    found = of_claim(claim | {"verdict": HOLDS}, moves).allowed(np.array([1.0, measured, 0.1, 1.0]))
    assert found[3] == pytest.approx(allowed, abs=1e-4)


def test_a_claim_is_rounding_beside_its_prediction_its_standard_error_or_1():
    scale = lambda **claim: of_claim(dict(method="exact", relation="equal", verdict=HOLDS) | claim, None).scale
    assert scale(predicted=-300.0, stderr=0.1) == 300 and scale(predicted=0.0, stderr=0.1) == 0.1
    assert scale(predicted=0.0, stderr=0.0) == scale(predicted=None, stderr=None) == 1


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
    processors = read_sealed(MEASUREMENTS / "drift.json")["processors"]
    for processor, chapters in processors.items():
        assert chapters.get(chapter, {"columns": {}})["columns"].keys() <= columns, processor
    assert any(chapter in chapters for chapters in processors.values())


def test_the_shares_are_the_promised_ones():
    """1e-9 of a double-precision number, 1e-5 of a single-precision training, and ten times what was measured."""
    assert DRIFT == {"exact": 1e-9, "monte-carlo": 1e-9, "trained": 1e-5}
    assert tolerances.FACTOR == 10 and tolerances.ROUNDING == 1e-14
