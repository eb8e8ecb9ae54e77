"""The command line as a person meets it: one sentence and a status for every mistake, nothing written."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import fake_run
import pytest
from click.testing import CliRunner
from support import ends

from icl import __version__
from icl.chapters import CHAPTERS, catalogue
from icl.files import write_atomically
from icl.validation import InputError
from press import book, cli
from press.layout import ROOT, WorkflowError


@pytest.fixture
def icl(monkeypatch, capsys):
    """What `python -m icl …` does, in this process: its exit status, and what it wrote."""

    def typed(*arguments):
        monkeypatch.setattr(sys, "argv", ["icl", *map(str, arguments)])
        try:
            cli.main()
            status = 0
        except SystemExit as end:
            status = end.code
        wrote = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=wrote.out, stderr=wrote.err)

    return typed


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["run", "01_one_step"], "did you mean '01_one_step_gd'"),
        (["run", "99"], "there is no chapter '99'"),
        (["run", "03", "-p", "beta_norm=1"], "03_nonlinear_targets has no parameter 'beta_norm'"),
        (["run", "01_one_step_gd", "-p", "sigma=1"], "did you mean 'sigma2'"),
        (["run", "01_one_step_gd", "-p", "d=notanint"], "d must be a whole number"),
        (["run", "01_one_step_gd", "-p", "d=0"], "d = 0 does not fit"),
        (["run", "01_one_step_gd", "-p", "n=0"], "n = 0 does not fit"),
        (["run", "01_one_step_gd", "-p", "sigma2=nan"], "sigma2 = nan"),
        (["run", "01_one_step_gd", "-p", "sigma2=-1"], "sigma2 = -1.0"),
        (["run", "01_one_step_gd", "-p", "profile=fast"], "profile = 'fast'"),
    ],
)
def test_mistakes(icl, tmp_path, arguments, complaint):
    result = icl(*arguments, "--out", tmp_path / "out")
    assert result.returncode == 1 and complaint in result.stderr
    assert "Traceback" not in result.stderr and len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_unwritable_folder(icl, tmp_path):
    (tmp_path / "file").write_text("")
    result = icl("run", "01_one_step_gd", "--out", tmp_path / "file" / "out")
    assert result.returncode == 1 and "choose another with --out" in result.stderr and "Traceback" not in result.stderr


def test_unknown_commands_and_profiles(icl):
    assert "No such command" in icl("rum").stderr
    result = icl("claims", "--profile", "fast")
    assert result.returncode == 1 and "profiles: quick, standard, paper" in result.stderr


def test_claims_without_a_run(icl, tmp_path):
    result = icl("claims", "--run", tmp_path)
    assert (
        result.returncode == 1
        and f"holds no chapter's ledger; `python -m icl run CHAPTER --out {tmp_path}` writes one." in result.stderr
    )
    assert "make book PROFILE=paper` writes one" in icl("claims", "--profile", "paper").stderr
    assert "default: _build/runs/CHAPTER" in " ".join(icl("run", "--help").stdout.split())


def test_help_lists_the_commands(icl):
    assert icl("--version").stdout == f"icl {__version__}\n"
    shown = icl("--help").stdout
    for command in ("run", "claims", "check", "baselines", "book", "sync"):
        assert command in shown


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """The command line on a made-up run of every chapter; returns a function that calls it."""
    fake_run.write(tmp_path / "run")
    for module in (cli, book):
        monkeypatch.setattr(module, "run_folder", lambda profile: tmp_path / "run")
    monkeypatch.setattr(cli, "BASELINES", tmp_path / "baselines")
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    return lambda *arguments: CliRunner().invoke(cli.commands, list(map(str, arguments)))


def test_a_failing_claim_is_a_failing_command(made_up, tmp_path):
    held = made_up("claims", "--run", tmp_path / "run")
    assert held.exit_code == 0 and f"{len(CHAPTERS)} claims: {len(CHAPTERS)} hold." in held.output
    fake_run.write(tmp_path / "run", verdict="fails")
    failed = made_up("claims", "--run", tmp_path / "run")
    first = next(iter(catalogue(next(iter(CHAPTERS)))))
    assert failed.exit_code == 1 and "1 fail" in failed.output
    assert f"Failing, and the book does not say why: {first}." in failed.output
    assert ": fails; " in made_up("summary").output
    assert [claim["chapter"] for claim in json.loads(made_up("claims", "--json").stdout)] == list(CHAPTERS)


def test_a_folder_may_hold_one_chapter(made_up, tmp_path):
    for chapter in list(CHAPTERS)[1:]:
        (tmp_path / "run" / f"{chapter}.json").unlink()
    assert "1 claim: 1 holds." in made_up("claims", "--run", tmp_path / "run").output
    whole = made_up("claims")
    assert whole.exit_code == 1 and f"{chapter}: stale, for it has not run; `python -m icl run" in str(whole.exception)


def test_a_moved_number_is_a_failing_command_until_it_is_accepted(made_up, tmp_path):
    assert made_up("baselines").exit_code == 0
    still = made_up("check")
    assert still.exit_code == 0 and "Every number is where its baseline is." in still.output
    fake_run.write(tmp_path / "run", measured=1.25 + 1e-3)
    moved = made_up("check")
    assert moved.exit_code == 1 and moved.output.startswith("1 number of 1 column moved")
    assert "1.25 → 1.251" in moved.output and "make drift" in moved.output
    first, second, *_ = CHAPTERS
    assert made_up("check", first).exit_code == 1 and made_up("check", second).exit_code == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "baselines").rglob("*.csv")}
    assert "1.25 → 1.251" in made_up("baselines").output
    written = {path.parent.name for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert written == {first}, "what did not move stays as it is"
    assert made_up("check").exit_code == 0
    assert f"{second}: baselines written" in made_up("baselines", second).output, "one that is named is written"


def test_a_verdict_that_changed_is_not_the_machine_s(made_up, tmp_path):
    made_up("baselines")
    fake_run.write(tmp_path / "run", verdict="fails")
    said = made_up("check").output
    assert said.startswith("1 verdict changed: ") and "make drift" not in said


def test_a_page_that_vanished_is_a_failing_command(made_up, tmp_path):
    made_up("baselines")
    path = tmp_path / "baselines" / "contents.json"
    write_atomically(path, path.read_text().replace("book/claims", "book/none"))
    said = made_up("check")
    assert said.exit_code == 1 and "page book/none: vanished" in said.output


@pytest.mark.parametrize("command", ["claims", "check", "summary", "baselines", "book"])
def test_results_of_other_code_are_never_green(made_up, tmp_path, command):
    made_up("baselines")
    path = tmp_path / "run" / f"{next(iter(CHAPTERS))}.provenance.json"
    write_atomically(path, path.read_text().replace('"icl/ledger.py": "', '"icl/ledger.py": "0'))
    failed = made_up(command)
    assert isinstance(failed.exception, WorkflowError) and "icl/ledger.py changed since" in str(failed.exception)


FIRST = "01_one_step_gd"


def visible(folder) -> list:
    """What lies in a folder but the workflow's own notes."""
    return [path.name for path in folder.iterdir() if not path.name.startswith(".")]


