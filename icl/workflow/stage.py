"""The staged tree that Jupyter Book builds: the repository's layout with each notebook replaced by its executed copy.

Launch buttons and edit links then point at files that exist in the repository, and the checkout stays clean.
"""

import html
import os
import re
import shutil
from importlib.metadata import files
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_output

from icl.claims import NOT_RUN, claims_table
from icl.files import write_atomically
from icl.validation import InputError
from icl.workflow import ledgers
from icl.workflow.layout import ROOT, repository

_COPIED = ("book", "assets", "CITATION.cff")
_MATHJAX = "tex-svg-full.js"


def stage(run: Path, target: Path) -> list[str]:
    """Build the tree in `target` (replaced) from the ledgers and notebooks in `run`; returns the pages, without suffix.

    Raises InputError when a chapter's run is missing, damaged or failed.
    """
    fresh = target.with_name(f".{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    all_ledgers = ledgers.read_all(run)
    for name in _COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, fresh / name)
    shutil.copy(_mathjax(), fresh / "assets" / _MATHJAX)
    for ledger in all_ledgers:
        _stage_chapter(run, fresh, ledger)
    write_atomically(fresh / "generated" / "claims.md", _claims_page(all_ledgers))
    write_atomically(fresh / "generated" / "summary.md", ledgers.summary(all_ledgers) + "\n")
    _configure(fresh)
    shutil.copy(ROOT / "_toc.yml", fresh)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(fresh, target)
    return pages()


def pages() -> list[str]:
    """Every page of the table of contents, without suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [page["file"] for part in toc.get("parts", [toc]) for page in part["chapters"]]
    return [toc["root"], *chapters]


def _stage_chapter(run: Path, tree: Path, ledger: dict) -> None:
    chapter = ledger["chapter"]
    notebook = nbformat.read(run / f"{chapter}.ipynb", as_version=4)
    if any(output.output_type == "error" for cell in notebook.cells for output in cell.get("outputs", [])):
        raise InputError(f"{chapter}.ipynb in {run} holds an error; run the chapter again before building the book.")
    notebook.cells.insert(0, _glue_cell(run, ledger))
    write_atomically(tree / "notebooks" / f"{chapter}.ipynb", nbformat.writes(notebook))
    # what readers download, under stable addresses
    data = tree / "extra" / "data" / chapter
    shutil.copytree(run / chapter, data)
    shutil.copy(run / f"{chapter}.json", data)


def _glue_cell(run: Path, ledger: dict) -> nbformat.NotebookNode:
    """A hidden cell whose outputs are the numbers and figures that the page's prose pastes."""
    numbers = {name: value for name, value in ledger["parameters"].items() if not isinstance(value, str)}
    numbers |= ledger["numbers"]
    for claim in ledger["claims"]:
        for key in ("predicted", "measured", "stderr"):
            if claim[key] is not None:
                numbers[f"{claim['id']}.{key}"] = claim[key]
    outputs = [_glued(name, {"text/plain": repr(value)}) for name, value in numbers.items()]
    chapter = ledger["chapter"]
    for name, entry in ledger["figures"].items():
        svg = (run / chapter / f"{name}.svg").read_text(encoding="utf-8")
        links = " · ".join(
            f'<a href="../data/{chapter}/{name}.{suffix}" download>{label}</a>'
            for suffix, label in (("csv", "data (CSV)"), ("svg", "picture (SVG)"))
        )
        figure = f'<div class="icl-frame">{svg}<p class="icl-links">{links}</p></div>'
        outputs.append(_glued(f"fig-{name}", {"text/html": figure, "text/plain": entry["alt"]}))
    cell = new_code_cell("", outputs=outputs, execution_count=None, metadata={"tags": ["remove-cell"]})
    cell.id = "glue"
    return cell


def _glued(name: str, data: dict) -> nbformat.NotebookNode:
    prefix = "application/papermill.record/"  # myst-nb's mark for «stored, not shown»
    return new_output(
        "display_data",
        data={prefix + kind: value for kind, value in data.items()},
        metadata={"scrapbook": {"name": name, "mime_prefix": prefix}},
    )


def _claims_page(all_ledgers: list[dict]) -> str:
    parts = []
    for ledger in all_ledgers:
        claims = ledgers.claims_of(ledger)
        settings = ", ".join(f"{name} = {value}" for name, value in ledger["parameters"].items())
        title = _title(ledger["chapter"])
        parts += [
            f"## {title}",
            f"[Read the chapter](../notebooks/{ledger['chapter']}.ipynb); run with {settings}.",
            "",
        ]
        parts += ["```{raw} html", claims_table(claims), "```", ""]
        parts += ["```{raw} html", _sources(claims), "```", ""]
    return "\n".join(parts)


def _sources(claims) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(claim.id)}</code></td><td>{html.escape(claim.source)}</td>"
        f"<td>{html.escape(claim.method)}</td><td>{_tolerance(claim)}</td></tr>"
        for claim in claims
    )
    head = "<tr><th>claim</th><th>where it is stated</th><th>how measured</th><th>tolerance</th></tr>"
    return (
        "<details class='icl-sources'><summary>Sources, methods and tolerances</summary>"
        f"<table class='icl-claims'><thead>{head}</thead><tbody>{rows}</tbody></table></details>"
    )


def _tolerance(claim) -> str:
    if claim.verdict == NOT_RUN:
        return "–"
    fixed = f"{claim.tolerance:.1g}" if claim.tolerance else ""
    statistical = "5 standard errors" if claim.stderr else ""
    return " + ".join(filter(None, [fixed, statistical])) or "0"


def _title(chapter: str) -> str:
    source = (ROOT / "notebooks" / f"{chapter}.py").read_text(encoding="utf-8")
    return re.search(r"^# # (.+)$", source, flags=re.M).group(1)


def _configure(tree: Path) -> None:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["repository"] = {"url": repository(), "branch": "main"}
    write_atomically(tree / "_config.yml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    citation["repository-code"] = repository()
    write_atomically(tree / "extra" / "CITATION.cff", yaml.safe_dump(citation, sort_keys=False, allow_unicode=True))


def _mathjax() -> Path:
    """MathJax as one file, from the installed package, so that equations need no network."""
    return next(Path(file.locate()) for file in files("sphinx-mathjax-offline") if file.name == _MATHJAX)
