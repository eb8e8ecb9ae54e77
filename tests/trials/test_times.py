"""The clock over continuous integration, on a small repository of the tests' own."""

import subprocess

import pytest

from icl.files import read_sealed
from press.layout import WorkflowError
from trials import times

PASSES = """test ! -e untracked && test -z "${MAKEFLAGS:-}${PYTHONPATH:-}" && sleep 0.6
echo "make test: everything passed, in 12 s."
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A function that gives a repository in place of ours this `.ci/run`."""
    root = tmp_path / "repository"
    monkeypatch.setattr(times, "ROOT", root)
    monkeypatch.setattr(times, "MEASUREMENTS", tmp_path / "measurements")
    monkeypatch.setenv("MAKEFLAGS", "w")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")

    def commit(script):
        (root / ".ci").mkdir(parents=True, exist_ok=True)
        (root / ".ci" / "run").write_text("set -e\n" + script)
        name = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        for command in (["init", "-q"], ["add", "-A"], [*name, "commit", "-q", "--no-verify", "-m", "it"]):
            subprocess.run(["git", *command], cwd=root, check=True)
        (root / "untracked").write_text("not of the commit")

    return commit


def test_a_clone_is_timed_without_what_is_this_commands_own(repository):
    repository(PASSES)
    found = times.measure()
    assert found["tests"] == 12 and found["ci"] == 1 and found["cores"] >= 1 and found["cpu"]


def test_the_last_runs_are_kept(repository, tmp_path):
    for seconds in range(times.KEPT + 2):
        path = times.save({"tests": seconds})
    assert path == tmp_path / "measurements" / "times.json"
    assert [run["tests"] for run in read_sealed(path)["runs"]] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("script", [PASSES + "exit 3\n", "echo 'make test: something failed, see above.'\n"])
def test_what_fails_is_not_timed(repository, script):
    repository(script)
    with pytest.raises(WorkflowError, match="failed in a fresh clone; it ended with\n"):
        times.measure()
