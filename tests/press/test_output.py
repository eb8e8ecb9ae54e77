"""Where a run may write, what it may replace, and that two never make the same thing at once."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from icl.files import read_json, write_atomically
from icl.validation import InputError
from press import output
from press.layout import ROOT, WorkflowError
from press.output import check_own, note, output_folder, publish, workplace

CHAPTER = "01_one_step_gd"


@pytest.fixture
def cwd(tmp_path, monkeypatch):
    """A current folder two levels down, so that there is somewhere to escape to."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def finished(folder, text="one"):
    """What a run leaves in its scratch folder."""
    for name in (f"{CHAPTER}.ipynb", f"{CHAPTER}.json", f"{CHAPTER}.provenance.json", f"{CHAPTER}/f.csv"):
        write_atomically(folder / name, text)


@pytest.mark.parametrize("out", ["..", "../../etc", "x/../../up", "./../b2"])
def test_relative_paths_do_not_climb_out(cwd, out):
    before = sorted(cwd.parent.parent.rglob("*"))
    with pytest.raises(InputError, match="leads out of the current folder; if you mean that, give it whole: /"):
        output_folder(out)
    assert sorted(cwd.parent.parent.rglob("*")) == before


@pytest.mark.parametrize("out", ["x", "x/y", "x/../y", ".", "../b/x"])
def test_paths_within_are_made(cwd, out):
    assert output_folder(out) == (cwd / out).resolve() and (cwd / out).is_dir()


def test_absolute_and_symbolic_ones_go_where_they_point(cwd, tmp_path):
    assert output_folder(tmp_path / "elsewhere") == tmp_path / "elsewhere"
    (cwd / "link").symlink_to(tmp_path / "elsewhere")
    assert output_folder("link") == tmp_path / "elsewhere"
    (cwd / "dangling").symlink_to(tmp_path / "none")
    with pytest.raises(InputError, match="cannot write"):
        output_folder("dangling")


def test_home(cwd, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert output_folder("~/results") == tmp_path / "results"


@pytest.mark.parametrize("out", ["", "  ", "a\0b", "\udcff", "x" * 300])
def test_names_that_are_none(cwd, out):
    with pytest.raises(InputError, match="--out"):
        output_folder(out)
    assert list(cwd.iterdir()) == []


def test_a_run_replaces_its_own_files_only(cwd):
    check_own(cwd, CHAPTER)
    finished(cwd / "scratch")
    publish(cwd / "scratch", cwd, CHAPTER)
    check_own(cwd, CHAPTER)
    finished(cwd / "scratch", "two")
    publish(cwd / "scratch", cwd, CHAPTER)
    assert (cwd / CHAPTER / "f.csv").read_text() == (cwd / f"{CHAPTER}.json").read_text() == "two"
    write_atomically(cwd / CHAPTER / "notes.txt", "mine")
    with pytest.raises(InputError, match="notes.txt was not made by a run"):
        check_own(cwd, CHAPTER)


@pytest.mark.parametrize(
    "name", [f"{CHAPTER}.ipynb", f"{CHAPTER}.json", f"{CHAPTER}.provenance.json", f"{CHAPTER}.failed.ipynb", CHAPTER]
)
def test_what_was_there_before_is_refused(cwd, name):
    write_atomically(cwd / name, "mine")
    with pytest.raises(InputError, match="was not made by a run of this chapter; move it away"):
        check_own(cwd, CHAPTER)


def test_the_sources_cannot_be_overwritten():
    for folder in ("notebooks", "results/baselines/quick"):
        with pytest.raises(InputError, match="was not made by a run"):
            check_own(ROOT / folder, CHAPTER)


def test_a_link_in_place_of_a_result_is_not_followed(cwd, tmp_path):
    finished(cwd / "scratch")
    publish(cwd / "scratch", cwd, CHAPTER)
    (tmp_path / "precious").mkdir()
    write_atomically(tmp_path / "precious" / "file", "mine")
    shutil.rmtree(cwd / CHAPTER)
    (cwd / CHAPTER).symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="was not made by a run"):
        check_own(cwd, CHAPTER)
    assert (tmp_path / "precious" / "file").exists()


def test_the_build_folder_holds_nothing_else(cwd, monkeypatch):
    monkeypatch.setattr(output, "BUILD", cwd)
    write_atomically(cwd / "run" / f"{CHAPTER}.json", "left by an older version")
    check_own(cwd / "run", CHAPTER)


def test_damaged_notes_are_one_sentence(cwd):
    note(cwd, CHAPTER, ["x"])
    assert read_json(cwd / f".{CHAPTER}.made.json") == {"made": ["x"]}
    (cwd / f".{CHAPTER}.made.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        note(cwd, CHAPTER, ["y"])


@pytest.fixture
def another(tmp_path):
    """A process that is making «x» in `tmp_path`, in its workplace."""
    code = "import sys, time; from pathlib import Path; from press.output import workplace\n"
    code += "with workplace(Path(sys.argv[1]), 'x') as mine:\n    print(mine.scratch, flush=True); time.sleep(60)"
    command, settings = [sys.executable, "-c", code, tmp_path], os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=settings, text=True) as process:
        process.scratch = Path(process.stdout.readline().strip())
        yield process
        process.kill()


def test_a_second_one_waits_for_the_first_and_sweeps_after_a_killed_one(another, tmp_path, capsys):
    threading.Timer(1.0, another.send_signal, [signal.SIGKILL]).start()
    with workplace(tmp_path, "other"):
        assert capsys.readouterr().err == ""
    began = time.monotonic()
    with workplace(tmp_path, "x") as mine:
        assert time.monotonic() - began > 0.5
        assert "x: waiting until another process has made it" in capsys.readouterr().err
        assert mine.scratch.is_dir() and mine.scratch != another.scratch and not another.scratch.exists()
        mine.check()
    assert list(tmp_path.glob(".x.scratch-*")) == []


def test_a_folder_that_was_cleared_is_noticed(tmp_path):
    for cleared in ("a", "b/.x.lock"):
        folder = tmp_path / cleared[0]
        folder.mkdir()
        with workplace(folder, "x") as mine:
            gone = tmp_path / cleared
            shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
            for later in (False, True):  # nothing there, or another start's lock
                if later:
                    folder.mkdir(exist_ok=True)
                    (folder / ".x.lock").touch()
                with pytest.raises(WorkflowError, match="was cleared while x was made in it"):
                    mine.check()


def test_a_lock_that_is_a_link_harms_nothing(tmp_path):
    write_atomically(tmp_path / "precious", "mine")
    (tmp_path / ".x.lock").symlink_to(tmp_path / "precious")
    with workplace(tmp_path, "x"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
