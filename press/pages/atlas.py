"""The page «The atlas», from the committed points: what was decided, and what fails and why."""

import html

import numpy as np

from icl.chapters import catalogue
from icl.claims import FAILS, HOLDS, UNDECIDED
from icl.files import write_atomically
from press.atlas import edges
from press.atlas.kept import Atlas, command
from press.atlas.table import BROKEN, Line, decided
from press.pages.atlas_edges import breaking, claim_by_claim, farther
from press.pages.atlas_errors import UNKNOWN, astray, errors
from press.pages.atlas_maps import maps, margin_in_words
from press.pages.chapter import framed
from press.pages.reading import title


def pages(atlas: Atlas, tree) -> dict[str, str]:
    """The generated parts of the page, by name; puts the picture's data in place."""
    picture, said = errors(atlas)
    picture.write(tree / "extra" / "data" / "book")
    drawn = framed(picture.svg() + picture.narrow_svg(), "book", picture.name)
    write_atomically(tree / "extra" / "data" / "atlas" / "points.csv", _points_csv(atlas))
    edges.write(tree / "extra" / "data" / "atlas" / "edges.csv", atlas.edges)
    return {
        "atlas_summary": summary(atlas),
        "atlas_maps": maps(atlas),
        "atlas_errors": f"```{{raw}} html\n<figure>{drawn}<figcaption><p>{said}</p></figcaption></figure>\n```\n",
        "atlas_astray": astray(atlas),
        "atlas_failing": failing(atlas),
        "atlas_edges": breaking(atlas),
        "atlas_claims": claim_by_claim(atlas),
        "atlas_horizons": farther(atlas),
    }


def summary(atlas: Atlas) -> str:
    """A line a chapter: points, verdicts, and what a point costs."""
    rows = [
        "| chapter | points | decided | hold | undecided | fail | broke off | seconds a point (most) |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    totals = np.zeros(6, dtype=int)
    for chapter, lines in atlas.lines.items():
        verdicts = [line.verdict for line in lines]
        counts = [
            atlas.number(chapter),
            len(decided(lines)),
            *(verdicts.count(v) for v in (HOLDS, UNDECIDED, FAILS, BROKEN)),
        ]
        totals += counts
        cost = atlas.made["chapters"][chapter]
        link = f"{{doc}}`{title(chapter)} </notebooks/{chapter}>`"
        shown = " | ".join(f"{count:,}" for count in counts)
        rows.append(f"| {link} | {shown} | {cost['seconds_median']:.1f} ({cost['seconds_most']:.0f}) |")
    rows.append("| **all** | " + " | ".join(f"**{count:,}**" for count in totals) + " | |")
    return "\n".join(rows) + "\n"


def failing(atlas: Atlas) -> str:
    """Every failing or broken-off line: grouped by claim, with its reason and the commands that run its points."""
    parts = []
    for chapter, lines in atlas.lines.items():
        wrong: dict[str, list[Line]] = {}
        for line in (line for line in lines if line.wrong):
            wrong.setdefault(line.claim, []).append(line)
        if wrong:
            parts += [f"### {title(chapter)}", "", "```{raw} html"]
            parts += [_wrong(atlas, chapter, id, found) for id, found in wrong.items()]
            parts += ["```", ""]
    return "\n".join(parts) if parts else "Nothing fails.\n"


def _wrong(atlas: Atlas, chapter: str, id: str, found: list[Line]) -> str:
    rows = []
    for line in found:
        run = html.escape(command(chapter, atlas.points[chapter][line.point]))
        said = line.reason if line.verdict == BROKEN else f"margin {margin_in_words(line.margin)}"
        rows.append(f"<li><code>{run}</code> {html.escape(said)}</li>")
    why = atlas.reasons.get(id) or catalogue(chapter)[id]["fails"] or UNKNOWN
    count = f"{len(found)} of {atlas.number(chapter)} points"
    return (
        f'<details class="icl-atlas-wrong"><summary><code>{html.escape(id)}</code> {count}: '
        f"{html.escape(why)}</summary>"
        f"<ul>{''.join(rows)}</ul></details>"
    )


def _points_csv(atlas: Atlas) -> str:
    rows = ["chapter,point,command"]
    for chapter, lines in atlas.lines.items():
        rows += [
            f"{chapter},{k},{command(chapter, atlas.points[chapter][k])}" for k in sorted({x.point for x in lines})
        ]
    return "\n".join(rows) + "\n"
