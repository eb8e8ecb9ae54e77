"""What a comparison found: one row an algorithm, the table as text, HTML and records, and the verdict in words."""

import html
import math
from dataclasses import dataclass, field

from icl.comparison.algorithms import Family
from icl.comparison.layers import Layers
from icl.comparison.words import ROUNDING, many, markup, pair, share
from icl.estimates import Estimate
from icl.files import csv_text

ERRORS = 5.0  # standard errors that tell two algorithms apart, as everywhere in this book
POWER = 1.2816  # and the normal quantile more that makes it nine times out of ten
SAME, CLOSE, ALIKE = 1e-3, 0.1, 0.5  # distances at which the words change
_TITLES = ("algorithm", "differs by", "risk", "exact risk", "similarity", "told apart")


@dataclass(frozen=True)
class Row:
    """One family's best member beside the model.

    distance : root mean square of the difference, as a share of the model's; interval : 95 % of the best step count;
    apart : told apart from the nearest algorithm; needed : prompts that would do it nine times out of ten; same : the
    same function as the nearest one on these prompts.
    """

    key: str
    name: str
    distance: Estimate
    risk: Estimate
    exact: float
    similarity: Estimate
    late: Estimate
    steps: int | None
    interval: tuple[int, int] | None
    fitted: int
    apart: bool
    needed: float
    same: bool


@dataclass(frozen=True)
class Comparison:
    """A model beside all algorithms on `prompts` prompts with `answers` answers each.

    rows : nearest first; named : the simplest of those that cannot be told from the nearest; worse : the model's risk
    less the named one's; layers : of a model that shows its states; families : the algorithms, for `off_law`.
    """

    model: str
    law: str
    prompts: int
    answers: int
    d: int
    risk: Estimate
    rows: list[Row]
    named: Row
    worse: Estimate
    split: bool  # whether some answers come after more than d examples and some do not
    families: list[Family] = field(repr=False)
    layers: Layers | None = None

    @property
    def verdict(self) -> str:
        """The answer in a few sentences."""
        return " ".join(filter(None, [self._which(), self._parameter(), self._rivals(), self._price()]))

    def records(self) -> list[dict]:
        """The table as plain records: `pandas.DataFrame(comparison.records())`."""
        return [{"algorithm": row.name, **_numbers(row)} for row in self.rows]

    def csv(self) -> str:
        """The records as CSV, one line an algorithm."""
        numbers = [_numbers(row) for row in self.rows]
        return csv_text({key: [line[key] for line in numbers] for key in numbers[0]}, [row.name for row in self.rows])

    def __str__(self) -> str:
        head = f"{self.model} on {self.law}: {self.prompts:,} prompts, {self.answers} answers each"
        head += f"\nits risk: {pair(self.risk)}\n"
        cells = [list(self._titles()), *map(list, map(self._cells, self.rows))]
        widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
        lines = ["  ".join(_filled(line, widths)).rstrip() for line in cells]
        lines.insert(1, "-" * max(map(len, lines)))
        layers = f"\n\n{self.layers}" if self.layers else ""
        return "\n".join([head, *lines, "", self.verdict]) + layers

    def table_html(self) -> str:
        """The table alone, as HTML."""
        head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in self._titles())
        body = "".join(_line(self._cells(row), row is self.named) for row in self.rows)
        caption = f"{self.model}, risk {pair(self.risk)}; {self.prompts:,} prompts, {self.answers} answers each"
        table = f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        return f'<table class="icl-compare">{table}</table>'

    def _repr_html_(self) -> str:
        layers = self.layers._repr_html_() if self.layers else ""
        return f"{self.table_html()}<p>{markup(self.verdict)}</p>{layers}"

    def _repr_mimebundle_(self, **_) -> dict:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def _titles(self) -> tuple[str, ...]:
        return (*_TITLES[:5], f"beyond {self.d} examples", _TITLES[5]) if self.split else _TITLES

    def _cells(self, row: Row) -> tuple[str, ...]:
        steps = f" [{row.interval[0]}, {row.interval[1]}]" if row.interval and row.interval[0] < row.interval[1] else ""
        cosines = (row.similarity, row.late) if self.split else (row.similarity,)
        similar = [f"{cosine.mean:.4f}".replace("-", "−") for cosine in cosines]
        exact = "–" if math.isnan(row.exact) else f"{row.exact:.4g}".replace("inf", "∞")
        return (row.name + steps, share(row.distance), pair(row.risk), exact, *similar, self._told(row))

    def _told(self, row: Row) -> str:
        if row is self.rows[0]:
            return "the nearest"
        if row.same:
            return "the same function here"
        return "yes" if row.apart else f"no, it takes {many(row.needed)} prompts"

    def _which(self) -> str:
        """Its name, with as much conviction as the distance allows."""
        off, name = self.named.distance.mean, self.named.name
        by = "agree up to rounding" if off < ROUNDING else f"differ by {share(self.named.distance)} of their size"
        if off <= SAME:
            return f"It is {name}: their answers {by}."
        if off <= CLOSE:
            return f"It is close to {name} and is not it: their answers {by}."
        if off <= ALIKE:
            return f"It is none of these; it resembles {name} most, and their answers {by}."
        return f"It is none of these: even beside the nearest, {name}, their answers {by}."

    def _parameter(self) -> str:
        """Where a fitted member is named: how far off the same algorithm is with the law's own number."""
        one_step = self.named.key == "gd_fixed" and self.named.steps == 1
        usual = "one_step" if one_step else {"ridge": "bayes"}.get(self.named.key)
        row = next((row for row in self.rows if row.key == usual and row.apart), None)
        return (
            f"With the number that this law asks for, {row.name}, it would be {share(row.distance)} off." if row else ""
        )

    def _rivals(self) -> str:
        others = [row for row in self.rows if row is not self.named and not (row.same and row.fitted)]
        if told := [f"{row.name} ({_why(row)})" for row in others if not row.apart]:
            return f"At {self.prompts:,} prompts it cannot be told from {'; '.join(told)}."
        rival = next(iter(others), None)
        if rival is None:
            return ""
        return f"The next, {rival.name}, is {share(rival.distance)} off, which {self.prompts:,} prompts tell apart."

    def _price(self) -> str:
        if abs(self.worse.mean) <= ERRORS * self.worse.stderr or self.named.distance.mean <= SAME:
            return ""
        more = "more" if self.worse.mean > 0 else "less"
        size = Estimate(abs(self.worse.mean), self.worse.stderr, self.prompts)
        return f"Its risk is {pair(size)} {more} than that algorithm's."


