"""Notebook files: the pair of .py and .ipynb, and what is tidied from an executed one."""

import hashlib
import re
from pathlib import Path

import jupytext
import nbformat

from icl.validation import InputError
from icl.workflow.layout import NOTEBOOKS

_PROGRESS = re.compile(r"[^\n\r]*\d+(?:%\||it \[)[^\n\r]*")  # one state of a tqdm bar


def check_pair(chapter: str) -> Path:
    """Path of the chapter's .ipynb; raises InputError when it is missing, differs from its .py or holds outputs."""
    source, paired = NOTEBOOKS / f"{chapter}.py", NOTEBOOKS / f"{chapter}.ipynb"
    for path in (source, paired):
        if not path.exists():
            raise InputError(f"{path} is missing; `make sync` writes the .ipynb from the .py.")
    notebook = nbformat.read(paired, as_version=4)
    if [_content(cell) for cell in jupytext.read(source).cells] != [_content(cell) for cell in notebook.cells]:
        raise InputError(f"{paired.name} and {source.name} differ; run `make sync` to take the .py's cells.")
    if any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells):
        raise InputError(f"{paired.name} holds outputs; run `make sync` to strip them.")
    return paired


def synchronise(chapter: str) -> Path:
    """Write the chapter's .ipynb from its .py, without outputs, keeping the ids of cells that did not change."""
    source, paired = NOTEBOOKS / f"{chapter}.py", NOTEBOOKS / f"{chapter}.ipynb"
    fresh = jupytext.read(source)
    known: dict[tuple, list[str]] = {}
    if paired.exists():
        for cell in nbformat.read(paired, as_version=4).cells:
            known.setdefault(_content(cell), []).append(cell.id)
    for number, cell in enumerate(fresh.cells):
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
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
            cell.metadata["tags"] = ["injected-parameters", "remove-cell"]
        if cell.cell_type == "code":
            errors = "".join(out.text for out in cell.outputs if out.get("name") == "stderr")
            left = _PROGRESS.sub("", errors).replace("\r", "")
            warnings += [line for line in left.splitlines() if line.strip()]
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    return warnings


def _content(cell) -> tuple:
    return cell.cell_type, cell.source, tuple(cell.metadata.get("tags", []))


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
