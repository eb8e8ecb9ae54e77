"""The drift between machines: the largest moves of each kind, measured by real runs of a small ledger."""

from types import SimpleNamespace

import numpy as np
import pytest
from small_run import CHAPTER, save, small_run

from icl.files import read_sealed
from icl.validation import InputError
from press.tolerances import Table, of_claim, of_column
from trials import drift


@pytest.fixture
def machines(tmp_path, monkeypatch):
    """A run, and a stand-in for other machines that gives the figure another table; returns a function for it."""
    folder = tmp_path / "run"
    ledger = small_run(folder)
    monkeypatch.setattr(drift, "run_folder", lambda profile: folder)
    monkeypatch.setattr(drift, "BUILD", tmp_path / "build")
    monkeypatch.setattr(drift, "MEASUREMENTS", tmp_path)
    seen = []

    def gives(table):
        def rerun(chapter, out, parameters, *, environment):
            seen.append(environment)
            (out / CHAPTER).mkdir(parents=True, exist_ok=True)
            save(out, ledger, table)

        monkeypatch.setattr(drift, "run_chapter", rerun)
        return drift.measure(CHAPTER)

    gives.seen = seen
    return gives


def test_the_largest_moves_are_named(machines):
    found = machines("x,y\n1.0000000002,nan\n2.0000000001,inf\n")
    assert machines.seen == list(drift.MACHINES.values())
    assert list(found["machines"]) == list(drift.MACHINES)
    for moved in found["machines"].values():
        assert moved == {"float64": {"value": pytest.approx(2e-10, rel=1e-5), "at": "f.x"}}
    assert found["columns"] == {"f.x": {"absolute": pytest.approx(2e-10), "relative": pytest.approx(2e-10)}}


@pytest.mark.parametrize("table", ["x,y\n1,nan\n2,7\n", "x,y\n1,0\n2,inf\n"])
def test_a_number_that_was_infinite_or_none_is_no_small_move(machines, table):
    found = machines(table)
    assert found["machines"]["two threads"]["float64"] == {"value": np.inf, "at": "f.y"}
    assert found["columns"] == {}, "and nothing that the next run would be allowed"


def test_moves_over_all_machines():
    """Of each column the largest; those that stayed are not listed."""

    def run(x, claim):
        columns = {"x": np.array(x), "n": np.array([1.0, 2.0])}
        claims = {"c": np.array(claim)}
        return [Table("claims", claims, [], {}), Table("f", columns, [], {})]

    usual, other = run([1.0, 4.0], [1.0, 2.0, 0.5, 1.0]), run([1.5, 4.5], [1.0, 2.25, 0.5, 1.0])
    assert drift.moves(usual, other) == {
        "claims.c": {"absolute": [0.0, 0.25, 0.0, 0.0]},
        "f.x": {"absolute": 0.5, "relative": 0.5},
    }


def test_the_largest_moves_of_a_column():
    old = np.array([1.0, 4.0, np.nan, np.inf, -2.0])
    new = np.array([1.5, 4.0, 1.0, np.inf, -1.0])
    assert drift.largest_moves(new, old, by_row=False) == {"absolute": 1.0, "relative": 0.5}
    assert drift.largest_moves(new, old, by_row=True) == {"absolute": [0.5, 0.0, 0.0, 0.0, 1.0]}
    left_zero = drift.largest_moves(np.array([0.25, 2.0]), np.array([0.0, 1.0]), by_row=False)
    assert left_zero == {"absolute": 1.0}, "0 has no share"


def test_small_numbers_have_no_relative_move():
    tolerances = {"x": of_column(1e-5, None)}
    usual = [Table("f", {"x": np.array([1.0, 1e-9])}, [], tolerances)]
    other = [Table("f", {"x": np.array([1.25, 5e-9])}, [], tolerances)]
    assert drift.compare(usual, other) == {"float32": {"value": 0.25, "at": "f.x"}}


def test_of_a_claim_that_something_is_0_nothing_is_a_share():
    CLAIM = dict(method="exact", relation="equal", verdict="holds", stderr=0.0)

    def run(predicted, measured):
        columns = {"c": np.array([predicted, measured, 0.0, 1.0])}
        return [Table("claims", columns, [], {"c": of_claim(CLAIM | {"predicted": predicted}, None)})]

    assert drift.compare(run(0.0, 1e-6), run(0.0, 2e-6))["float64"]["value"] == 0
    assert drift.compare(run(0.0, 1e-4), run(0.0, 2e-4))["float64"]["value"] == pytest.approx(1), "that is no rounding"
    assert drift.compare(run(1e-7, 1e-7), run(1e-7, 2e-7))["float64"]["value"] == pytest.approx(1), "no verdict counts"


def test_a_claim_that_agreed_by_luck_gets_what_half_of_its_kind_moved():
    def claim(id, tolerance, method="trained", predicted=1.0, stderr=0.0):
        return SimpleNamespace(**locals(), measured=-5e-6)

    claims = [claim("a", 1e-6), claim("b", 1e-6), claim("c", 1e-3), claim("d", 1e-3), claim("e", 0.0), claim("f", None)]
    claims += [claim("zero", 1e-5, "exact", 0.0), claim("still", 1e-5, "exact", 0.0), claim("one", 1e-5, "exact")]
    claims += [claim("mean", 1e-5, "monte-carlo", 0.0, stderr=0.1)]
    moved = {"a": 1e-7, "b": 1e-12, "c": 2e-4, "e": 1e-12, "zero": 1e-6, "one": 1e-11, "mean": 1e-11}
    columns = {f"claims.{id}": {"absolute": [0.0, value, 1e-12, 0.0]} for id, value in moved.items()}
    found = drift.typical(columns, claims)
    assert {name: moves["absolute"][1] for name, moves in found.items()} == {
        "claims.a": pytest.approx(1e-7),
        "claims.b": pytest.approx(1e-7),  # a tenth of what theory allows, as a; c moved by a fifth
        "claims.c": pytest.approx(2e-4),
        "claims.zero": pytest.approx(5e-6),  # itself; `one`, whose size is known, is left as it is
        "claims.mean": pytest.approx(1e-11),
    }
    assert all(moves["absolute"][2] == 1e-12 for moves in found.values())


def test_what_is_measured_is_kept_beside_other_chapters_and_other_processors(machines, tmp_path, monkeypatch):
    found = machines("x,y\n1,nan\n2,inf\n")
    monkeypatch.setattr(drift, "processor", lambda: "first")
    assert drift.save("02_x", found) == drift.save(CHAPTER, {"columns": {}}) == tmp_path / "drift.json"
    monkeypatch.setattr(drift, "processor", lambda: "another")
    drift.save(CHAPTER, found)
    content = read_sealed(tmp_path / "drift.json")
    assert {name: list(part) for name, part in content["processors"].items()} == {
        "another": [CHAPTER],
        "first": [CHAPTER, "02_x"],
    }
    assert content["processors"]["first"][CHAPTER] == {"columns": {}}
    assert content["processors"]["another"][CHAPTER]["machines"]["AVX2"]["float64"]["value"] == 0


def test_without_the_book_s_run_there_is_nothing_to_compare_with(machines, tmp_path, monkeypatch):
    monkeypatch.setattr(drift, "run_folder", lambda profile: tmp_path / "nowhere")
    with pytest.raises(InputError):
        machines("x,y\n1,nan\n2,inf\n")
    assert machines.seen == []
