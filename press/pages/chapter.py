"""A chapter's page: the notebook as it ran, with what its prose pastes and what leads to and from the claims' cards."""

import html
import re
from collections.abc import Iterator

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from icl.figures import NARROW
from press.finished import FinishedChapter
from press.pages import moved
from press.pages.asides import with_asides
from press.pages.claim_cards import cell_anchor, strip_list
from press.pages.glyphs import lightened
from press.pages.opening import opened
from press.pages.panels import drawn


def chapter_page(chapter: FinishedChapter) -> nbformat.NotebookNode:
    """The notebook that Jupyter Book reads; the chapter's own stays as it is."""
    notebook = nbformat.from_dict(chapter.notebook)
    both = {name: [texts["svg"], texts[NARROW]] for name, texts in chapter.figures.items()}
    letters, light = lightened([svg for pair in both.values() for svg in pair])
    drawings = {name: light[2 * k : 2 * k + 2] for k, name in enumerate(both)}
    top, *rest = opened(_linked(notebook.cells, chapter), chapter)
    notebook.cells = [_glue_cell(chapter, drawings), top, new_markdown_cell(letters, id="letters"), *rest]
    return notebook


def _glue_cell(chapter: FinishedChapter, drawings: dict[str, list[str]]) -> nbformat.NotebookNode:
    """A hidden cell whose outputs are the numbers and figures that the page's prose pastes."""
    ledger = chapter.ledger
    numbers = {name: value for name, value in ledger["parameters"].items() if not isinstance(value, str)}
    numbers |= ledger["numbers"] | {"reading_minutes": chapter.minutes}
    for claim in ledger["claims"]:
        for key in ("predicted", "measured", "stderr"):
            if claim[key] is not None:
                numbers[f"{claim['id']}.{key}"] = claim[key]
    outputs = [_glued(name, {"text/plain": repr(value)}) for name, value in numbers.items()]
    for name, entry in ledger["figures"].items():
        figure = framed("".join(drawings[name]), chapter.name, name)
        outputs.append(_glued(f"fig-{name}", {"text/html": figure, "text/plain": entry["alt"]}))
    cell = new_code_cell("", outputs=outputs, execution_count=None, metadata={"tags": ["remove-cell"]})
    cell.id = "glue"
    return cell


def _glued(name: str, data: dict) -> nbformat.NotebookNode:
    prefix = "application/papermill.record/"  # myst-nb's mark for «stored, not shown»
    output = {  # not `new_output`, which checks each of two thousand against the whole schema
        "output_type": "display_data",
        "data": {prefix + kind: value for kind, value in data.items()},
        "metadata": {"scrapbook": {"name": name, "mime_prefix": prefix}},
    }
    return nbformat.from_dict(output)


def framed(drawings: str, folder: str, name: str) -> str:
    """A figure, drawn for a wide and for a narrow column, with the links to its numbers and its file."""
    links = " · ".join(
        f'<a href="../data/{folder}/{name}.{suffix}" download>{label}</a>'
        for suffix, label in (("csv", "data (CSV)"), ("svg", "picture (SVG)"))
    )
    return f'<div class="icl-frame">{drawings}<p class="icl-links">{links}</p></div>'


def _linked(cells: list[nbformat.NotebookNode], chapter: FinishedChapter) -> Iterator[nbformat.NotebookNode]:
    """The cells: tables of claims as strips, explorables drawn; before a cell that decides claims their anchors."""
    for cell in cells:
        if chapter.name == moved.OLD and cell.source.startswith(moved.PLACE):
            old = new_markdown_cell(moved.anchors())
            old.id = "moved"
            yield old
        number = cell.get("execution_count")
        if here := [claim.id for claim in chapter.claims if claim.cell is not None and claim.cell == number]:
            spans = "".join(f'<span id="{cell_anchor(id)}"></span>' for id in here)
            anchor = new_markdown_cell(f'<div class="icl-anchors">{spans}</div>')
            anchor.id = f"claims-{number}"
            yield anchor
        for output in cell.get("outputs", []):
            table = output.get("data", {}).get("text/html", "")
            named = re.findall(r"<tr><td><code>([^<]+)</code>", table) if 'class="icl-claims"' in table else []
            if claims := [claim for claim in chapter.claims if html.escape(claim.id) in named]:
                output.data["text/html"] = strip_list(claims, chapter)
            if 'class="icl-compare"' in table:
                output.data["text/html"] = _scrolled(table)
            if "data-explorable=" in table:
                output.data["text/html"] = drawn(table)
        if cell.cell_type == "markdown" and "{glue:figure}" in cell.source:
            cell.source = _CAPTION.sub(lambda block: _SIDE.sub(_sides, block[0]), cell.source)
        if cell.cell_type == "markdown":
            cell.source = with_asides(cell.source)
        yield cell


def _scrolled(page: str) -> str:
    """Tables of a comparison in boxes that scroll where the column is narrow, their numbers with minus signs."""
    page = re.sub(r"(?<=\d)e-(?=\d)", "e−", page)
    return re.sub(r"<table.*?</table>", r'<div class="pst-scrollable-table-container">\g<0></div>', page, flags=re.S)


# Panels that stand side by side stand below each other in a narrow column, and the caption says so.
_CAPTION = re.compile(r"^```\{glue:figure\}.*?^```", flags=re.M | re.S)
_SIDE = re.compile(r"\b(Left|Right)(?=[:,])")


def _sides(found: re.Match) -> str:
    below = {"Left": "Above", "Right": "Below"}[found[1]]
    return f'<span class="icl-beside">{found[1]}</span><span class="icl-below">{below}</span>'
