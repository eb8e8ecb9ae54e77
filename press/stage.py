"""The staged tree that Jupyter Book builds: the repository's layout with each notebook replaced by its executed copy.

Launch buttons and edit links then point at files that exist in the repository, and the checkout stays clean.
"""

import os
import re
import shutil
from importlib.metadata import files
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from icl.chapters import CHAPTERS, read_all, read_ledger
from icl.files import write_atomically
from icl.ledger import claims_of, read_figure, read_verified, summary
from icl.validation import InputError
from press.layout import ROOT, repository
from press.notebooks import check_pair, with_outputs
from press.pages import chapter_map, claim_cards, downloads, front, how_it_was_made
from press.pages.all_claims import measured_against_predicted
from press.pages.reading import reading_minutes

_COPIED = ("book", "CITATION.cff")
_MATHJAX = "tex-svg-full.js"


def stage(run: Path, target: Path) -> list[str]:
    """Build the tree in `target` (replaced) from the ledgers and notebooks in `run`; returns the pages, without suffix.

    Raises InputError when a chapter's run is missing, damaged or failed.
    """
    fresh = target.with_name(f".{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    all_ledgers = read_all(run)
    for name in _COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, fresh / name)
    shutil.copy(_mathjax(), fresh / "book" / "assets" / _MATHJAX)
    for ledger in all_ledgers:
        _stage_chapter(run, fresh, ledger)
        if (script := CHAPTERS[ledger["chapter"]].folder / "explorable.js").exists():
            shutil.copy(script, fresh / "book" / "assets" / f"{script.parent.name}.js")
    for name, text in _generated(all_ledgers, fresh).items():
        write_atomically(fresh / "generated" / f"{name}.md", text)
    _configure(fresh)
    shutil.copy(ROOT / "_toc.yml", fresh)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(fresh, target)
    return pages()


def _generated(all_ledgers: list[dict], tree: Path) -> dict[str, str]:
    """What the pages of `book/` include, by name; puts the front page's picture and its numbers among the downloads."""
    claims = [claim for ledger in all_ledgers for claim in claims_of(ledger)]
    picture = measured_against_predicted(claims)
    picture.write(tree / "extra" / "data" / "book")
    return {
        "summary": summary(all_ledgers) + "\n",
        "share": front.share(all_ledgers),
        "picture": _raw(front.captioned(_framed(picture.svg(), "book", picture.name))),
        "theorems": _raw(front.theorems(all_ledgers)),
        "chapters": front.contents(all_ledgers),
        "map": _raw(chapter_map.drawing()) + chapter_map.in_words(),
        "claims": claim_cards.claims_page(all_ledgers),
        "making": how_it_was_made.making(all_ledgers),
        "notebooks": downloads.notebooks(),
        "pdf": _raw(downloads.pdf()),
        "bibtex": downloads.bibtex(),
    }


def _raw(markup: str) -> str:
    return f"```{{raw}} html\n{markup}\n```\n\n"


