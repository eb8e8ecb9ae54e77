"""The map: how the chapters rest on each other, as SVG in the page's ink, every box a link; and the same in words."""

import html

from icl.chapters import CHAPTERS, Chapter
from press.finished import FinishedChapter, FinishedRun
from press.pages.reading import title
from press.pages.thumbnails import thumbnail

_WIDTH, _BOX, _HEIGHT, _ROW = 408, 196, 137, 214  # of the drawing, a box (width and height), from row to row
_PICTURE, _WORDS = (150, 64), 73  # a thumbnail's width and height; where below a box's edge the words begin


def drawing(run: FinishedRun) -> str:
    """The map as SVG; boxes in the order of the chapters, so that the keyboard visits them in that order."""
    chapters = {chapter.folder.name: chapter for chapter in CHAPTERS.values()}
    arrows = [
        _arrow(chapters[other], new, words)
        for new in chapters.values()
        for other, words in new.needs.items()
        if new.place[1] - chapters[other].place[1] == 1  # a longer one would cross boxes: the list has it
    ]
    boxes = "".join(_box(CHAPTERS[one.name], one) for one in run.chapters)
    height = max(_top(chapter)[1] for chapter in chapters.values()) + _HEIGHT + 2
    return (
        '<link rel="stylesheet" href="../_static/explorable.css">'
        f'<svg class="icl-map" viewBox="0 0 {_WIDTH} {height}" role="group" aria-label="Map of the chapters: arrows '
        'between links, as the list below says in words"><defs><marker id="icl-arrow" viewBox="0 0 8 8" refX="7" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
        f"{''.join(arrows)}{boxes}</svg>"
    )


def in_words() -> str:
    """The same dependencies as a list in MyST."""
    names, lines = {chapter.folder.name: chapter.name for chapter in CHAPTERS.values()}, []
    for chapter in CHAPTERS.values():
        rests = [f"on {_link(names[other])} ({words})" for other, words in chapter.needs.items()]
        needs = " and ".join(rests) or "on nothing before it"
        lines.append(f"{chapter.number}. {_link(chapter.name)} rests {needs}.\n")
    return "".join(lines)


def _link(name: str) -> str:
    return f"{{doc}}`{title(name)} </notebooks/{name}>`"


def _top(chapter: Chapter) -> tuple[float, float]:
    """The middle of its box's upper edge."""
    column, row = chapter.place
    return 2 + column * (_WIDTH - _BOX - 4) + _BOX / 2, 2 + row * _ROW


def _box(chapter: Chapter, ran: FinishedChapter) -> str:
    x, y = _top(chapter)
    first, *rest = chapter.node
    lines = "".join(
        f'<text x="{x:g}" y="{y + _WORDS + 19 + 17 * k:g}">{html.escape(line)}</text>'
        for k, line in enumerate([f"{chapter.number} · {first}", *rest])
    )
    picture = thumbnail(ran, x - _PICTURE[0] / 2, y + 9, *_PICTURE)
    name = html.escape(f"Chapter {chapter.number}: {title(chapter.name)}")
    return (
        f'<a href="../notebooks/{chapter.name}.html" aria-label="{name}">'
        f'<rect x="{x - _BOX / 2:g}" y="{y:g}" width="{_BOX}" height="{_HEIGHT}" rx="8"/>{picture}{lines}</a>'
    )


def _arrow(above: Chapter, below: Chapter, words: str) -> str:
    """A line from box to box; its words stand on it, a little above its head."""
    (x0, y0), (x1, y1) = _top(above), _top(below)
    y0 += _HEIGHT
    share = 1 - 24 / (y1 - y0)
    return (
        f'<path class="edge" d="M{x0:g} {y0:g} {x1:g} {y1 - 2:g}" marker-end="url(#icl-arrow)"/>'
        f'<text class="words" x="{x0 + share * (x1 - x0):g}" y="{y1 - 20:g}">{html.escape(words)}</text>'
    )
