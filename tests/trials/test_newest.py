"""The book beside other versions: which packages differ, and how far the numbers are from their baselines."""

import pytest
from click.testing import CliRunner
from small_run import CHAPTER, save, small_run

from icl.files import read_sealed
from icl.validation import InputError
from press import regression
from press.layout import ROOT
from trials import newest
from trials.__main__ import commands

TABLE = "x,y\n1,nan\n2,inf\n"


@pytest.fixture
def gives(tmp_path, monkeypatch):
    """A baseline of a small run; returns a function that gives the run another table and measures."""
    ledger = small_run(tmp_path / "run")
    save(tmp_path / "run", ledger, TABLE)
    regression.write(tmp_path / "run", tmp_path / "quick", CHAPTER)
    monkeypatch.setattr(newest, "CHAPTERS", [CHAPTER])
    monkeypatch.setattr(newest, "BASELINES", tmp_path)
    monkeypatch.setattr(newest, "MEASUREMENTS", tmp_path)
    monkeypatch.setattr(newest, "run_folder", lambda profile: tmp_path / "run")

    def measured(table):
        save(tmp_path / "run", ledger, table)
        return newest.measure()

    return measured


def test_numbers_that_stay_and_numbers_that_move(gives):
    assert gives(TABLE)["chapters"][CHAPTER]["moved"] == 0
    near = gives("x,y\n1.0000000002,nan\n2,inf\n")["chapters"][CHAPTER]
    assert near["moved"] == 0 and near["share_of_allowed"] == pytest.approx(0.2, rel=1e-5) and near["at"] == "f.x"
    far = gives("x,y\n1.00001,nan\n2.00001,7\n")["chapters"][CHAPTER]
    assert far["moved"] == 3 and far["share_of_allowed"] > 1 and far["numbers"] == near["numbers"]


def test_what_is_measured_is_kept_sealed(gives, tmp_path):
    found = gives(TABLE)
    assert newest.save(found) == tmp_path / "newest.json"
    assert {key: read_sealed(tmp_path / "newest.json")[key] for key in found} == found


def test_a_run_that_is_missing_is_no_run_that_moved_nothing(gives, tmp_path, monkeypatch):
    monkeypatch.setattr(newest, "run_folder", lambda profile: tmp_path / "nowhere")
    with pytest.raises(InputError):
        newest.measure()


def test_versions_are_told_even_where_the_book_did_not_build(gives, tmp_path, monkeypatch):
    monkeypatch.setattr(newest, "run_folder", lambda profile: tmp_path / "nowhere")
    monkeypatch.setattr(newest, "versions", lambda: {"numpy": ["2.3.1", "2.4.0"]})
    result = CliRunner().invoke(commands, ["newest"])
    assert "numpy: 2.3.1 in the lock, 2.4.0 here" in result.output
    assert isinstance(result.exception, InputError) and not (tmp_path / "newest.json").exists()


def test_packages_that_changed_came_or_went():
    lock = newest.pinned("# made by a==b\nNumPy==2.3.1\nold_name==1.0\nsame==4\n")
    assert lock == {"numpy": "2.3.1", "old-name": "1.0", "same": "4"}
    found = newest.differences(lock, {"numpy": "2.4.0", "same": "4", "new": "0.1"})
    assert found == {"new": [None, "0.1"], "numpy": ["2.3.1", "2.4.0"], "old-name": ["1.0", None]}


def test_versions_here_are_read_as_the_lock_writes_them():
    """What is called newest must not come from names or builds that are merely written in another way."""
    found = newest.differences(newest.pinned((ROOT / "requirements.lock").read_text()), newest.present())
    assert not [name for name, pair in found.items() if None not in pair]
    assert "numpy" in newest.present() and "icl" not in newest.present()
