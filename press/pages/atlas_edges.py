"""Where claims break beyond the declared ranges: along each parameter, claim by claim, and at doubled horizons."""

import html

from icl.chapters import CHAPTERS
from icl.claims import FAILS
from icl.validation import InputError
from press.atlas import edges
from press.atlas.edges import BEYOND, Edge
from press.atlas.kept import FARTHER, Atlas
from press.pages.reading import title


def breaking(atlas: Atlas) -> str:
    """A row for each chapter, parameter and direction: the claim that breaks first, where, and what it says then."""
    ways: dict[tuple[str, str, str], list[Edge]] = {}
    for edge in (edge for edge in atlas.edges if edge.direction != edges.TWICE):
        ways.setdefault((edge.chapter, edge.parameter, edge.direction), []).append(edge)
    if not ways:
        return "No edges are known yet.\n"
    rows = ["| chapter | parameter | all hold to | first to break | at | because |", "|---|---|--:|---|--:|---|"]
    whole: dict[str, list[str]] = {}  # way → chapters of which nothing breaks along it
    for (chapter, name, direction), found in ways.items():
        number, broken = str(CHAPTERS[chapter].number), [edge for edge in found if edge.broke is not None]
        if not broken:
            whole.setdefault(f"`{name}` {direction}", []).append(number)
            continue
        first = min(broken, key=lambda edge: edge.broke if direction == "up" else -edge.broke)
        told = f"`{first.claim}` | {_number(first.broke)} | {_in_cell(_why(atlas, first))}"
        rows.append(f"| {number} | `{name}` {direction} | {_number(first.held)} | {told} |")
    walked = {chapter for chapter, *_ in ways}
    missing = ", ".join(str(CHAPTERS[name].number) for name in atlas.lines if name not in walked)
    parts = ["\n".join(rows)]
    if whole:
        calm = "; ".join(f"{way} ({', '.join(numbers)})" for way, numbers in whole.items())
        parts.append(f"Nothing broke along, by chapters: {calm}.")
    if missing:
        parts.append(f"Not walked yet: chapters {missing}.")
    return "\n\n".join(parts) + "\n"


def farther(atlas: Atlas) -> str:
    """A row for each horizon, the examples of a prompt among them: how many claims hold twice as far, and which not."""
    rows = ["| chapter | checked up to | twice as far hold | these do not |", "|---|---|--:|---|"]
    for chapter in atlas.lines:
        own = [edge for edge in atlas.edges if edge.chapter == chapter]
        n = CHAPTERS[chapter].schema.model_fields["n"].default
        constants = [(words, name, edges.TWICE, 1) for name, words in CHAPTERS[chapter].horizons.items()]
        for words, name, direction, end in [(f"n = {n} examples", "n", "up", n), *constants]:
            found = [edge for edge in own if (edge.parameter, edge.direction) == (name, direction)]
            lost = [edge for edge in found if edge.broke is not None and edge.broke <= 2 * end]
            why = {edge.claim: atlas.reasons.get(edge.claim + FARTHER, edge.why) for edge in lost}
            told = "; ".join(f"`{id}`: {_in_cell(said)}" for id, said in why.items())
            if len(lost) == len(found) > 1 and len({edge.why for edge in lost}) == 1:
                told = f"all: {_in_cell(lost[0].why)}"
            if found:
                shown = f"{len(found) - len(lost)} of {len(found)}"
                rows.append(f"| {CHAPTERS[chapter].number} | {_in_cell(words)} | {shown} | {told} |")
    return "\n".join(rows) + "\n" if len(rows) > 2 else "No horizon has been doubled yet.\n"


def claim_by_claim(atlas: Atlas) -> str:
    """A folded table a chapter: claims by parameters, from the least value at which one held to the largest.

    Claims that hold equally far share a row.
    """
    parts = []
    for chapter in atlas.lines:
        own = [edge for edge in atlas.edges if edge.chapter == chapter and edge.direction != edges.TWICE]
        names = list(dict.fromkeys(edge.parameter for edge in own))
        head = "".join(f"<th><code>{name}</code></th>" for name in names)
        at = {(edge.claim, edge.parameter, edge.direction): edge for edge in own}
        alike: dict[str, list[str]] = {}  # cells → the claims that have them
        for claim in dict.fromkeys(edge.claim for edge in own):
            cells = [_range(atlas, at.get((claim, name, "down")), at.get((claim, name, "up"))) for name in names]
            alike.setdefault("".join(cells), []).append(f"<code>{html.escape(claim)}</code>")
        rows = [f"<tr><th>{', '.join(claims)}</th>{cells}</tr>" for cells, claims in alike.items()]
        if rows:
            parts.append(
                f'<details class="icl-atlas-claims"><summary>{html.escape(title(chapter))}</summary><div>'
                f'<table class="table"><thead><tr><th>claim</th>{head}</tr></thead>'
                f"<tbody>{''.join(rows)}</tbody></table></div></details>"
            )
    return "\n".join(["```{raw} html", *parts, "```", ""]) if parts else ""


def _range(atlas: Atlas, down: Edge | None, up: Edge | None) -> str:
    """A cell: from … to, and where it ends by more than a limit of time or memory, at what and why."""
    if down is None or up is None:
        return "<td></td>"
    ends: dict[str, list[str]] = {}
    for edge in (down, up):
        if edge.broke is not None and edge.why != BEYOND:
            word, colon, _ = (why := _why(atlas, edge)).partition(":")  # of rounding the table above says more
            ends.setdefault(word if colon and word == "Rounding" else why, []).append(_plain(edge.broke))
    notes = "".join(f"<br><small>{' and '.join(at)}: {html.escape(why)}</small>" for why, at in ends.items())
    return f"<td>{_plain(down.held)} … {_plain(up.held)}{notes}</td>"


def _why(atlas: Atlas, edge: Edge) -> str:
    """What keeps a claim from holding there; where it fails or its code does, the reason that is known."""
    way = f"{edge.parameter} {edge.direction}"
    of_all = edge.why == FAILS or ("Error: " in edge.why and not edge.why.startswith(InputError.__name__))
    return atlas.reasons.get(f"{edge.claim}, {way}") or (of_all and atlas.reasons.get(way)) or edge.why


def _number(value: float, raised: str = "{{sup}}`{}`") -> str:
    """Whole numbers with all their digits, others with three, and powers of ten written out."""
    if abs(value) < 1e6 and value == int(value):
        return f"{value:,.0f}"
    digits, _, power = f"{value:.3g}".partition("e")
    return f"{digits} × 10{raised.format(int(power))}".replace("-", "−") if power else digits


def _plain(value: float) -> str:
    """The same as HTML."""
    return _number(value, "<sup>{}</sup>")


def _in_cell(text: str) -> str:
    """Words as a cell of a table."""
    return html.escape(text).replace("|", "&#124;")
