"""The page «The atlas», from the committed points: maps by margin, the errors' distribution, what fails and why."""

import html
import json
import math

import numpy as np
from scipy.stats import kstest, norm, spearmanr

from icl.chapters import CHAPTERS, catalogue
from icl.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.files import write_atomically
from icl.parameters import Parameters
from press.atlas import points
from press.atlas.kept import Atlas, command
from press.atlas.table import BROKEN, Line, decided
from press.pages.chapter import framed
from press.pages.reading import title

_WIDE, _HIGH, _LEFT, _BELOW = 420, 300, 52, 42  # of a map, in its own units
_UNKNOWN = "Not explained yet."
_SHADES = (0.1, 0.5, 1.0)  # of what is allowed: a map's colours change there


def pages(atlas: Atlas, tree) -> dict[str, str]:
    """The generated parts of the page, by name; puts the picture's data in place."""
    picture, said = errors(atlas)
    picture.write(tree / "extra" / "data" / "book")
    drawn = framed(picture.svg(), "book", picture.name)
    write_atomically(tree / "extra" / "data" / "atlas" / "points.csv", _points_csv(atlas))
    return {
        "atlas_summary": summary(atlas),
        "atlas_maps": maps(atlas),
        "atlas_errors": f"```{{raw}} html\n<figure>{drawn}<figcaption><p>{said}</p></figcaption></figure>\n```\n",
        "atlas_failing": failing(atlas),
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


def maps(atlas: Atlas) -> str:
    """A section a chapter: its points over the two parameters that move the margins most."""
    return (
        "\n".join(
            f"### {title(chapter)}\n\n```{{raw}} html\n{_map(atlas, chapter, lines)}\n```\n"
            for chapter, lines in atlas.lines.items()
        )
        + '\n```{raw} html\n<script defer src="../_static/atlas.js"></script>\n```\n'
    )


def telling(chapter: str, asked: list[Parameters], worst: dict[int, float]) -> tuple[str, str]:
    """The two parameters with which a chapter's largest margins change most, by Spearman's rank correlation."""
    names, there = points.axes(chapter), sorted(worst)
    margins = np.array([worst[number] for number in there])
    strength = {}
    for name in names:
        values = np.array([getattr(asked[number], name) for number in there], dtype=float)
        vary = len(set(values)) > 1 and len(set(margins)) > 1
        strength[name] = abs(float(spearmanr(values, margins).statistic)) if vary else 0.0
    first, second = sorted(names, key=lambda name: -strength[name])[:2]
    return tuple(sorted((first, second), key=names.index))


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
    beyond = {k: float((abs(every) > k).mean()) if len(every) else 0.0 for k in (2, 3, 5)}
    said = (
        f"{len(every):,} Monte Carlo measurements of equalities, in their standard errors. Beyond 2, 3 and 5 lie "
        f"{beyond[2]:.2%}, {beyond[3]:.2%} and {beyond[5]:.3%}; the normal law has 4.55 %, 0.27 % and 0.00006 %."
    )
    if test:
        said += (
            f" Claims of a point share prompts; of {len(single)}, one a point, the Kolmogorov–Smirnov distance "
            f"to the normal law is {test.statistic:.3f} (p = {test.pvalue:.2g})."
        )
    columns = {"middle": middle, "density": density, "normal": norm.pdf(middle)}
    alt = "Histogram of normalised Monte Carlo errors beside the density of the normal law."
    return Figure("atlas_errors", figure, columns, alt, method="monte-carlo"), said


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
        said = line.reason if line.verdict == BROKEN else f"margin {_margin(line.margin)}"
        rows.append(f"<li><code>{run}</code> {html.escape(said)}</li>")
    why = atlas.reasons.get(id) or catalogue(chapter)[id]["fails"] or _UNKNOWN
    count = f"{len(found)} of {atlas.number(chapter)} points"
    return (
        f'<details class="icl-atlas-wrong"><summary><code>{html.escape(id)}</code> {count}: '
        f"{html.escape(why)}</summary>"
        f"<ul>{''.join(rows)}</ul></details>"
    )


def _map(atlas: Atlas, chapter: str, lines: list[Line]) -> str:
    asked, there = atlas.points[chapter], sorted({line.point for line in lines})
    margins: dict[str, dict[int, float]] = {}
    for line in lines:
        if line.verdict != NOT_RUN:
            margins.setdefault(line.claim, {})[line.point] = math.inf if line.verdict == BROKEN else line.margin
    worst = {number: max((of[number] for of in margins.values() if number in of), default=0.0) for number in there}
    worst = {number: math.inf if math.isnan(value) else value for number, value in worst.items()}
    across, up = telling(chapter, asked, worst)
    place = {name: _scale(chapter, name) for name in (across, up)}
    circles = []
    for number in there:
        parameters = asked[number]
        x = _LEFT + place[across](getattr(parameters, across)) * (_WIDE - _LEFT - 12)
        y = _HIGH - _BELOW - place[up](getattr(parameters, up)) * (_HIGH - _BELOW - 12)
        told = html.escape(command(chapter, parameters))
        circles.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" tabindex="0" role="button" class="{_shade(worst[number])}" '
            f'data-command="{told}"><title>{told}: {_margin(worst[number])}</title></circle>'
        )
    table = {id: [_short(of.get(number)) for number in there] for id, of in margins.items()}
    options = "".join(f"<option>{html.escape(id)}</option>" for id in margins)
    label = (
        f"Map of chapter {CHAPTERS[chapter].number}: {len(there)} points over {across} and {up}, coloured by margin."
    )
    return (
        '<div class="icl-atlas"><label hidden>claim <select><option value="">the worst of all</option>'
        f"{options}</select></label>"
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="group" aria-label="{html.escape(label)}">'
        f"{_frame(chapter, across, up)}{''.join(circles)}</svg>"
        '<p class="icl-atlas-command" role="status">A point shows the command that runs it.</p>'
        f'<script type="application/json">{json.dumps(table)}</script></div>'
    )


