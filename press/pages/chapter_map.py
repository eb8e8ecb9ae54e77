"""The map: how the chapters rest on each other, as SVG in the page's ink, every node a link."""

import html

from icl.chapters import CHAPTERS, Chapter
from press.pages.reading import title

_WIDTH, _NODE, _HEIGHT, _ROW, _LINE = 360, 172, 66, 122, 16  # of the drawing, a node, a row, a line of text


def drawing() -> str:
    """The map as SVG; nodes in the order of the chapters, so that the keyboard visits them in that order."""
    nodes = list(CHAPTERS.values())
    height = max(row for _, row in (node.place for node in nodes)) * _ROW + _HEIGHT + 4
    by_folder = {node.folder.name: node for node in nodes}
    edges = "".join(_edge(by_folder[other], node, words) for node in nodes for other, words in node.needs.items())
    label = "Map of the chapters: " + "; ".join(_sentence(node, by_folder) for node in nodes if node.needs) + "."
    return (
        f'<svg class="icl-map" viewBox="0 0 {_WIDTH} {height}" role="group" aria-label="{html.escape(label)}">'
        '<defs><marker id="icl-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
        f"{edges}{''.join(map(_node, nodes))}</svg>"
    )


def in_words() -> str:
    """The same dependencies as a list in MyST."""
    by_folder = {node.folder.name: node for node in CHAPTERS.values()}
    lines = []
    for node in by_folder.values():
        below = [(by_folder[other].name, words) for other, words in node.needs.items()]
        rests = [f"on {{doc}}`{title(name)} </notebooks/{name}>` ({words})" for name, words in below]
        needs = f"rests {' and '.join(rests)}" if rests else "rests on nothing before it"
        lines.append(f"{node.number}. {{doc}}`{title(node.name)} </notebooks/{node.name}>` {needs}.")
    return "\n".join(lines) + "\n"


def _sentence(node: Chapter, by_folder: dict[str, Chapter]) -> str:
    rests = " and ".join(f"{by_folder[other].number} ({words})" for other, words in node.needs.items())
    return f"chapter {node.number} rests on chapter {rests}"


def _corner(node: Chapter) -> tuple[float, float]:
    column, row = node.place
    return 2 + column * (_WIDTH - _NODE - 4), 2 + row * _ROW


def _node(node: Chapter) -> str:
    x, y = _corner(node)
    middle = x + _NODE / 2
    first, *rest = node.node
    lines = f'<text x="{middle:g}" y="{y + 21:g}" class="name">{node.number} · {html.escape(first)}</text>'
    lines += "".join(
        f'<text x="{middle:g}" y="{y + 39 + k * _LINE:g}">{html.escape(line)}</text>' for k, line in enumerate(rest)
    )
    name = html.escape(f"Chapter {node.number}: {title(node.name)}", quote=True)
    return (
        f'<a href="../notebooks/{node.name}.html" aria-label="{name}">'
        f'<rect x="{x:g}" y="{y:g}" width="{_NODE}" height="{_HEIGHT}" rx="8"/>{lines}</a>'
    )


def _edge(above: Chapter, below: Chapter, words: str) -> str:
    """An arrow from the bottom of one node to the top of the other, its words beside the middle."""
    (x0, y0), (x1, y1) = _corner(above), _corner(below)
    start, end = x0 + _NODE / 2, x1 + _NODE / 2
    if start != end:  # leave from under the half that faces the other node, arrive at its middle
        start += (_NODE / 4) * (1 if end > start else -1)
    top, bottom = y0 + _HEIGHT, y1 - 2
    middle, side = (start + end) / 2, "start" if end >= start else "end"
    shift = 9 if side == "start" else -9
    level = (
        bottom - 18 if start == end else (top + bottom) / 2 - 5
    )  # a straight one's words keep clear of curves beside it
    return (
        f'<path class="edge" d="M{start:g} {top:g} C{start:g} {(top + bottom) / 2:g} {end:g} {(top + bottom) / 2:g} '
        f'{end:g} {bottom:g}" marker-end="url(#icl-arrow)"/>'
        f'<text class="words" text-anchor="{side}" x="{middle + shift:g}" y="{level:g}">'
        f"{html.escape(words)}</text>"
    )
