"""Notebook files: the pair of .py and .ipynb, and what is tidied from an executed one.

Where pyproject.toml has a public address, the .ipynb begins with one cell that the .py does not have: on Colab, which
opens the file alone, it fetches the book's package and its versions.
"""

import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from icl.files import sha256
from icl.validation import InputError
from press.layout import NOTEBOOKS, repository

_PROGRESS = re.compile(r"[^\n\r]*\d+(?:%\||it \[)[^\n\r]*")  # one state of a tqdm bar


_COLAB = """\
# On Colab: fetch the book's package and its versions. Elsewhere: nothing.
import sys

if "google.colab" in sys.modules:
    from importlib.metadata import version
    from pathlib import Path
    from subprocess import run

    address = "{address}"
    if not Path("book").exists():
        run(["git", "clone", "-q", "--depth", "1", address, "book"], check=True)
    run([sys.executable, "book/press/colab"], check=True)
    sys.path.insert(0, "book")
    loaded = getattr(sys.modules.get("numpy"), "__version__", None)
    if loaded not in (None, version("numpy")):
        sys.exit("Choose Runtime > Restart session, then run this cell again.")"""


def colab_cell(address: str) -> nbformat.NotebookNode:
    """The first cell of an .ipynb with a public address: hidden on the page, without effect except on Colab."""
    cell = new_code_cell(_COLAB.format(address=address), metadata={"tags": ["colab", "remove-cell"]})
    cell.id = "colab"
    return cell


def source_of(chapter: str) -> Path:
    """The .py from which a chapter's notebook is made."""
    return NOTEBOOKS / f"{chapter}.py"


def read_source(path: Path) -> nbformat.NotebookNode:
    """The notebook that a .py holds; a text is parsed once, which takes longer than all else that is asked of it."""
    return deepcopy(_parsed(path.read_text(encoding="utf-8")))


@cache
def _parsed(text: str) -> nbformat.NotebookNode:
    import jupytext  # takes a quarter of a second

    return jupytext.reads(text, fmt="py")


def check_pair(chapter: str) -> Path:
    """Path of the chapter's .ipynb; raises InputError when it is missing, differs from its .py or holds outputs."""
    source, paired = NOTEBOOKS / f"{chapter}.py", NOTEBOOKS / f"{chapter}.ipynb"
    for path in (source, paired):
        if not path.exists():
            raise InputError(f"{path} is missing; `make sync` writes the .ipynb from the .py.")
    notebook = nbformat.read(paired, as_version=4)
    if [_content(cell) for cell in _cells(source)] != [_content(cell) for cell in notebook.cells]:
        raise InputError(f"{paired.name} and {source.name} differ; run `make sync` to take the .py's cells.")
    if any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells):
        raise InputError(f"{paired.name} holds outputs; run `make sync` to strip them.")
    return paired


def synchronise(chapter: str) -> Path:
    """Write the chapter's .ipynb from its .py, without outputs, keeping the ids of cells that did not change."""
    import jupytext

    source, paired = NOTEBOOKS / f"{chapter}.py", NOTEBOOKS / f"{chapter}.ipynb"
    fresh = read_source(source)
    fresh.cells = _cells(source)
    known: dict[tuple, list[str]] = {}
    if paired.exists():
        for cell in nbformat.read(paired, as_version=4).cells:
            known.setdefault(_content(cell), []).append(cell.id)
    for number, cell in enumerate(cell for cell in fresh.cells if not _tagged(cell, "colab")):
        kept = known.get(_content(cell))
        cell.id = kept.pop(0) if kept else f"{chapter[:2]}-{number:03d}-{_short_digest(cell.source)}"
    jupytext.write(fresh, paired, fmt="ipynb")
    return paired


def tidy(notebook: nbformat.NotebookNode) -> list[str]:
    """Remove from an executed notebook what differs between two runs; returns the lines written to stderr.

    Goes: papermill's metadata, times, progress bars. The injected parameters keep a fixed id and are hidden.
    """
    warnings = []
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if _tagged(cell, "injected-parameters"):
            cell.id = "injected-parameters"
            cell.metadata["tags"] = ["injected-parameters", "remove-cell"]
        if cell.cell_type == "code":
            errors = "".join(out.text for out in cell.outputs if out.get("name") == "stderr")
            left = _PROGRESS.sub("", errors).replace("\r", "")
            warnings += [line for line in left.splitlines() if line.strip()]
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    return warnings


def code(notebook: nbformat.NotebookNode) -> list[tuple[str, bool]]:
    """What decides the outputs: every code cell's source, and whether it holds the parameters; not tags, not prose."""
    return [(cell.source, _tagged(cell, "parameters")) for cell in _code_cells(notebook)]


def code_of(text: str) -> list[tuple[str, bool]]:
    """`code` of a .py's text, without Jupytext: a build with nothing to do would wait a second for the parsing alone.

    What is not marked as Markdown counts as code.
    """
    parts = re.split(r"^#\s?%%(.*)\n", text, flags=re.MULTILINE)[1:]
    cells = zip(parts[::2], parts[1::2], strict=True)
    return [(body.rstrip("\n"), '"parameters"' in mark) for mark, body in cells if "[markdown]" not in mark]


def with_outputs(notebook: nbformat.NotebookNode, ran: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """`notebook` as it is now with the outputs of `ran`, an earlier execution of the same code.

    The cell of injected parameters is taken over. Raises InputError where the code differs.
    """
    if code(notebook) != code(ran):
        raise InputError(f"the code of {name} is not what ran last; `make book` runs it again.")
    outputs, injected = iter(_code_cells(ran)), [cell for cell in ran.cells if _tagged(cell, "injected-parameters")]
    merged = nbformat.v4.new_notebook(metadata=ran.metadata, nbformat_minor=ran.nbformat_minor)
    for cell in notebook.cells:
        if cell.cell_type == "code" and not _tagged(cell, "colab"):
            done = next(outputs)
            cell = nbformat.from_dict({**cell, "outputs": done.outputs, "execution_count": done.execution_count})
        merged.cells.append(cell)
        if _tagged(cell, "parameters"):
            merged.cells += injected
    return merged


def _code_cells(notebook) -> list:
    ours = ("injected-parameters", "colab")  # not the chapter's
    return [cell for cell in notebook.cells if cell.cell_type == "code" and not _tagged(cell, *ours)]


def _tagged(cell, *tags: str) -> bool:
    return not set(tags).isdisjoint(cell.metadata.get("tags", []))


def _cells(source: Path) -> list:
    """The cells that the .ipynb of a .py has."""
    cells = [cell for cell in read_source(source).cells if not _tagged(cell, "colab")]
    return [colab_cell(repository()), *cells] if repository() else cells


def _content(cell) -> tuple:
    return cell.cell_type, cell.source, tuple(cell.metadata.get("tags", []))


def _short_digest(text: str) -> str:
    return sha256(text)[:8]
