"""The front page: all claims in one picture, theorems with their verdicts, chapters with their reading times."""

import html

from icl.chapters import CHAPTERS, catalogue, citations
from icl.claims import FAILS, NOT_RUN, Claim, measured_text, predicted_text, verdict_mark
from press.finished import FinishedChapter, FinishedRun
from press.pages.claim_cards import card_address, cell_address
from press.pages.reading import READING_RULE, title
from press.pages.strips import CARRIED, LEGEND, said, strip

_CAPTION = (
    "Each mark is one claim: the number a formula predicts, and the number found without that formula. On the line the "
    "two are the same. Bounds, and claims that something is zero, have no place on these axes; they are in "
    '<a href="claims.html">the list</a>.'
)


def captioned(picture: str) -> str:
    """The picture of all claims with its caption, as HTML."""
    return f"<figure>{picture}<figcaption><p>{_CAPTION}</p></figcaption></figure>"


def theorems(run: FinishedRun) -> str:
    """The table of theorems as HTML, one line each: the claims with a headline, else a chapter's first."""
    rows = "".join(_row(chapter, claim, text) for chapter, claim, text in _headlines(run))
    titles = ("theorem", "predicted · measured", "verdict")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    return f'{LEGEND}<table class="icl-claims icl-theorems"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _headlines(run: FinishedRun):
    for chapter in run.chapters:
        headlines = {id: entry["headline"] for id, entry in catalogue(chapter.name).items()}
        for claim in [claim for claim in chapter.claims if headlines[claim.id]] or chapter.claims[:1]:
            yield chapter, claim, headlines[claim.id] or claim.statement


def _row(chapter: FinishedChapter, claim: Claim, text: str) -> str:
    where = f'<a href="{cell_address(chapter.name, claim)}">{said(text)}</a>'
    source = f'<span class="icl-statement">{html.escape(claim.source)}</span>'
    verdict = f'<a href="{card_address(claim.id)}">{verdict_mark(claim)}</a>'
    mark = f"<br>{CARRIED}" if claim.id in chapter.carried else ""
    digits = said(claim.reason) if claim.verdict == NOT_RUN else f"{predicted_text(claim)} · {measured_text(claim)}"
    return f"<tr><td>{where}<br>{source}</td><td>{strip(claim)}{digits}</td><td>{verdict}{mark}</td></tr>"


def contents(run: FinishedRun) -> str:
    """The chapters as a numbered list in MyST: title, reading time, claims, summary."""
    described = [CHAPTERS[chapter.name] for chapter in run.chapters]
    lines = [
        f"{of.number}. {{doc}}`{title(of.name)} </notebooks/{of.name}>` "
        f"({chapter.minutes} minutes, {len(chapter.claims)} claims). {of.summary}"
        for of, chapter in zip(described, run.chapters, strict=True)
    ]
    total = sum(chapter.minutes for chapter in run.chapters)
    hours = f"{total // 60} h {total % 60:02d} min"
    return "\n".join(lines) + f"\n\nAll of it takes about {hours} to read ({READING_RULE}).\n"


def failing(claims: list[Claim]) -> str:
    """The claims that fail as a list of HTML, each a link to its card and the reason; nothing where none does."""
    lines = "".join(f"<li>{_failed(claim)}</li>" for claim in claims if claim.verdict == FAILS)
    return f'<p>What fails, and why:</p><ul class="icl-failing">{lines}</ul>' if lines else ""


def _failed(claim: Claim) -> str:
    link = f'<a href="{card_address(claim.id)}"><span class="icl-fails">{html.escape(claim.id)}</span></a>'
    return f'{link} <span class="icl-statement">{said(claim.reason)}</span>' if claim.reason else link


def share(claims: list[Claim]) -> str:
    """How many papers and theorems the claims come from, as one sentence."""
    keys = {key for claim in claims for key in citations.papers(claim.source)} - {"companion"}
    own = sum(citations.papers(claim.source) == ["companion"] for claim in claims)
    return f"{len(claims) - own} of the {len(claims)} claims come from {len(keys)} papers, {own} are this book's own.\n"
