"""The house rules: pins agree, imports run one way, public functions say what they take and where they come from."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from icl.workflow.layout import ROOT, repository

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = {
    canonicalize_name(line.split("==")[0]): line.split("==")[1].strip()
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if "==" in line and not line.startswith("#")
}
MODULES = sorted(path.relative_to(ROOT) for path in (ROOT / "icl").rglob("*.py"))


def requirements():
    extras = PYPROJECT["project"]["optional-dependencies"].values()
    return [Requirement(line) for group in (PYPROJECT["project"]["dependencies"], *extras) for line in group]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_the_lock_satisfies_pyproject(requirement):
    assert requirement.specifier.contains(LOCK[canonicalize_name(requirement.name)])


def test_the_environment_is_the_lock():
    """What is installed is what the lock says, and the lock says all of it."""
    from importlib.metadata import distributions

    installed = {canonicalize_name(d.metadata["Name"]): d.version.removesuffix("+cpu") for d in distributions()}
    for name in ("icl", "pip"):
        installed.pop(name, None)
    assert installed == LOCK


def test_the_lock_suits_the_oldest_supported_python():
    """Debian 12 ships Python 3.11.2, and some packages refuse early patch releases."""
    from importlib.metadata import distributions

    oldest = "3.11.2"
    wanted = {d.metadata["Name"]: d.metadata.get("Requires-Python") or ">=3" for d in distributions()}
    assert [name for name, python in wanted.items() if not SpecifierSet(python).contains(oldest)] == []


def test_conda_and_binder_take_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python = next(line for line in environment["dependencies"] if isinstance(line, str) and line.startswith("python"))
    pip = next(line["pip"] for line in environment["dependencies"] if isinstance(line, dict))
    assert python == "python=3.11" and PYPROJECT["project"]["requires-python"].startswith(">=3.11,<3.12")
    assert "-r requirements.lock" in pip and "-e ." in pip
    named = [line for line in pip if not line.startswith("-")]
    assert named == [], "every pin comes from the lock, none from a second list"


def test_jupyter_book_stays_at_1():
    """Version 2 does not read _config.yml and exits 0 without building a page."""
    assert LOCK["jupyter-book"].startswith("1.") and LOCK["sphinx-book-theme"] == "1.1.4"


def test_one_place_knows_the_address():
    address = repository().removeprefix("https://")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    holders = [name for name in tracked if address in (ROOT / name).read_text(encoding="utf-8", errors="ignore")]
    assert set(holders) <= {"pyproject.toml"}


def test_imports_run_one_way():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    result = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_lint():
    for arguments in (["check"], ["format", "--check"]):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--no-cache"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[1] == "theory"], ids=str)
def test_theory_is_numpy_and_scipy_only(module):
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    standard = {name for name in imported if name in sys.stdlib_module_names}
    assert imported - standard <= {"numpy", "scipy", "icl"}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_are_read_in_one_sitting(module):
    lines = (ROOT / module).read_text().splitlines()
    assert len(lines) <= 260, "split it"
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is long"


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[1] in ("theory", "solvers", "models")], ids=str)
def test_public_mathematics_names_its_source(module):
    """A paper and its year, or «this book», in the module's docstring or in one of its functions'."""
    tree = ast.parse((ROOT / module).read_text())
    documented = [
        ast.get_docstring(node) or "" for node in [tree, *tree.body] if isinstance(node, ast.Module | ast.FunctionDef)
    ]
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    assert not public or re.search(r"\b(?:19|20)\d\d\b|[Tt]his book", "\n".join(documented))


def test_no_machine_paths():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    pattern = re.compile(r"(?<![\w.])/(?:tmp|work|root|home|opt/wheels)/")
    for name in tracked:
        if name.endswith((".py", ".md", ".yml", ".toml", ".ipynb", ".lock")) and name != "tests/test_house.py":
            assert not pattern.search((ROOT / name).read_text(encoding="utf-8")), name
