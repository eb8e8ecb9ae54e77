"""Executing a chapter through papermill, with a small chapter of the tests' own."""

import json
from dataclasses import replace

import jupytext
import pytest
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

from icl.chapters import CHAPTERS, check_parameters
from icl.validation import InputError
from press import notebooks
from press import run as runner
from press.layout import WorkflowError
from press.notebooks import synchronise
from press.run import run_chapter
from press.sources import digests

HEAD = """# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %%
import os
from pathlib import Path
from icl.files import sealed
content = dict(chapter="small", parameters=dict(d=d, sigma2=sigma2), claims=[], numbers={}, figures={})
"""
SAVE = """
# %%
out = Path(os.environ["ICL_OUT"])
(out / "small").mkdir(exist_ok=True)
(out / "small" / "f.csv").write_text("x")
(out / "small.json").write_text(sealed(content))
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A chapter «small»; returns a function that gives it a body."""
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setitem(CHAPTERS, "small", replace(CHAPTERS["01_one_step_gd"], name="small"))
    (tmp_path / "notebooks").mkdir()

    def write(body=""):
        text = HEAD + (f"\n# %%\n{body}\n" if body else "") + SAVE
        jupytext.write(jupytext.reads(text, fmt="py:percent"), tmp_path / "notebooks" / "small.py", fmt="py:percent")
        synchronise("small")

    write()
    return write


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "provenance" not in path.name and not path.name.startswith(".")
    }


def test_parameters_go_in_results_come_out_twice_the_same(small, tmp_path):
    out = tmp_path / "out"
    chosen = check_parameters("small", d=7, sigma2=0.3)
    assert run_chapter("small", out, chosen)["parameters"] == {"d": 7, "sigma2": 0.3}
    first = snapshot(out)
    assert set(first) == {"small.ipynb", "small.json", "small/f.csv"}
    run_chapter("small", out, chosen)
    assert snapshot(out) == first
    provenance = json.loads((out / "small.provenance.json").read_text())
    assert provenance["seconds"] > 0 and provenance["packages"]["torch"]
    assert provenance["sources"] == digests("small")


def test_a_failing_cell_is_named_and_loses_nothing(small, tmp_path):
    out = tmp_path / "out"
    run_chapter("small", out)
    before = snapshot(out)
    small("numbers = [1, 2]\nnumbers[5]")
    with pytest.raises(WorkflowError, match=r"failed in cell \d+ \(numbers = \[1, 2\]\): IndexError: list index"):
        run_chapter("small", out)
    after = snapshot(out)
    assert "small.failed.ipynb" in after and {k: v for k, v in after.items() if k != "small.failed.ipynb"} == before


def test_a_kernel_that_dies_is_named(small, tmp_path):
    small("os._exit(9)")
    with pytest.raises(WorkflowError, match="the kernel died"):
        run_chapter("small", tmp_path / "out")
    assert snapshot(tmp_path / "out") == {}


@pytest.mark.parametrize("deaths", [1, 3])
def test_a_kernel_that_dies_before_its_first_cell_is_started_again(small, tmp_path, monkeypatch, deaths):
    starts = []

    class Dying(runner._QuietKernel):
        async def start_kernel(self, **options):
            await super().start_kernel(**options)
            starts.append(self)
            if len(starts) <= deaths:
                await self.provisioner.kill()

    monkeypatch.setattr(runner, "_QuietKernel", Dying)
    if deaths < 3:
        run_chapter("small", tmp_path / "out")
        assert (tmp_path / "out" / "small.json").exists()
    else:
        with pytest.raises(WorkflowError, match="small: the kernel does not start"):
            run_chapter("small", tmp_path / "out")
    assert len(starts) == min(deaths + 1, 3)


def test_a_warning_is_an_error(small, tmp_path):
    small("import warnings; warnings.warn('careful')")
    with pytest.raises(WorkflowError, match="wrote to stderr"):
        run_chapter("small", tmp_path / "out")


def test_a_missing_kernel_stops_before_anything_is_written(small, tmp_path, monkeypatch):
    def none(self, name):
        raise NoSuchKernel(name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", none)
    with pytest.raises(InputError, match="no Jupyter kernel named 'python3'; run"):
        run_chapter("small", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written(small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another with --out"):
        run_chapter("small", tmp_path / "file" / "out")


def test_the_environment_is_put_back(small, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("ICL_TEST", "1")
    small('assert "ICL_TEST" not in os.environ')
    run_chapter("small", tmp_path / "out", environment={"ICL_TEST": None})
    assert runner.os.environ["OMP_NUM_THREADS"] == "7" and "ICL_OUT" not in runner.os.environ
    assert runner.os.environ["ICL_TEST"] == "1"


def test_figures_of_an_earlier_run_do_not_stay(small, tmp_path):
    small('(Path(os.environ["ICL_OUT"]) / "small").mkdir()\n(Path(os.environ["ICL_OUT"]) / "small" / "g.csv").touch()')
    run_chapter("small", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out" / "small").iterdir()) == ["f.csv", "g.csv"]
    small()
    run_chapter("small", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "small").iterdir()] == ["f.csv"]


def test_the_ledger_comes_last_and_goes_first(small, tmp_path, monkeypatch):
    """Whoever finds a ledger finds the rest: a run that dies while it moves its files leaves none."""
    out = tmp_path / "out"
    run_chapter("small", out)
    moved, replace = [], runner.os.replace

    def dies(source, target):
        if target.parent == out:
            moved.append(target.name)
            if target.name == "small.ipynb":
                raise OSError("died")
        replace(source, target)

    monkeypatch.setattr(runner.os, "replace", dies)
    with pytest.raises(OSError, match="died"):
        run_chapter("small", out)
    assert "small.ipynb" in moved and not (out / "small.json").exists()


def test_a_paper_that_nobody_knows_stops_before_a_kernel_starts(small, tmp_path, monkeypatch):
    small()
    entry = {"source": "Nobody and Noone (2031), Theorem 1"}
    monkeypatch.setitem(CHAPTERS, "small", replace(CHAPTERS["small"], claims={"a.b": entry}))
    with pytest.raises(InputError, match="Nobody and Noone \\(2031\\) is not in references.bib"):
        run_chapter("small", tmp_path / "out")
    assert not (tmp_path / "out").exists()