def _frame(chapter: str, across: str, up: str) -> str:
    parts = [f'<path d="M {_LEFT} 12 V {_HIGH - _BELOW} H {_WIDE - 12}" class="axis"/>']
    for name, along in ((across, True), (up, False)):
        place = _scale(chapter, name)
        for value in _ticks(chapter, name):
            share = place(value)
            x, y = _LEFT + share * (_WIDE - _LEFT - 12), _HIGH - _BELOW - share * (_HIGH - _BELOW - 12)
            spot = (
                f'x="{x:.1f}" y="{_HIGH - _BELOW + 15}" text-anchor="middle"'
                if along
                else f'x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end"'
            )
            parts.append(f"<text {spot}>{value:g}</text>")
    parts.append(f'<text x="{(_WIDE + _LEFT) / 2}" y="{_HIGH - 6}" text-anchor="middle" class="name">{across}</text>')
    middle = (_HIGH - _BELOW) / 2
    parts.append(
        f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})" class="name">{up}</text>'
    )
    return "".join(parts)


def _scale(chapter: str, name: str):
    """A parameter's value → where it stands on its axis, in [0, 1]; zero of a logarithmic one at its own left end."""
    least, most, _ = points.limits(chapter, name)
    if not points.logarithmic(chapter, name):
        return lambda value: (value - least) / (most - least)
    low = least or points.LEAST
    room = 0.0 if least else 0.08
    return lambda value: room + (1 - room) * math.log(value / low) / math.log(most / low) if value else 0.0


def _ticks(chapter: str, name: str) -> list[float]:
    least, most, whole = points.limits(chapter, name)
    if not points.logarithmic(chapter, name):
        return [least, *([(least + most) / 2] if not whole or (least + most) % 2 == 0 else []), most]
    if most <= 1000:
        return [value for value in (1, 2, 5, 10, 20, 50, 100, 200) if least <= value <= most]
    return [*([0] if not least else []), *(10.0**k for k in range(-3 if not least else 0, 7, 3) if 10.0**k <= most)]


def _shade(margin: float) -> str:
    names = ("small", "middling", "large", "beyond")
    return names[sum(margin > limit for limit in _SHADES)]


def _margin(value: float | None) -> str:
    if value is None:
        return "not decided"
    return "no finite margin" if not math.isfinite(value) else f"{value:.2g} of what is allowed"


def _short(value: float | None):
    """For JSON: three digits; beyond all bounds is 1e9."""
    return None if value is None else 1e9 if not math.isfinite(value) or value > 1e9 else float(f"{max(value, 0):.3g}")


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