def test_a_job_of_a_killed_snakemake_ends(tmp_path):
    job = [sys.executable, "-m", "icl", "--with-parent", "run", FIRST, "--out", str(tmp_path / "out")]
    code = f"import subprocess; job = subprocess.Popen({job!r}); print(job.pid, flush=True); job.wait()"
    settings = dict(env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with subprocess.Popen([sys.executable, "-c", code], **settings) as parent:
        process = int(parent.stdout.readline())
        while not (tmp_path / "out").exists():
            assert parent.poll() is None
            time.sleep(0.05)
        parent.kill()
    assert ends(process) and visible(tmp_path / "out") == []


def test_an_interrupt_is_one_line(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-m", "icl", "run", "1", "--out", tmp_path],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    while not list(tmp_path.glob(".*.scratch-*")):
        assert run.poll() is None
        time.sleep(0.05)
    time.sleep(3)  # the kernel is there, and a cell is waited for
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1].splitlines()
    assert run.returncode == 130 and visible(tmp_path) == [] and not list(tmp_path.glob(".*.scratch-*"))
    assert [line.partition(":")[0] for line in said if line] == [FIRST, "icl"] and "interrupted" in said[-1]


def test_a_notebook_without_a_chapter_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(cli, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(cli, "CHAPTERS", {})
    (tmp_path / "07_mine.py").write_text("# %%\n")
    with pytest.raises(InputError, match="no chapter has the notebook 07_mine: .*chapter.toml"):
        CliRunner().invoke(cli.commands, ["sync"], catch_exceptions=False, standalone_mode=False)
