"""The claims page: a card for every claim, which the page's script filters, and the links between cards and cells."""

import html
import re

from icl.chapters import CHAPTERS, citations
from icl.claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Claim,
    explanation,
    measured_text,
    off,
    predicted_text,
    shown_number,
    verdict_mark,
)
from press.finished import FinishedChapter, FinishedRun
from press.pages.reading import title
from press.pages.strips import CARRIED, LEGEND, allowed_text, code, said, strip, strips

_METHODS = {
    "exact": "deterministic, to rounding",
    "monte-carlo": "by random sampling",
    "trained": "by training on random samples",
}


def card_address(id: str, page: str = "") -> str:
    """Where a claim's card is, seen from a page of the book."""
    return f"{page or 'claims.html'}#claim-{html.escape(id)}"


def cell_anchor(id: str) -> str:
    """The name that staging gives to the cell that decides a claim."""
    return f"cell-{html.escape(id)}"


def cell_address(chapter: str, claim: Claim) -> str:
    """The cell that decided a claim, seen from a page of `book/`; the chapter where no cell is recorded."""
    anchor = "" if claim.cell is None else f"#{cell_anchor(claim.id)}"
    return f"../notebooks/{chapter}.html{anchor}"


def claims_page(run: FinishedRun) -> str:
    """The generated part of the claims page in MyST: the filter, and a section of cards for each chapter."""
    parts = ["```{raw} html", _filter(run) + LEGEND, "```", ""]
    for chapter in run.chapters:
        parameters = chapter.ledger["parameters"].items()
        settings = html.escape(", ".join(f"{name} = {value}" for name, value in parameters))
        cards = "".join(_card(chapter, claim) for claim in chapter.claims)
        parts += [
            f"## {_numbered(chapter.name)}",
            f"[Read the chapter](../notebooks/{chapter.name}.ipynb); run with {settings}.",
            "",
            "```{raw} html",
            f'<div class="icl-cards">{cards}</div>',
            "```",
            "",
        ]
    return "\n".join(parts)


def lead_to_claims(text: str) -> str:
    """A page's text in MyST: the arrow of a paragraph that has a claim's number, or ends with its id, leads there."""

    def led(found: re.Match) -> str:
        paragraph, named = found.groups()
        pasted = re.findall(r"/notebooks/(\w+)\.ipynb::([\w.]+)\.(?:predicted|measured):", paragraph)
        pasted += [(chapter, named) for chapter in CHAPTERS]
        there = [(chapter, id) for chapter, id in pasted if id in CHAPTERS[chapter].claims]
        if not there:
            return found[0]
        (chapter, id), *_ = there
        cell, card = f"../notebooks/{chapter}.html#{cell_anchor(id)}", card_address(id)
        return f'{paragraph}: <a href="{cell}">the cell</a>, <a href="{card}">the claim</a>'

    return re.sub(r"((?:.+\n)*.*→ \{(?:doc|ref)\}`[^`]+`)(?: `([\w.]+)`)?$", led, text, flags=re.M)


def strip_list(claims: list[Claim], chapter: FinishedChapter) -> str:
    """Claims as strips, seen from their chapter: what unfolds leads to the card."""
    lines = strips(claims, chapter.carried, lambda claim: f"{_body(claim)}{_card_link(claim)}")
    whole = len(claims) == len(chapter.claims) > 1
    return f'<div class="icl-claims icl-strips">{LEGEND if whole else ""}{lines}</div>'


def _card_link(claim: Claim) -> str:
    address = card_address(claim.id, "../book/claims.html")
    return f'<p>Its card: <a href="{address}">{code(claim.id)}</a></p>'


def _card(chapter: FinishedChapter, claim: Claim) -> str:
    id, papers = html.escape(claim.id), " ".join(citations.papers(claim.source))
    mark = f"{verdict_mark(claim)} {CARRIED if claim.id in chapter.carried else ''}"
    where = f'<a href="{cell_address(chapter.name, claim)}">the cell that decides it</a>'
    return (
        f'<article class="icl-card" id="claim-{id}" data-chapter="{chapter.name}" data-paper="{papers}" '
        f'data-verdict="{claim.verdict.split()[0]}"><h3><a href="#claim-{id}">{code(claim.id)}</a> '
        f"{strip(claim)} <span>{mark}</span></h3>{_body(claim, where)}</article>\n"
    )


def _body(claim: Claim, where: str = "") -> str:
    """What the claim says, and its numbers."""
    if claim.verdict == NOT_RUN:
        facts = [("not run", said(claim.reason))]
    else:
        facts = [
            ("predicted", predicted_text(claim)),
            ("measured", measured_text(claim)),
            ("allowed", f"{allowed_text(claim)} ({_tolerance(claim)})"),
        ]
    if explained := explanation(claim):
        facts.append((explained[0], said(explained[1])))
    if claim.near is not None:
        facts.append(("near miss", _near_miss(claim)))
    if claim.cannot_tell:
        facts.append(("cannot tell", said(claim.cannot_tell)))
    facts += [("source", html.escape(claim.source)), ("how measured", _METHODS[claim.method])]
    facts += [("where", where)] if where else []
    rows = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts)
    return f"<p>{said(claim.statement)}</p><dl>{rows}</dl>"


def _tolerance(claim: Claim) -> str:
    fixed = f"tolerance {shown_number(claim.tolerance, 2)}" if claim.tolerance else ""
    statistical = "5 standard errors" if claim.stderr else ""
    return " + ".join(filter(None, [fixed, statistical])) or "exact"


def _near_miss(claim: Claim) -> str:
    """The wrong formula, what it predicts, and how far off that is."""
    far = off(claim)
    told = f"off by {shown_number(far, 2)} times what is allowed" if far > 1 else "not told apart at these parameters"
    return f"{said(claim.near_miss)}: {shown_number(claim.near)}, {told}"


def _numbered(chapter: str) -> str:
    return f"{CHAPTERS[chapter].number}. {title(chapter)}"


def _filter(run: FinishedRun) -> str:
    claims = run.claims
    keys = dict.fromkeys(key for claim in claims for key in citations.papers(claim.source))
    papers = {key: citations.name(key) for key in keys if key != "companion"} | {"companion": "this book"}
    numbered = {chapter.name: _numbered(chapter.name) for chapter in run.chapters}
    verdicts = {word.split()[0]: word for word in (HOLDS, UNDECIDED, FAILS, NOT_RUN)}
    selects = "".join(
        _select(name, label, every, options)
        for name, label, every, options in (
            ("paper", "Paper", "all papers", papers),
            ("chapter", "Chapter", "all chapters", numbered),
            ("verdict", "Verdict", "all verdicts", verdicts),
        )
    )
    return (
        '<noscript><style>.icl-filter { display: none }</style></noscript><form class="icl-filter" role="search" '
        f'aria-label="Filter the claims">{selects}<label>Words<input type="search" name="q" autocomplete="off" '
        'placeholder="risk, thm41, Wishart …"></label><p><output role="status">'
        f"{len(claims)} of {len(claims)} claims</output> "
        '<button type="reset">Show all</button></p></form><script defer src="../_static/claims.js"></script>'
    )


def _select(name: str, label: str, every: str, options: dict[str, str]) -> str:
    choices = "".join(f'<option value="{key}">{html.escape(text)}</option>' for key, text in options.items())
    return f'<label>{label}<select name="{name}"><option value="">{every}</option>{choices}</select></label>'
