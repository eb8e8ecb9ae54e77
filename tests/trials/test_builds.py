"""The same bytes under other circumstances and after `kill -9`, on small builds; `make same`, `make resume` do all."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from icl.files import write_atomically
from press.layout import ROOT, run_folder
from press.turns import turn
from trials import builds
from trials.builds import differences

CHAPTER = "01_one_step_gd"
# A chapter of the test's own, with the real ledger, a real training and a real figure, in a checkout of its own.
DRIVER = """
import sys
from pathlib import Path
from dataclasses import replace
from icl.chapters import CHAPTERS
from press import notebooks, run
notebooks.NOTEBOOKS = Path(sys.argv[1])
CHAPTERS["small"] = replace(CHAPTERS["01_one_step_gd"], name="small")
run.run_chapter("small", Path(sys.argv[2]))
"""
NOTEBOOK = """# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %%
import os
import time
from pathlib import Path

import numpy as np
from icl.figures import Figure, canvas, style
from icl.files import sealed

out = Path(os.environ["ICL_OUT"])
numbers = np.random.default_rng(seed).standard_normal(50)
for k in range(8):
    (out / "half-written").write_text("x" * 1000)
    time.sleep(float(os.environ.get("NAP", "0.1")))
with style():
    drawing, axis = canvas()
    axis.plot(numbers)
entry = Figure("f", drawing, {"x": numbers}, "a line").write(out / "small").model_dump()
parameters = dict(d=d, n=n, sigma2=sigma2, seed=seed, profile=profile)
ledger = dict(chapter="small", parameters=parameters, claims=[], numbers={"x": numbers[0].item()}, figures={"f": entry})
(out / "small.json").write_text(sealed(ledger))
print(sorted({"one", "two", "three"}))
"""


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and "provenance" not in path.name
    }


@pytest.fixture
def small(tmp_path):
    """Starts the small chapter in a process of its own; returns a function of the output folder."""
    folder = tmp_path / "notebooks"
    write_atomically(folder / "small.py", NOTEBOOK)
    code = "import sys; from pathlib import Path; from press import notebooks\n"
    code += "notebooks.NOTEBOOKS = Path(sys.argv[1]); notebooks.synchronise('small')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code, folder], check=True, env=environment)

    def start(out, stderr=subprocess.DEVNULL, **settings):
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, folder, out],
            env=environment | settings,
            stderr=stderr,
            start_new_session=True,
        )

    return start


def test_killed_runs_leave_nothing_half_and_end_with_the_same_bytes(small, tmp_path):
    began = time.perf_counter()
    assert small(tmp_path / "whole").wait(timeout=240) == 0
    seconds = time.perf_counter() - began
    whole, moments = contents(tmp_path / "whole"), random.Random(3)
    assert set(whole) == {"small.ipynb", "small.json", "small/f.csv", "small/f.svg"}
    orphans = []
    for number in range(3):
        process = small(tmp_path / "killed", PYTHONHASHSEED=str(number), TZ="Asia/Kolkata")
        time.sleep(moments.uniform(0.3, 0.9) * seconds)
        # only the runner: its kernel lives on as an orphan; or the runner stays alive while the next one is at work
        if number == 2:
            orphans.append(process)
        else:
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)
        assert contents(tmp_path / "killed") in ({}, whole), "a file was left half-written"
    assert small(tmp_path / "killed", PYTHONHASHSEED="99", LC_ALL="C").wait(timeout=240) == 0
    assert contents(tmp_path / "killed") == whole
    for orphan in orphans:
        orphan.wait(timeout=240)
    assert contents(tmp_path / "killed") == whole
    assert small(tmp_path / "killed").wait(timeout=240) == 0
    assert list((tmp_path / "killed").glob(".*scratch*")) == []


def test_an_overtaken_run_ends_at_once(small, tmp_path):
    """It would take the machine from the start that counts, and its work would be dropped."""
    out = tmp_path / "out"
    orphan = small(out, stderr=subprocess.PIPE, NAP="300")
    while not list(out.glob(".small.scratch-*/half-written")):
        assert orphan.poll() is None
        time.sleep(0.05)
    (kernel,) = map(int, subprocess.check_output(["pgrep", "-P", str(orphan.pid)]).split())
    with turn(out, "small"):
        said = orphan.communicate(timeout=60)[1].decode()
    assert orphan.returncode == 1 and "a later start makes small" in said
    assert contents(out) == {} and not list(out.glob(".small.scratch-*"))
    with pytest.raises(ProcessLookupError):
        os.kill(kernel, 0)


def test_a_run_whose_folder_is_cleared_ends_with_one_sentence(small, tmp_path):
    out = tmp_path / "out"
    run = small(out, stderr=subprocess.PIPE, NAP="300")
    while not list(out.glob(".small.scratch-*/half-written")):
        assert run.poll() is None
        time.sleep(0.05)
    shutil.rmtree(out)
    said = run.communicate(timeout=60)[1].decode()
    last = said.strip().splitlines()[-1]  # the command line shows this alone
    assert run.returncode == 1 and "WorkflowError" in last and "was cleared while small was made in it" in last
    assert not out.exists()


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
        write_atomically(tmp_path / side / "_build" / "run" / "quick" / ".x.owner", side)
        write_atomically(tmp_path / side / "_build" / "html" / "page.html", "same")
    sides = tmp_path / "left", tmp_path / "right"
    assert differences(*sides, "quick") == []
    write_atomically(sides[0] / "_build" / "html" / "page.html", "other")
    write_atomically(sides[1] / "_build" / "html" / "extra.html", "x")
    assert differences(*sides, "quick") == ["html/extra.html is in one of the builds only", "html/page.html differs"]


def test_a_trial_records_what_it_found(tmp_path, monkeypatch):
    """Two builds that differ in one byte are told apart, and the count is kept for the page."""
    monkeypatch.setattr(builds, "TRIALS", tmp_path / "trials")
    monkeypatch.setattr(builds, "MEASUREMENTS", tmp_path)
    pages = iter("ab")
    page = lambda copy, *_: write_atomically(copy / "_build" / "html" / "page.html", next(pages))
    monkeypatch.setattr(builds, "_finish", page)
    assert builds.same_bytes("quick") == ["html/page.html differs"]
    assert builds.read_json(tmp_path / "trials.json")["same"] == {"files": 1, "different": 1}
