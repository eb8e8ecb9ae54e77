"""Whatever is typed: a kernel starts, or one sentence and a status; never a traceback, never a partial output."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from icl.chapters import CHAPTERS
from icl.parameters import PROFILES
from press import cli, run
from press.layout import ROOT


class KernelStarted(Exception):
    """Everything was accepted."""


NAMES = ["d", "n", "sigma2", "seed", "profile", "condition", "beta_norm", "D", "sigma", "", "d ", "-p"]
numbers = st.integers().map(str) | st.floats().map(str) | st.sampled_from(["1e400", "-0", "0x10", "1_0", "٣", "1,5"])
values = numbers | st.sampled_from([*PROFILES, "quik", "$(touch x)", "; rm -rf x", "../../etc"]) | st.text(max_size=12)
assignments = st.tuples(st.sampled_from(NAMES) | st.text(max_size=6), values).map("=".join) | st.text(max_size=9)
chapters = st.sampled_from([*CHAPTERS, "01_one_step", "../01_one_step_gd", "", "."]) | st.text(max_size=12)
folders = st.sampled_from(
    ["out", "", " ", ".", "..", "../../etc", "out/../../up", "a\0b", "\udcff", "x" * 300, "~nobody/x"]
)


def typed(arguments, monkeypatch, folder) -> tuple[object, str]:
    """The exit status («kernel» where one would start) and stderr of `icl` run in `folder`."""

    def started(*_):
        raise KernelStarted

    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["icl", *arguments])
        patch.setattr(run, "_execute", started)
        said = []
        patch.setattr(cli.click, "echo", lambda text="", **_: said.append(str(text)))
        try:
            cli.main()
        except SystemExit as end:
            return end.code, "\n".join(said)
        except KernelStarted:
            return "kernel", ""
    return 0, "\n".join(said)


@settings(max_examples=150)
@given(chapters, st.lists(assignments, max_size=3), st.none() | folders)
@example("01_one_step_gd", ["d=3", "d=4"], None)
@example("01_one_step_gd", ["d=" + "9" * 5000], None)
@example("01_one_step_gd", [], "\udcff")
def test_run(tmp_path_factory, chapter, given_values, out):
    folder = tmp_path_factory.mktemp("cwd")
    outside = set(folder.parent.iterdir())
    arguments = ["run", *(["--out", out] if out is not None else [])]
    for value in given_values:
        arguments += ["-p", value]
    with pytest.MonkeyPatch.context() as patch:
        status, said = typed([*arguments, "--", chapter], patch, folder)
    assert status in ("kernel", 1, 2), said
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert files == [] and set(folder.parent.iterdir()) == outside
    if status == 1:
        complaint = said.splitlines()[-1]
        assert complaint.startswith("icl: ") and complaint.endswith((".", "?")) and len(complaint) < 800
        assert [path for path in folder.iterdir() if path.name != "_build"] == []


@settings(max_examples=60)
@given(
    st.sampled_from(["claims", "check", "baselines", "book", "summary"]) | st.text(max_size=8),
    st.sampled_from(["quik", "Quick", "", "quick; touch x", "../paper"])
    | st.text(max_size=8).filter(lambda text: text not in PROFILES),
)
def test_profiles_and_commands(tmp_path_factory, command, profile):
    folder = tmp_path_factory.mktemp("cwd")
    with pytest.MonkeyPatch.context() as patch:
        status, said = typed([command, f"--profile={profile}"], patch, folder)
    assert status in (1, 2) or command in ("", "--help", "-h"), said
    assert list(folder.iterdir()) == []


def test_the_nearest_is_suggested(tmp_path, monkeypatch):
    for arguments, suggestion in (
        (["run", "one_step_gd"], "did you mean '01_one_step_gd'"),
        (["run", "01_one_step_gd", "-p", "sigam2=1"], "did you mean 'sigma2'"),
        (["run", "01_one_step_gd", "-p", "profile=quik"], "'quick', 'standard', 'paper' or 'claims'"),
        (["claims", "--profile", "standart"], "did you mean 'standard'"),
    ):
        assert suggestion in typed(arguments, monkeypatch, tmp_path)[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "01_one_step_gd", "-p", "d=\udcff"],
        ["run", "01_one_step_gd", "--out", "\udcfe", "-p", "n=3"],
        ["run", "../../x"],
        ["claims", "--run", "x" * 5000],
    ],
)
def test_real_processes(tmp_path, arguments):
    (tmp_path / "cwd").mkdir()
    result = subprocess.run(
        [sys.executable, "-m", "icl", *arguments],
        cwd=tmp_path / "cwd",
        capture_output=True,
        text=True,
        errors="replace",
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
    )
    assert result.returncode == 1 and "Traceback" not in result.stderr and result.stdout == ""
    assert "icl: " in result.stderr.strip().splitlines()[-1] and list((tmp_path / "cwd").iterdir()) == []