def pages() -> list[str]:
    """Every page of the table of contents, without suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [page["file"] for part in toc.get("parts", [toc]) for page in part["chapters"]]
    return [toc["root"], *chapters]


def executed(run: Path, chapter: str) -> str:
    """The chapter's notebook: prose, and which cells are hidden, as they are now; code and outputs as they ran.

    Raises InputError where the run is missing, damaged or failed, or where the code is no longer what ran.
    """
    return nbformat.writes(_executed(run, read_ledger(run, chapter))) + "\n"


def _executed(run: Path, ledger: dict) -> nbformat.NotebookNode:
    chapter = ledger["chapter"]
    text = read_verified(run / f"{chapter}.ipynb", ledger["notebook"])
    ran = nbformat.reads(text, as_version=4)
    if any(output.output_type == "error" for cell in ran.cells for output in cell.get("outputs", [])):
        raise InputError(f"{chapter}.ipynb in {run} holds an error; run the chapter again before building the book.")
    return with_outputs(nbformat.read(check_pair(chapter), as_version=4), ran, chapter)


def _stage_chapter(run: Path, tree: Path, ledger: dict) -> None:
    chapter, notebook = ledger["chapter"], _executed(run, ledger)
    _link_claims(notebook, ledger)
    notebook.cells.insert(0, _glue_cell(run, ledger))
    write_atomically(tree / "notebooks" / f"{chapter}.ipynb", nbformat.writes(notebook))
    # what readers download, under stable addresses
    data = tree / "extra" / "data" / chapter
    for name in ledger["figures"]:
        for suffix in ("svg", "csv"):
            write_atomically(data / f"{name}.{suffix}", read_figure(run, ledger, name, suffix))
    shutil.copy(run / f"{chapter}.json", data)


def _glue_cell(run: Path, ledger: dict) -> nbformat.NotebookNode:
    """A hidden cell whose outputs are the numbers and figures that the page's prose pastes."""
    numbers = {name: value for name, value in ledger["parameters"].items() if not isinstance(value, str)}
    numbers |= ledger["numbers"] | {"reading_minutes": reading_minutes(ledger["chapter"])}
    for claim in ledger["claims"]:
        for key in ("predicted", "measured", "stderr"):
            if claim[key] is not None:
                numbers[f"{claim['id']}.{key}"] = claim[key]
    outputs = [_glued(name, {"text/plain": repr(value)}) for name, value in numbers.items()]
    chapter = ledger["chapter"]
    for name, entry in ledger["figures"].items():
        svg = read_figure(run, ledger, name, "svg")
        figure = _framed(svg, chapter, name)
        outputs.append(_glued(f"fig-{name}", {"text/html": figure, "text/plain": entry["alt"]}))
    cell = new_code_cell("", outputs=outputs, execution_count=None, metadata={"tags": ["remove-cell"]})
    cell.id = "glue"
    return cell


def _framed(svg: str, folder: str, name: str) -> str:
    """A figure with the links to its numbers and its file."""
    links = " · ".join(
        f'<a href="../data/{folder}/{name}.{suffix}" download>{label}</a>'
        for suffix, label in (("csv", "data (CSV)"), ("svg", "picture (SVG)"))
    )
    width = re.search(r'<svg[^>]*\bwidth="([\d.]+pt)"', svg)  # a phone's style sheet shrinks the figure only so far
    style = f' style="--icl-width: {width[1]}"' if width else ""
    return f'<div class="icl-frame"{style}>{svg}<p class="icl-links">{links}</p></div>'


def _link_claims(notebook: nbformat.NotebookNode, ledger: dict) -> None:
    """Tables of claims link to the cards; before a cell that decides claims stand anchors, which the cards link to."""
    claims, cells = claims_of(ledger), []
    for cell in notebook.cells:
        number = cell.get("execution_count")
        here = [claim.id for claim in claims if claim.cell is not None and claim.cell == number]
        if here:
            spans = "".join(f'<span id="{claim_cards.cell_anchor(id)}"></span>' for id in here)
            anchor = new_markdown_cell(f'<div class="icl-anchors">{spans}</div>')
            anchor.id = f"claims-{number}"
            cells.append(anchor)
        for output in cell.get("outputs", []):
            table = output.get("data", {}).get("text/html", "")
            if "icl-claims" in table:
                output.data["text/html"] = claim_cards.linked(table, [claim.id for claim in claims])
        cells.append(cell)
    notebook.cells = cells


def _glued(name: str, data: dict) -> nbformat.NotebookNode:
    prefix = "application/papermill.record/"  # myst-nb's mark for «stored, not shown»
    return new_output(
        "display_data",
        data={prefix + kind: value for kind, value in data.items()},
        metadata={"scrapbook": {"name": name, "mime_prefix": prefix}},
    )


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
