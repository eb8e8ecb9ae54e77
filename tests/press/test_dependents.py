"""Changing a module executes exactly the chapters that import it; changing prose executes none."""

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from icl.chapters import CHAPTERS
from icl.files import write_atomically
from press import notebooks
from press import sources as graph
from press.layout import ROOT
from press.sources import chapter_sources, code_file

MODULES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "icl").rglob("*.py"))
RUNNER = {"press/run.py", "press/__init__.py"}  # executes every chapter


@cache
def imported(path: Path) -> set[str]:
    """Files of `icl` that a file imports itself, anywhere in it: read from the text, apart from the graph's own way.

    Of a package's `__init__.py` what it imports at once: `icl.cite` fetches its module when somebody asks for it.
    """
    names, tree = set(), ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if path.name == "__init__.py" else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    found = set()
    for name in (name for name in names if name.split(".")[0] == "icl"):
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            stem = ROOT.joinpath(*parts[:length])
            found |= {p for p in (stem / "__init__.py", stem.with_suffix(".py")) if p.is_file()}
    return {str(p.relative_to(ROOT)) for p in found}


def reached(chapter: str) -> set[str]:
    """Everything in `icl` that a chapter's notebook imports, however indirectly."""
    found, open_ = set(), imported(ROOT / "notebooks" / f"{chapter}.py")
    while open_:
        found |= open_
        open_ = set().union(*(imported(ROOT / name) for name in open_)) - found
    return found


@pytest.fixture(scope="module")
def dependents():
    """For each chapter what its notebook reaches, and what the workflow takes it to depend on."""
    return {chapter: (reached(chapter) | RUNNER, set(chapter_sources(chapter))) for chapter in CHAPTERS}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_is_executed_by_exactly_the_modules_that_it_imports(dependents, chapter):
    needed, sources = dependents[chapter]
    assert sources & {*MODULES} == needed & {*MODULES}


def test_some_modules_are_one_chapters_and_some_are_all(dependents):
    counts = {module: sum(module in sources for _, sources in dependents.values()) for module in MODULES}
    assert counts["icl/ledger.py"] == len(CHAPTERS) and counts["icl/models/pair_decoder.py"] == 1
    assert counts["icl/theory/gradient_flow.py"] == 1
    assert 1 < counts["icl/theory/wishart.py"] < len(CHAPTERS)


def test_the_code_file_changes_with_code_only(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(graph, "BUILD", tmp_path / "build")
    source = (ROOT / "notebooks" / "05_gd_beta_gradient_flow.py").read_text(encoding="utf-8")
    write = lambda text: write_atomically(tmp_path / "x.py", text)
    write(source)
    before = code_file("x").stat().st_mtime_ns
    edited = source.replace("# And\n", "# and\n").replace("The answers:", "In short:")
    edited = edited.replace('# %% tags=["hide-input"]', "# %%", 1)
    assert edited != source
    write(edited)
    assert code_file("x").stat().st_mtime_ns == before
    write(edited.replace("import numpy as np", "import numpy as np  # changed"))
    assert code_file("x").stat().st_mtime_ns > before


@pytest.fixture
def built(tmp_path):
    """A checkout in which everything has just been built, as far as the workflow can see."""
    for name in ("Snakefile", "icl", "notebooks", "book", "press", "_config.yml", "_toc.yml", "CITATION.cff",
                 "pyproject.toml", "requirements.lock", "results"):  # fmt: skip
        if (ROOT / name).exists():
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    planned(tmp_path)  # writes the code files
    for chapter in CHAPTERS:
        for name in (f"{chapter}.json", f"{chapter}.ipynb", f"{chapter}.provenance.json", f"{chapter}/f.csv"):
            write_atomically(tmp_path / "_build/run/quick" / name, "x")
    write_atomically(tmp_path / "_build/html/.built-quick", "")
    return tmp_path


def planned(checkout) -> dict[str, set[str]]:
    """What `make book` would do in a checkout: rule → chapters (or nothing)."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "1",
        "-n",
        "--nolock",
        "--rerun-triggers",
        "mtime",
        "--",
        "book",
    ]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    jobs = re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)+)", result.stdout + result.stderr, flags=re.M)
    plan: dict[str, set[str]] = {}
    for rule, details in jobs:
        plan.setdefault(rule, set()).update(re.findall(r"wildcards: chapter=(\S+)", details))
    return plan


def touch(path, change=lambda text: text):
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    later = time.time() + 5
    os.utime(path, (later, later))


def test_what_the_workflow_would_do(built):
    assert planned(built) == {}, "nothing changed, nothing to do"
    chapter = built / "notebooks" / "05_gd_beta_gradient_flow.py"
    touch(chapter, lambda text: text.replace("The answers:", "In short:"))
    touch(chapter.with_suffix(".ipynb"))
    plan = planned(built)
    assert "chapter" not in plan and "html" in plan, "prose: the pages are made again, nothing is executed"
    touch(built / "icl" / "theory" / "gradient_flow.py")
    result, later = built / "results" / "checkpoints" / "noisy-seed0.safetensors", time.time() + 5
    os.utime(result, (later, later))
    assert planned(built)["chapter"] == {"05_gd_beta_gradient_flow", "07_trained_transformers"}


@pytest.mark.parametrize(
    "name, chapters",
    [
        ("base-seed0.safetensors", {"07_trained_transformers", "12_your_own_model"}),
        ("noisy-seed0.safetensors", {"07_trained_transformers"}),
        ("table1.json", {"04_mlp_benefit"}),
        ("training_ladder.json", {"04_mlp_benefit"}),
    ],
)
def test_a_result_of_a_long_training_is_a_source_of_the_chapters_that_read_it(dependents, name, chapters):
    assert {chapter for chapter, (_, found) in dependents.items() if f"results/checkpoints/{name}" in found} == chapters
