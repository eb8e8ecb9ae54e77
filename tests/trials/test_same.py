"""The same bytes under other circumstances, of one chapter; `make same` compares two builds of the whole book."""

import os
import subprocess
import sys

import pytest

from icl.files import write_atomically
from press.layout import ROOT, run_folder
from trials import same
from trials.same import differences

CHAPTER = "11_when_depth_pays"  # the shortest


@pytest.mark.book
def test_a_chapter_gives_the_same_bytes_elsewhere(tmp_path):
    """Another hash seed, time zone, language, current folder and output folder than those of the book's run."""
    settings = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kolkata", "LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-m", "icl", "run", CHAPTER, "--out", "an other place"],
        cwd=tmp_path,
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    here, there = run_folder("quick"), tmp_path / "an other place"
    figures = [f"{CHAPTER}/{path.name}" for path in (here / CHAPTER).iterdir() if not path.name.startswith(".")]
    names = [f"{CHAPTER}.json", f"{CHAPTER}.ipynb", *figures]
    assert len(names) > 8
    for name in names:
        assert (there / name).read_bytes() == (here / name).read_bytes(), f"{name} differs"


def test_differences_are_seen(tmp_path):
    for side in ("left", "right"):
        write_atomically(tmp_path / side / "_build" / "run" / "quick" / "x.json", "same")
        write_atomically(tmp_path / side / "_build" / "run" / "quick" / "x.provenance.json", side)
        write_atomically(tmp_path / side / "_build" / "run" / "quick" / ".x.lock", side)
        write_atomically(tmp_path / side / "_build" / "html" / "page.html", "same")
    sides = tmp_path / "left", tmp_path / "right"
    assert differences(*sides, "quick") == []
    write_atomically(sides[0] / "_build" / "html" / "page.html", "other")
    write_atomically(sides[1] / "_build" / "html" / "extra.html", "x")
    assert differences(*sides, "quick") == ["html/extra.html is in one of the builds only", "html/page.html differs"]


def test_a_trial_records_what_it_found(tmp_path, monkeypatch):
    """Two builds that differ in one byte are told apart, and the count is kept for the page."""
    monkeypatch.setattr(same, "TRIALS", tmp_path / "trials")
    monkeypatch.setattr(same, "MEASUREMENTS", tmp_path)
    pages = iter("ab")
    page = lambda copy, *_: write_atomically(copy / "_build" / "html" / "page.html", next(pages))
    monkeypatch.setattr(same, "finish", page)
    assert same.same_bytes("quick") == ["html/page.html differs"]
    assert same.read_json(tmp_path / "trials.json")["same"] == {"files": 1, "different": 1}
