"""The maps of the page «The atlas»: a chapter's points over two parameters, coloured by margin."""

import html
import json
import math

import numpy as np
from scipy.stats import spearmanr

from icl.chapters import CHAPTERS
from icl.claims import NOT_RUN
from icl.parameters import Parameters
from press.atlas import points
from press.atlas.kept import Atlas, command
from press.atlas.table import BROKEN, Line
from press.pages.reading import title

_WIDE, _HIGH, _LEFT, _BELOW = 420, 300, 52, 42  # of a map, in its own units
_SHADES = (0.1, 0.5, 1.0)  # of what is allowed: a map's colours change there


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
            f'data-command="{told}"><title>{told}: {margin_in_words(worst[number])}</title></circle>'
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


def margin_in_words(value: float | None) -> str:
    """A margin, for a reader."""
    if value is None:
        return "not decided"
    return "no finite margin" if not math.isfinite(value) else f"{value:.2g} of what is allowed"


def _short(value: float | None):
    """For JSON: three digits; beyond all bounds is 1e9."""
    return None if value is None else 1e9 if not math.isfinite(value) or value > 1e9 else float(f"{max(value, 0):.3g}")
