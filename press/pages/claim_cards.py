"""The claims page: a card for every claim, which the page's script filters, and the links between cards and cells."""

import html

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
from press.finished import FinishedRun
from press.pages.reading import title

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


def linked(table: str, ids: list[str]) -> str:
    """A table of claims whose ids link to their cards, seen from a chapter."""
    for id in ids:
        code = f"<code>{html.escape(id)}</code>"
        table = table.replace(code, f'<a href="{card_address(id, "../book/claims.html")}">{code}</a>')
    return table


def claims_page(run: FinishedRun) -> str:
    """The generated part of the claims page in MyST: the filter, and a section of cards for each chapter."""
    parts = ["```{raw} html", _filter(run), "```", ""]
    for chapter in run.chapters:
        parameters = chapter.ledger["parameters"].items()
        settings = html.escape(", ".join(f"{name} = {value}" for name, value in parameters))
        cards = "".join(_card(chapter.name, claim) for claim in chapter.claims)
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


def _card(chapter: str, claim: Claim) -> str:
    if claim.verdict == NOT_RUN:
        facts = [("not run", html.escape(claim.reason))]
    else:
        facts = [
            ("predicted", predicted_text(claim)),
            ("measured", measured_text(claim)),
            ("allowed", _tolerance(claim)),
        ]
    if explained := explanation(claim):
        facts.append((explained[0], html.escape(explained[1])))
    if claim.near is not None:
        facts.append(("near miss", _near_miss(claim)))
    if claim.cannot_tell:
        facts.append(("cannot tell", html.escape(claim.cannot_tell)))
    facts += [
        ("source", html.escape(claim.source)),
        ("how measured", _METHODS[claim.method]),
        ("where", f'<a href="{cell_address(chapter, claim)}">the cell that decides it</a>'),
    ]
    rows = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts)
    id, papers = html.escape(claim.id), " ".join(citations.papers(claim.source))
    return (
        f'<article class="icl-card" id="claim-{id}" data-chapter="{chapter}" data-paper="{papers}" '
        f'data-verdict="{claim.verdict.split()[0]}"><h3><a href="#claim-{id}"><code>{id}</code></a> '
        f"{verdict_mark(claim)}</h3><p>{html.escape(claim.statement)}</p><dl>{rows}</dl></article>\n"
    )


def _tolerance(claim: Claim) -> str:
    fixed = shown_number(claim.tolerance, 1) if claim.tolerance else ""
    statistical = "5 standard errors" if claim.stderr else ""
    return " + ".join(filter(None, [fixed, statistical])) or "no difference"


def _near_miss(claim: Claim) -> str:
    """The wrong formula, what it predicts, and how far off that is."""
    far = off(claim)
    told = f"off by {shown_number(far, 2)} times what is allowed" if far > 1 else "not told apart at these parameters"
    return f"{html.escape(claim.near_miss)}: {shown_number(claim.near)}, {told}"


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
