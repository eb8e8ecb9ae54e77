"""The same bytes after `kill -9`, on a small chapter; `make resume` does it to the whole book."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from support import ends

from icl.files import write_atomically
from press.layout import ROOT

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
    assert set(whole) == {"small.ipynb", "small.json", "small/f.csv", "small/f.svg", "small/f.narrow.svg"}
    orphans = []
    for number in range(3):
        process = small(tmp_path / "killed", PYTHONHASHSEED=str(number), TZ="Asia/Kolkata")
        time.sleep(moments.uniform(0.3, 0.9) * seconds)
        # only the runner: its kernel lives on for a moment; or the runner stays alive, and the next one waits for it
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


def begun(run, out) -> int:
    """Wait until a cell of the run is at work; returns the process of its kernel."""
    while not list(out.glob(".small.scratch-*/half-written")):
        assert run.poll() is None
        time.sleep(0.05)
    (kernel,) = map(int, subprocess.check_output(["pgrep", "-P", str(run.pid)]).split())
    return kernel


def test_the_kernel_of_a_killed_run_ends(small, tmp_path):
    """It would take the machine from the next start, and nobody reads what it writes."""
    out = tmp_path / "out"
    run = small(out, NAP="1")
    kernel = begun(run, out)
    run.kill()
    run.wait()
    assert ends(kernel) and contents(out) == {}


def test_a_run_whose_folder_is_cleared_ends_with_one_sentence(small, tmp_path):
    out = tmp_path / "out"
    run = small(out, stderr=subprocess.PIPE, NAP="0.5")
    begun(run, out)
    shutil.rmtree(out)
    said = run.communicate(timeout=60)[1].decode()
    last = said.strip().splitlines()[-1]  # the command line shows this alone
    assert run.returncode == 1 and "WorkflowError" in last and "was cleared while small was made in it" in last
    assert contents(tmp_path / "out") == {}