def prompts_needed(difference: Estimate) -> float:
    """Prompts at which so large a mean difference exceeds five standard errors nine times out of ten; ∞ for none."""
    if difference.mean <= 0:
        return math.inf
    return math.ceil(difference.count * ((ERRORS + POWER) * difference.stderr / difference.mean) ** 2)


def _numbers(row: Row) -> dict:
    low, high = row.interval or (math.nan, math.nan)
    return {
        "distance": row.distance.mean,
        "distance_stderr": row.distance.stderr,
        "risk": row.risk.mean,
        "risk_stderr": row.risk.stderr,
        "exact_risk": row.exact,
        "similarity": row.similarity.mean,
        "similarity_stderr": row.similarity.stderr,
        "similarity_late": row.late.mean,
        "similarity_late_stderr": row.late.stderr,
        "steps": math.nan if row.steps is None else row.steps,
        "steps_low": low,
        "steps_high": high,
        "told_apart": float(row.apart),
        "prompts_needed": row.needed,
    }


def _why(row: Row) -> str:
    return "the same function on these prompts" if row.same else f"{many(row.needed)} prompts would do"


def _filled(cells, widths) -> list[str]:
    first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return [cells[0].ljust(widths[0]), *others] if first else others


def _line(cells, named: bool) -> str:
    first, *others = map(markup, cells)
    marked = ' class="icl-named"' if named else ""
    return f'<tr{marked}><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'
