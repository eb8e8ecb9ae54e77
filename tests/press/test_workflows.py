"""GitHub Actions: valid, pinned by digest, least permissions, and they call the same make targets as people do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from press.layout import ROOT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))


def tool(name: str, *arguments) -> subprocess.CompletedProcess:
    path = Path(sys.executable).with_name(name)
    return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True)


def schema(*files) -> subprocess.CompletedProcess:
    return tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)


def lint(*files) -> subprocess.CompletedProcess:
    """zizmor: actions not pinned by digest, too many permissions, credentials that persist, injected expressions."""
    return tool("zizmor", "--offline", "--no-progress", "--persona", "pedantic", *files)


def test_the_four_are_there():
    assert {path.stem for path in FILES} == {"test", "book", "nightly", "newest-versions"}


def test_they_fit_githubs_schema():
    result = schema(*FILES)
    assert result.returncode == 0, result.stdout


def test_they_are_safe():
    result = lint(*FILES)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actions_are_pinned_by_digest_and_permissions_are_least(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action) for action, _ in used)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in used)
    assert workflow["permissions"] == {}
    granted = {f"{name}: {right}" for job in workflow["jobs"].values() for name, right in job["permissions"].items()}
    assert granted <= {"contents: read"} | ({"pages: write", "id-token: write"} if path.stem == "book" else set())
    assert all("timeout-minutes" in job and job["runs-on"] != "ubuntu-latest" for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_call_make(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    for command in commands:
        assert command in (".ci/run", 'make "$TARGET"') or command.removeprefix("make ") in TARGETS, command
    for job in workflow["jobs"].values():
        assert set(job.get("strategy", {}).get("matrix", {}).get("target", [])) <= TARGETS
