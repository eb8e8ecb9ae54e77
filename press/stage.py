"""The staged tree that Jupyter Book builds: the repository's layout with each notebook replaced by its executed copy.

Launch buttons and edit links then point at files that exist in the repository, and the checkout stays clean. Without a
public address (pyproject.toml) there are none.
"""

import re
import shutil
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from icl.chapters import CHAPTERS
from icl.files import write_atomically
from press.finished import FinishedChapter, FinishedRun
from press.layout import ROOT, repository
from press.pages import chapter_map, claim_cards, downloads, front, how_it_was_made
from press.pages.all_claims import measured_against_predicted
from press.pages.reading import reading_minutes

_MATHJAX = "tex-svg-full.js"  # one file, so that equations need no network


def stage(run: FinishedRun, tree: Path) -> Path:
    """Write the tree of a run's book into the folder `tree`, which must not exist yet; returns it."""
    shutil.copytree(ROOT / "book", tree / "book")
    assets = tree / "book" / "assets"
    shutil.copy(next(file.locate() for file in files("sphinx-mathjax-offline") if file.name == _MATHJAX), assets)
    for chapter in run.chapters:
        _stage_chapter(chapter, tree)
        shutil.copy(run.folder / f"{chapter.name}.json", tree / "extra" / "data" / chapter.name)
        if (script := CHAPTERS[chapter.name].folder / "explorable.js").exists():
            shutil.copy(script, assets / f"{script.parent.name}.js")
    for name, text in _generated(run, tree).items():
        write_atomically(tree / "generated" / f"{name}.md", text)
    _address(tree, repository())
    shutil.copy(ROOT / "_toc.yml", tree)
    return tree


def pages() -> list[str]:
    """Every page of the table of contents, without suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [page["file"] for part in toc.get("parts", [toc]) for page in part["chapters"]]
    return [toc["root"], *chapters]


def _generated(run: FinishedRun, tree: Path) -> dict[str, str]:
    """What the pages of `book/` include, by name; puts the front page's picture and its numbers among the downloads."""
    picture = measured_against_predicted(run.claims)
    picture.write(tree / "extra" / "data" / "book")
    return {
        "summary": run.summary + "\n",
        "share": front.share(run.claims),
        "picture": _raw(front.captioned(_framed(picture.svg(), "book", picture.name))),
        "theorems": _raw(front.theorems(run)),
        "chapters": front.contents(run),
        "map": _raw(chapter_map.drawing()) + chapter_map.in_words(),
        "claims": claim_cards.claims_page(run),
        "making": how_it_was_made.making(run),
        "notebooks": downloads.notebooks(repository()),
        "pdf": _raw(downloads.pdf()),
        "bibtex": downloads.bibtex(),
    }


def _raw(markup: str) -> str:
    return f"```{{raw}} html\n{markup}\n```\n\n"


def _stage_chapter(chapter: FinishedChapter, tree: Path) -> None:
    """The chapter's page, and what readers download under stable addresses: the notebook as it ran, the figures."""
    name, extra = f"notebooks/{chapter.name}.ipynb", tree / "extra"
    write_atomically(extra / "_sources" / name, nbformat.writes(chapter.notebook) + "\n")
    for figure, texts in chapter.figures.items():
        for suffix, text in texts.items():
            write_atomically(extra / "data" / chapter.name / f"{figure}.{suffix}", text)
    page = nbformat.from_dict(chapter.notebook)
    page.cells = [_glue_cell(chapter), *_linked(page.cells, chapter)]
    write_atomically(tree / name, nbformat.writes(page))


def _glue_cell(chapter: FinishedChapter) -> nbformat.NotebookNode:
    """A hidden cell whose outputs are the numbers and figures that the page's prose pastes."""
    ledger = chapter.ledger
    numbers = {name: value for name, value in ledger["parameters"].items() if not isinstance(value, str)}
    numbers |= ledger["numbers"] | {"reading_minutes": reading_minutes(chapter.name)}
    for claim in ledger["claims"]:
        for key in ("predicted", "measured", "stderr"):
            if claim[key] is not None:
                numbers[f"{claim['id']}.{key}"] = claim[key]
    outputs = [_glued(name, {"text/plain": repr(value)}) for name, value in numbers.items()]
    for name, entry in ledger["figures"].items():
        figure = _framed(chapter.figures[name]["svg"], chapter.name, name)
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


def _framed(svg: str, folder: str, name: str) -> str:
    """A figure with the links to its numbers and its file."""
    links = " · ".join(
        f'<a href="../data/{folder}/{name}.{suffix}" download>{label}</a>'
        for suffix, label in (("csv", "data (CSV)"), ("svg", "picture (SVG)"))
    )
    width = re.search(r'<svg[^>]*\bwidth="([\d.]+pt)"', svg)  # a phone's style sheet shrinks the figure only so far
    style = f' style="--icl-width: {width[1]}"' if width else ""
    return f'<div class="icl-frame"{style}>{svg}<p class="icl-links">{links}</p></div>'


def _linked(cells: list[nbformat.NotebookNode], chapter: FinishedChapter) -> Iterator[nbformat.NotebookNode]:
    """The cells; tables of claims link to the cards, and before a cell that decides claims stand the cards' anchors."""
    for cell in cells:
        number = cell.get("execution_count")
        if here := [claim.id for claim in chapter.claims if claim.cell is not None and claim.cell == number]:
            spans = "".join(f'<span id="{claim_cards.cell_anchor(id)}"></span>' for id in here)
            anchor = new_markdown_cell(f'<div class="icl-anchors">{spans}</div>')
            anchor.id = f"claims-{number}"
            yield anchor
        for output in cell.get("outputs", []):
            table = output.get("data", {}).get("text/html", "")
            if "icl-claims" in table:
                output.data["text/html"] = claim_cards.linked(table, [claim.id for claim in chapter.claims])
        yield cell


def _address(tree: Path, address: str | None) -> None:
    """What needs the public address: buttons, links to the repository's files, sentences, the citation's field."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config["parse"]["myst_substitutions"] = downloads.sentences(address)
    if address:
        config["repository"] = {"url": address, "branch": "main"}
        citation["repository-code"] = address
    else:
        del config["launch_buttons"]
        config["html"]["use_repository_button"] = False
    for name, content in {"_config.yml": config, "extra/CITATION.cff": citation}.items():
        write_atomically(tree / name, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    for page in (tree / "book").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        write_atomically(page, re.sub(r"\[([^]]*)\]\(repo:([^)]+)\)", _link(address), text))


def _link(address: str | None) -> str:
    return rf"[\1]({address}/blob/main/\2)" if address else r"`\2`"
