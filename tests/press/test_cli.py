"""The command line as a person meets it: one sentence and a status for every mistake, nothing written."""

import subprocess
import sys

import fake_run
import pytest
from click.testing import CliRunner

from icl.chapters import CHAPTERS
from press import cli
from press.layout import ROOT


def icl(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "icl", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["run", "01_one_step"], "did you mean '01_one_step_gd'"),
        (["run", "01_one_step_gd", "-p", "sigma=1"], "did you mean 'sigma2'"),
        (["run", "01_one_step_gd", "-p", "d=notanint"], "d must be a whole number"),
        (["run", "01_one_step_gd", "-p", "d=0"], "d = 0 does not fit"),
        (["run", "01_one_step_gd", "-p", "n=0"], "n = 0 does not fit"),
        (["run", "01_one_step_gd", "-p", "sigma2=nan"], "sigma2 = nan"),
        (["run", "01_one_step_gd", "-p", "sigma2=-1"], "sigma2 = -1.0"),
        (["run", "01_one_step_gd", "-p", "profile=fast"], "profile = 'fast'"),
    ],
)
def test_mistakes(tmp_path, arguments, complaint):
    result = icl(*arguments, "--out", tmp_path / "out")
    assert result.returncode == 1 and complaint in result.stderr
    assert "Traceback" not in result.stderr and len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_unwritable_folder(tmp_path):
    (tmp_path / "file").write_text("")
    result = icl("run", "01_one_step_gd", "--out", tmp_path / "file" / "out")
    assert result.returncode == 1 and "choose another with --out" in result.stderr and "Traceback" not in result.stderr


def test_unknown_commands_and_profiles():
    assert "No such command" in icl("rum").stderr
    result = icl("claims", "--profile", "fast")
    assert result.returncode == 1 and "profiles: quick, standard, paper" in result.stderr


def test_claims_without_a_run(tmp_path):
    result = icl("claims", "--run", tmp_path)
    assert result.returncode == 1 and "run `make book`" in result.stderr


def test_help_lists_the_commands():
    shown = icl("--help").stdout
    for command in ("run", "claims", "check", "baselines", "book", "sync"):
        assert command in shown


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """The command line on a made-up run of every chapter; returns a function that calls it."""
    fake_run.write(tmp_path / "run")
    monkeypatch.setattr(cli, "run_folder", lambda profile: tmp_path / "run")
    monkeypatch.setattr(cli, "BASELINES", tmp_path / "baselines")
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    return lambda *arguments: CliRunner().invoke(cli.commands, list(map(str, arguments)))


def test_a_failing_claim_is_a_failing_command(made_up, tmp_path):
    held = made_up("claims", "--run", tmp_path / "run")
    assert held.exit_code == 0 and f"{len(CHAPTERS)} claims: {len(CHAPTERS)} hold." in held.output
    fake_run.write(tmp_path / "run", verdict="fails")
    failed = made_up("claims", "--run", tmp_path / "run")
    assert failed.exit_code == 1 and "1 fail" in failed.output
    assert ": fails; " in made_up("summary").output


def test_a_moved_number_is_a_failing_command_until_it_is_accepted(made_up, tmp_path):
    assert made_up("baselines").exit_code == 0
    still = made_up("check")
    assert still.exit_code == 0 and "Every number is where its baseline is." in still.output
    fake_run.write(tmp_path / "run", measured=1.25 + 1e-3)
    moved = made_up("check")
    assert moved.exit_code == 1 and "1.25 → 1.251" in moved.output and "1 numbers moved." in moved.output
    assert "1.25 → 1.251" in made_up("baselines").output
    assert made_up("check").exit_code == 0
