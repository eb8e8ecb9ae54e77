"""Files are whole or not at all."""

import errno
import os

import numpy as np
import pytest

from icl.files import csv_text, read_csv, write_atomically
from icl.validation import InputError


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "new" / "file.txt"
    write_atomically(path, "one")
    write_atomically(path, b"two")
    assert path.read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "file.txt", "old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot write .*No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="choose another folder"):
        write_atomically(tmp_path / "taken" / "file.txt", "x")


def test_columns_of_two_lengths_share_no_row():
    text = csv_text({"n": [1, 2], "measured": [0.1], "risk": [3, 4]})
    assert text == "n,measured,risk\n1,,3\n2,,4\n,0.10000000000000001,\n"


def test_read_back(tmp_path):
    columns = {"n": [1.0, 2.0], "measured": [0.1], "risk": [np.nan, np.inf]}
    write_atomically(tmp_path / "t.csv", csv_text(columns))
    for name, column in read_csv(tmp_path / "t.csv").items():
        np.testing.assert_array_equal(column, columns[name])


@pytest.mark.parametrize(
    "text", ["", "a\n", "a,b\n1,1\n,2\n3,3\n", "a,b\n1\n", "a,b\n1,2,3\n", "a,a\n1,2\n", "a\n\0\n", "a\n1_x\n"]
)
def test_tables_that_are_refused(tmp_path, text):
    write_atomically(tmp_path / "t.csv", text)
    with pytest.raises(InputError, match="t.csv cannot be read as a table of numbers"):
        read_csv(tmp_path / "t.csv")
