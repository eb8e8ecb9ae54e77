"""How a chapter's page opens: its question with a guess first, then its idea in motion; the set-up stands at the foot.

The notebook keeps its own order and runs from top to bottom; only the page is arranged anew. What is asked is the
`[guess]` of chapter.toml, and the answer is a claim of the run's ledger; `book/assets/guess.js` lets the reader try.
"""

import re
from collections.abc import Iterable

from docutils.nodes import make_id
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell

from icl.chapters import CHAPTERS, Guess
from icl.claims import FAILS, NOT_RUN, STANDARD_ERRORS, Claim, measured_text, predicted_text, verdict_mark
from press.finished import FinishedChapter
from press.layout import WorkflowError
from press.pages.claim_cards import card_address

_TITLE = re.compile(r"^# .*\n?", flags=re.M)
_FOUND = {"exact": "computed without it", "monte-carlo": "measured on random prompts", "trained": "found by training"}


def opened(cells: Iterable[NotebookNode], chapter: FinishedChapter) -> list[NotebookNode]:
    """The cells as the page has them. Raises WorkflowError where the picture it is to open with is not on the page."""
    cells, guess = list(cells), CHAPTERS[chapter.name].guess
    titled = (k for k, cell in enumerate(cells) if cell.cell_type == "markdown" and _TITLE.search(cell.source))
    if (lead := next(titled, None)) is None:
        return cells
    end = _TITLE.search(cells[lead].source).end()
    top = [_markdown("title", cells[lead].source[:end])]
    after = lead + 1
    while after < len(cells) and cells[after].cell_type == "code" and not cells[after].outputs:
        after += 1
    if guess and (claim := _claim(guess, chapter)):
        top.append(_markdown("guess", _asked(guess, claim)))
    moving, rest = _explorable(cells[after:])
    if guess and guess.picture:
        moving, rest = _picture(guess.picture, rest, chapter)
    introduction = _markdown("introduction", cells[lead].source[end:])
    return [*cells[:lead], *top, *moving, introduction, *rest, *_foot(cells[lead + 1 : after])]


def _markdown(id: str, source: str) -> NotebookNode:
    cell = new_markdown_cell(source)
    cell.id = id
    return cell


def _claim(guess: Guess, chapter: FinishedChapter) -> Claim | None:
    return next((claim for claim in chapter.claims if claim.id == guess.claim and claim.verdict != NOT_RUN), None)


def _asked(guess: Guess, claim: Claim) -> str:
    """The question, a slider for the guess, and the answer, which a reader without scripts unfolds; MyST."""
    truth = claim.predicted if claim.relation == "equal" else claim.measured
    least, most = min(guess.between[0], truth), max(guess.between[1], truth)
    steps = round((most - least) / guess.step)
    share = lambda value: (value - least) / (most - least)
    error = f"--error: {share(least + STANDARD_ERRORS * claim.stderr):.4f}"
    marks = "".join(
        f'<i class="{name}" style="--at: {share(value):.4f}; {error}"></i>'
        for name, value in (("formula", claim.predicted), ("error", claim.measured), ("measured", claim.measured))
        if least <= value <= most
    )
    return f"""\
<link rel="stylesheet" href="../_static/explorable.css">
<div class="icl-explorable icl-guess" data-truth="{truth!r}" data-least="{least!r}" data-step="{guess.step!r}">

**Guess first.** {guess.question.strip()}

<div class="control"><label for="icl-guess">Your guess</label><output for="icl-guess" aria-live="off"></output>
<input type="range" id="icl-guess" min="0" max="{steps}" step="1" value="{steps // 2}" autocomplete="off">
<span class="scale" aria-hidden="true"><i class="yours"></i>{marks}</span></div>
<div class="buttons"><button type="button" aria-expanded="false">Show</button></div><p role="status"></p>
<details><summary>The answer</summary>

{guess.formula.strip()}

<p class="found">{_found(claim)}</p>
</details></div>
<script defer src="../_static/guess.js"></script>
"""


def _found(claim: Claim) -> str:
    """The formula's number, the measured one with its error, and the verdict, which leads to the claim's card."""
    verdict = f'<a href="{card_address(claim.id, "../book/claims.html")}">{verdict_mark(claim)}</a>'
    says = "The formula says" if claim.relation == "equal" else "The claim is"
    but = "but " if claim.verdict == FAILS else ""
    keys = [f'<span class="key {name}"></span>' for name in ("formula", "measured")]
    return (
        f"{keys[0]}{says} <b>{predicted_text(claim)}</b>, {but}{keys[1]}{_FOUND[claim.method]}: "
        f"<b>{measured_text(claim)}</b>. The claim {verdict}."
    )


def _explorable(cells: list[NotebookNode]) -> tuple[list[NotebookNode], list[NotebookNode]]:
    """The explorable as cells of its own, and the others, with a link in its place; nothing where there is none."""
    at = next((k for k, cell in enumerate(cells) if cell.cell_type == "code" and _name(cell)), None)
    if at is None:
        return [], cells
    moved, left = from_dict(cells[at]), from_dict(cells[at])
    moved.id, moved.metadata, left.outputs = "explorable", {"tags": ["remove-input"]}, []
    place = f"sliders-{_name(moved)}"
    top = [_markdown("sliders", f'<div class="icl-anchors"><span id="{place}"></span></div>'), moved]
    if titles := re.findall(r"^##+ (.*)$", cells[at - 1].source, flags=re.M):
        link = f'<a href="#{make_id(titles[-1])}">{titles[-1]}</a>'
        about = f'<p class="icl-about">What to look for, once you have read that far: {link}.</p>'
        top.append(_markdown("about", about))
    back = _markdown("sliders-are", f'<p>→ <a href="#{place}">The sliders are at the top of the page.</a></p>')
    return top, [*cells[:at], left, back, *cells[at + 1 :]]


def _name(cell: NotebookNode) -> str:
    """Of the explorable that the cell shows; empty where it shows none."""
    texts = [output.get("data", {}).get("text/html", "") for output in cell.outputs]
    return next((found[1] for text in texts if (found := re.search(r'data-explorable="(\w+)"', text))), "")


def _picture(name: str, cells: list[NotebookNode], chapter: FinishedChapter) -> tuple[list, list]:
    """The figure's block as a cell of its own, and the cells without it."""
    block = re.compile(rf"^```\{{glue:figure\}} fig-{name}\n.*?^```\n?", flags=re.M | re.S)
    for k, cell in enumerate(cells):
        if cell.cell_type == "markdown" and (found := block.search(cell.source)):
            left = from_dict(cell)
            left.source = cell.source[: found.start()] + cell.source[found.end() :]
            return [_markdown("picture", found[0])], [*cells[:k], left, *cells[k + 1 :]]
    raise WorkflowError(f"{chapter.name} is to open with the figure {name!r}, which its notebook does not place.")


def _foot(setup: list[NotebookNode]) -> list[NotebookNode]:
    """The cells that import and set the parameters as one, folded, under a heading of their own."""
    shown = [cell.source.strip("\n") for cell in setup if "remove-cell" not in cell.metadata.get("tags", [])]
    if not shown:
        return []
    cell = new_code_cell("\n\n".join(shown), metadata={"tags": ["hide-input"]})
    cell.id = "set-up-code"
    return [_markdown("set-up", "## Set-up\n\nThe notebook begins with these lines; the page ends with them."), cell]
