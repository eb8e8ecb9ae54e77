"""Embed an explorable in a notebook page: controls, empty panels and numbers, to be filled by its `explorable.js`.

    Explorable(
        name="one_step_gd",                                     # the chapter's folder; its explorable.js draws
        controls=(Slider("n", "<i>n</i>", "examples", 1, 1000, log=True),
                  Choice("family", "", "target", {"sign": "sign(w·x)"})),
        panels=("Risk of one step against its size.",),         # one picture each: what a screen reader says
        numbers={"risk": Number("least risk", "gd")},           # what the script prints beside the curves
        fallback="At n = 20 the least risk is 1.44.",           # for readers without JavaScript, computed here
        start={"n": 20, "family": "sign"},                      # where the controls start: the run's own parameters
        data={...},                                             # optional, for what has no closed form
    )

As the last line of a cell tagged `hide-input` this is shown on the page. How the script is written is told at the top
of `book/assets/explorable.js`. The boxes have their size before any script runs, and the state lives in the address.
"""

import html
import json
from dataclasses import dataclass, field

import numpy as np

from icl.figures import COLOURS
from icl.validation import InputError

_PER_DECADE = 24  # steps of a logarithmic slider


@dataclass(frozen=True)
class Slider:
    """A number: from `least` to `most` in steps of `step`, or, with `log`, in even ratios rounded to two digits.

    symbol : as in the text, as HTML; words : what it is; unit : what a screen reader adds to the value. Whole numbers
    when `least`, `most` and `step` are. With `film`, the word for one of its steps, it is played like a film as well.
    """

    name: str
    symbol: str
    words: str
    least: float
    most: float
    step: float = 1
    log: bool = False
    unit: str = ""
    film: str = ""

    def values(self, start) -> list:
        """All values the slider can take, `start` among them; a start out of range widens the range.

        Raises InputError for a logarithmic slider that would reach 0 or below.
        """
        least, most = min(self.least, start), max(self.most, start)
        if self.log:
            if least <= 0:
                raise InputError(f"the logarithmic slider {self.name!r} needs values above 0; give it a linear one.")
            count = max(2, round(_PER_DECADE * np.log10(most / least)) + 1)
            grid = [float(f"{value:.1e}") for value in np.geomspace(least, most, count)]
        else:
            grid = [
                round(least + k * self.step, 10) for k in range(int(np.floor((most - least) / self.step + 1e-9)) + 1)
            ]
        kept = {min(max(value, least), most) for value in (*grid, least, most)} | {start}
        if all(float(part).is_integer() for part in (self.least, self.most, self.step)):
            kept = {round(value) for value in kept - {start}} | {start}
        return sorted(kept)

    def html(self, id: str, start) -> str:
        """The labelled range over the indices of `values`, and the place for the value (said by aria-valuetext)."""
        values = self.values(start)
        return (
            f'<label for="{id}">{_words(self)}</label><output for="{id}" aria-live="off">{start:g}</output>'
            f'<input type="range" id="{id}" name="{self.name}" min="0" max="{len(values) - 1}" step="1" '
            f'value="{values.index(start)}" autocomplete="off">'
        )


@dataclass(frozen=True)
class Choice:
    """One of several things: `options` maps the value that the script sees to the words that the reader sees."""

    name: str
    symbol: str
    words: str
    options: dict[str, str]
    unit: str = ""

    def values(self, start) -> list:
        """The options' values; raises InputError when `start` is none of them."""
        if start not in self.options:
            raise InputError(f"{self.name} starts at {start!r}, which is none of {', '.join(self.options)}.")
        return list(self.options)

    def html(self, id: str, start) -> str:
        """The labelled select."""
        options = "".join(
            f'<option value="{html.escape(value)}"{" selected" if value == start else ""}>{html.escape(text)}</option>'
            for value, text in self.options.items()
        )
        return (
            f'<label for="{id}">{_words(self)}</label>'
            f'<select id="{id}" name="{self.name}" autocomplete="off">{options}</select>'
        )


@dataclass(frozen=True)
class Number:
    """A number that the script prints: its words (HTML) and the colour of its curve, a name of `COLOURS` or none."""

    words: str
    colour: str = ""

    def __post_init__(self):
        if self.colour and self.colour not in COLOURS:
            raise InputError(f"there is no colour {self.colour!r}; colours: {', '.join(COLOURS)}.")


@dataclass(frozen=True)
class Explorable:
    """See the module's docstring. Raises InputError when a control has no start."""

    name: str
    controls: tuple[Slider | Choice, ...]
    panels: tuple[str, ...]
    numbers: dict[str, Number]
    fallback: str
    start: dict
    data: object = field(default=None, repr=False)
    script: str = ""  # the chapter's folder, where the name is another

    def __post_init__(self):
        missing = [control.name for control in self.controls if control.name not in self.start]
        if missing:
            raise InputError(f"the explorable {self.name!r} lacks a start for {', '.join(missing)}.")

    def _repr_html_(self) -> str:
        controls = "".join(
            f'<div class="control">{control.html(f"icl-{self.name}-{control.name}", self.start[control.name])}</div>'
            for control in self.controls
        )
        panels = "".join(
            f'<svg viewBox="0 0 340 240" role="img" aria-label="{html.escape(alt)}"></svg>' for alt in self.panels
        )
        wide = " wide" if len(self.panels) % 2 == 0 else ""  # beside the last panel where that leaves a gap
        return (
            '<link rel="stylesheet" href="../_static/explorable.css">'
            f'<div class="icl-explorable" data-explorable="{self.name}"><p class="fallback">{self.fallback} '
            "(Sliders that move these numbers appear here in the built book, with JavaScript switched on.)</p>"
            f'<div class="live" hidden><div class="controls">{controls}</div><div class="panels">{panels}'
            f'<dl class="numbers{wide}">{"".join(map(_number, self.numbers.items()))}</dl></div>'
            f'<div class="buttons">{"".join(map(_film, self.controls))}<button type="button" data-reset>Reset</button>'
            '<button type="button" data-copy="Copy link">Copy link</button></div><p role="status"></p></div>'
            f'<script type="application/json">{self._config()}</script></div>'
            '<script defer src="../_static/explorable.js"></script>'
            f'<script defer src="../_static/{self.script or self.name}.js"></script>'
        )

    def _config(self) -> str:
        controls = [
            {"name": c.name, "values": c.values(self.start[c.name]), "start": self.start[c.name], "unit": c.unit}
            for c in self.controls
        ]
        text = json.dumps({"controls": controls, "data": self.data}, allow_nan=False, ensure_ascii=False)
        return text.replace("<", "\\u003c")  # nothing in the data may end the script element

    def __repr__(self) -> str:
        return f"{self.fallback} (The sliders work in the built book.)"


def _words(control) -> str:
    return f"{control.symbol} {control.words}".strip()


def _film(control) -> str:
    """The buttons that play a slider forward and back; nothing for a control that is no film."""
    if not getattr(control, "film", ""):
        return ""
    step = '<button type="button" data-step="{}" aria-label="One {} {}">{}</button>'
    back, on = step.format(-1, control.film, "back", "◂"), step.format(1, control.film, "on", "▸")
    play = f'<button type="button" data-play>Play the {control.film}s</button>'
    return f'<span class="film" data-film="{control.name}">{back}{play}{on}</span>'


def _number(item: tuple[str, Number]) -> str:
    key, number = item
    coloured = f' class="coloured ink-{number.colour}"' if number.colour else ""
    return f'<div><dt{coloured}>{number.words}</dt><dd data-number="{key}">–</dd></div>'
