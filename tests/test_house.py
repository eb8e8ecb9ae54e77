"""The house rules: pins agree, imports run one way, public functions say what they take and where they come from."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import warnings

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from press.layout import ROOT, repository

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = {
    canonicalize_name(line.split("==")[0]): line.split("==")[1].strip()
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if "==" in line and not line.startswith("#")
}
MODULES = sorted(path.relative_to(ROOT) for room in ("icl", "press", "trials") for path in (ROOT / room).rglob("*.py"))


def requirements():
    optional = PYPROJECT["project"]["optional-dependencies"]
    extras = [group for name, group in optional.items() if name != "cluster"]  # for clusters, beside the lock
    return [Requirement(line) for group in (PYPROJECT["project"]["dependencies"], *extras) for line in group]


def missing_from(lock: dict, wanted) -> list[str]:
    """Requirements that a lock does not satisfy."""
    found = {requirement: lock.get(canonicalize_name(requirement.name)) for requirement in wanted}
    return [str(r) for r, version in found.items() if version is None or not r.specifier.contains(version)]


def test_the_lock_satisfies_pyproject():
    assert missing_from(LOCK, requirements()) == []


def test_the_environment_is_the_lock():
    """What is installed is what the lock says, and the lock says all of it."""
    from importlib.metadata import distributions

    installed = {canonicalize_name(d.metadata["Name"]): d.version.removesuffix("+cpu") for d in distributions()}
    # a CUDA build of PyTorch brings its libraries along
    cuda = {name for name in installed if name == "triton" or name.startswith(("nvidia-", "cuda-"))}
    for name in {"icl", "pip"} | (cuda - {*LOCK}):
        installed.pop(name, None)
    assert installed == LOCK


def test_the_lock_suits_the_oldest_supported_python():
    """Debian 12 ships Python 3.11.2, and some packages refuse early patch releases."""
    from importlib.metadata import distributions

    oldest = "3.11.2"
    wanted = {d.metadata["Name"]: d.metadata.get("Requires-Python") or ">=3" for d in distributions()}
    assert [name for name, python in wanted.items() if not SpecifierSet(python).contains(oldest)] == []


def environment_gaps(environment: dict) -> list[str]:
    """What in environment.yml is not the lock's."""
    listed = environment["dependencies"]
    pip = next((line["pip"] for line in listed if isinstance(line, dict)), [])
    return [
        *(["python=3.11"] if "python=3.11" not in listed else []),
        *(wanted for wanted in ("-r requirements.lock", "-e .") if wanted not in pip),
        *(line for line in pip if not line.startswith("-")),  # every pin comes from the lock, none from a second list
        *(line for line in listed if isinstance(line, str) and line not in ("python=3.11", "pip")),
    ]


ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


def test_conda_and_binder_take_the_same_pins():
    assert environment_gaps(ENVIRONMENT) == []
    assert PYPROJECT["project"]["requires-python"].startswith(">=3.11,<3.12")


def test_jupyter_book_stays_at_1():
    """Version 2 does not read _config.yml and exits 0 without building a page."""
    assert LOCK["jupyter-book"].startswith("1.") and LOCK["sphinx-book-theme"] == "1.1.4"


@pytest.mark.skipif(repository() is None, reason="the public address is not decided yet")
def test_one_place_knows_the_address():
    address = repository().removeprefix("https://")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    holders = [name for name in tracked if address in (ROOT / name).read_text(encoding="utf-8", errors="ignore")]
    # the first cell of every .ipynb is made from it, and the pair's check refuses another
    assert {name for name in holders if not name.endswith(".ipynb")} <= {"pyproject.toml"}


def broken_layers(root) -> str:
    """What import-linter says of the package under `root`; empty when every import runs one way."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = subprocess.run([*command, "--no-cache"], cwd=root, capture_output=True, text=True, env=environment)
    return result.stdout if result.returncode else ""


def test_imports_run_one_way():
    assert broken_layers(ROOT) == ""


def test_a_warning_is_an_error():
    with pytest.raises(UserWarning):
        warnings.warn("careful", stacklevel=1)


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


def test_every_draw_has_a_generator_that_is_told_its_seed():
    """An unseeded generator moves printed numbers from build to build; no other test would see it."""
    found = []
    for path in (*MODULES, *(p.relative_to(ROOT) for p in (ROOT / "notebooks").glob("*.py"))):
        for call in (node for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            unseeded = name.endswith(("default_rng", "SeedSequence")) and not (call.args or call.keywords)
            shared = re.match(r"(np|numpy)\.random\.(?!default_rng|SeedSequence|Generator|PCG64|Philox)", name)
            if unseeded or shared:
                found.append(f"{path}:{call.lineno} {name}")
    assert found == []
