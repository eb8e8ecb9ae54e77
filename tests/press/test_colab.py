"""The first cell of notebooks with a public address: on Colab, the package from there in the lock's versions."""

import ast
import os
import subprocess
import sys

import nbformat
import pytest

from icl.chapters import CHAPTERS
from press.layout import NOTEBOOKS, ROOT, repository
from press.notebooks import colab_cell

ADDRESS = "https://example.org/book"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_notebook_begins_with_it_where_there_is_an_address(chapter):
    cell = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells[0]
    assert ("colab" in cell.metadata.get("tags", [])) == (repository() is not None)
    assert repository() is None or repository() in cell.source and "remove-cell" in cell.metadata["tags"]


def test_elsewhere_it_does_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("a command was run"))
    before = list(sys.path)
    exec(colab_cell(ADDRESS).source, {})
    assert sys.path == before and list(tmp_path.iterdir()) == []


def test_on_colab_it_brings_the_package_and_its_versions(tmp_path):
    """The cell in a fresh Python with a faked google.colab; git is told that the address is this checkout."""
    fake = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')\n"
    check = "\nimport icl, numpy; print(icl.__file__, numpy.__version__)"
    settings = {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": ADDRESS,
        "GIT_CONFIG_KEY_1": "safe.directory",
        "GIT_CONFIG_VALUE_1": "*",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": "",
    }
    for _ in range(2):  # run again after a restart of the session, it finds what it fetched
        result = subprocess.run(
            [sys.executable, "-P", "-c", fake + colab_cell(ADDRESS).source + check],
            cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        where, version = result.stdout.split()[-2:]
        assert where == str(tmp_path / "book" / "icl" / "__init__.py") or where == "book/icl/__init__.py"
        assert f"numpy=={version}" in (ROOT / "requirements.lock").read_text()


def test_it_installs_what_the_chapters_import():
    foreign = set()
    for path in (ROOT / "icl").rglob("*.py"):
        if path.name != "__main__.py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                foreign |= (
                    {name.split(".")[0] for name in names}
                    - set(sys.stdlib_module_names)
                    - {"icl", "latexcodec", "pydantic_core"}
                )
    script = ast.parse((ROOT / "press" / "colab").read_text(encoding="utf-8"))
    assigned = {node.targets[0].id: node.value for node in ast.walk(script) if isinstance(node, ast.Assign)}
    listed = ast.literal_eval(assigned["IMPORTED"])
    assert foreign == set(listed)
