"""The page «The atlas», from the committed points: maps by margin, the errors' distribution, what fails and why."""

import html
import math

import numpy as np
from scipy.stats import kstest, norm

from icl.chapters import CHAPTERS, catalogue
from icl.claims import FAILS, HOLDS, UNDECIDED
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.files import write_atomically
from press.atlas import edges
from press.atlas.kept import FARTHER, Atlas, command
from press.atlas.table import BROKEN, Line, decided
from press.pages.atlas_maps import maps, margin_in_words
from press.pages.chapter import framed
from press.pages.reading import title

_UNKNOWN = "Not explained yet."


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
        "atlas_failing": failing(atlas),
        "atlas_edges": breaking(atlas),
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


def errors(atlas: Atlas) -> tuple[Figure, str]:
    """Normalised errors of Monte Carlo equalities beside the normal law, and the sentence that says how they fit."""
    every, single = [], []
    for chapter, lines in atlas.lines.items():
        known = catalogue(chapter)
        by_point: dict[int, list[float]] = {}
        for line in decided(lines):
            sampled = line.stderr > 0 and known[line.claim]["relation"] == "equal"
            if sampled and math.isfinite(line.measured) and _free(line, known[line.claim]):
                by_point.setdefault(line.point, []).append((line.measured - line.predicted) / line.stderr)
        for number, found in by_point.items():
            every += found
            single.append(found[number % len(found)])  # claims of a point share prompts, points share nothing
    every, single = np.array(every), np.array(single)
    edges = np.linspace(-5, 5, 41)
    counts = np.histogram(np.clip(every, -4.999, 4.999), edges)[0]
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    density = counts / max(len(every), 1) / width
    with style():
        figure, axis = canvas(height=3.0)
        axis.bar(middle, density, width=0.9 * width, color=COLOURS["bayes"], label="measured")
        axis.plot(middle, norm.pdf(middle), color=INK, label="normal law")
        axis.set(xlabel="(measured − predicted) / standard error; the last bars hold all beyond", ylabel="density")
        axis.legend()
    test = kstest(single, "norm") if len(single) > 1 else None
    beyond = {k: 100 * float((abs(every) > k).mean()) if len(every) else 0.0 for k in (2, 3, 5)}
    said = (
        f"{len(every):,} Monte Carlo measurements of equalities, in their standard errors. Beyond 2, 3 and 5 lie "
        f"{beyond[2]:.2f} %, {beyond[3]:.2f} % and {beyond[5]:.3f} %; the normal law has 4.55 %, 0.27 % and 0.00006 %."
    )
    if test:
        said += (
            f" Claims of a point share prompts; of {len(single)}, one a point, the Kolmogorov–Smirnov distance "
            f"to the normal law is {test.statistic:.3f} (p = {test.pvalue:.2g})."
        )
    columns = {"middle": middle, "density": density, "normal": norm.pdf(middle)}
    alt = "Histogram of normalised Monte Carlo errors beside the density of the normal law."
    return Figure("atlas_errors", figure, columns, alt, method="monte-carlo"), said


def breaking(atlas: Atlas) -> str:
    """A row for each chapter, parameter and direction: the claim that breaks first, where, and what it says then."""
    ways: dict[tuple[str, str, str], list[edges.Edge]] = {}
    for edge in (edge for edge in atlas.edges if edge.direction != edges.TWICE):
        ways.setdefault((edge.chapter, edge.parameter, edge.direction), []).append(edge)
    if not ways:
        return "No edges are known yet.\n"
    rows = ["| chapter | parameter | all hold to | first to break | at | because |", "|---|---|--:|---|--:|---|"]
    for (chapter, name, direction), found in ways.items():
        broken = [edge for edge in found if edge.broke is not None]
        first = min(broken, key=lambda edge: edge.broke if direction == "up" else -edge.broke, default=None)
        told = f"`{first.claim}` | {_number(first.broke)} | {_in_cell(first.why)}" if first else "none | |"
        held = _number((first or min(found, key=lambda edge: edge.held)).held)
        rows.append(f"| {CHAPTERS[chapter].number} | `{name}` {direction} | {held} | {told} |")
    walked = {chapter for chapter, *_ in ways}
    missing = ", ".join(str(CHAPTERS[name].number) for name in atlas.lines if name not in walked)
    return "\n".join([*rows, *(["", f"Not walked yet: chapters {missing}."] if missing else []), ""])


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
    why = atlas.reasons.get(id) or catalogue(chapter)[id]["fails"] or _UNKNOWN
    count = f"{len(found)} of {atlas.number(chapter)} points"
    return (
        f'<details class="icl-atlas-wrong"><summary><code>{html.escape(id)}</code> {count}: '
        f"{html.escape(why)}</summary>"
        f"<ul>{''.join(rows)}</ul></details>"
    )


def _number(value: float) -> str:
    """Whole numbers with all their digits, others with three, and powers of ten written out."""
    if abs(value) < 1e6 and value == int(value):
        return f"{value:,.0f}"
    digits, _, power = f"{value:.3g}".partition("e")
    return f"{digits} × 10{{sup}}`{int(power)}`".replace("-", "−") if power else digits


def _in_cell(text: str) -> str:
    """Words as a cell of a table."""
    return html.escape(text).replace("|", "&#124;")


def _free(line: Line, entry: dict) -> bool:
    """Whether the tolerance is small beside the standard error, so that the error alone decides."""
    return entry["atol"] + entry["rtol"] * abs(line.predicted) <= 0.1 * line.stderr


def _points_csv(atlas: Atlas) -> str:
    rows = ["chapter,point,command"]
    for chapter, lines in atlas.lines.items():
        rows += [
            f"{chapter},{k},{command(chapter, atlas.points[chapter][k])}" for k in sorted({x.point for x in lines})
        ]
    return "\n".join(rows) + "\n"
