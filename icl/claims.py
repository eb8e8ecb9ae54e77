r"""The ledger: every claim of a chapter with what was predicted, what was measured, and a verdict.

What a claim says, where it stands in print, how it is measured and how far off it may be is fixed
beforehand, in `icl/catalogue/<chapter>.toml`; a chapter only supplies the numbers. A claim holds when

    |measured − predicted| ≤ tolerance + 5 · stderr

(or, for a bound, when it is not violated by more than that). A chapter that leaves a catalogued claim
undecided cannot be saved.
"""

import html
import json
import math
import os
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from icl.estimates import Estimate
from icl.files import write_atomically
from icl.parameters import Parameters, check_chapter
from icl.validation import InputError

STANDARD_ERRORS = 5.0
HOLDS, FAILS, NOT_RUN = "holds", "fails", "not run at this profile"
# Drift: how far a number may move from the committed baseline, relative to its size, by how it was measured.
DRIFT = {"exact": 1e-9, "monte-carlo": 1e-9, "trained": 1e-5}


@dataclass(frozen=True)
class Claim:
    """One line of the ledger. `predicted`, `measured`, `stderr` and `tolerance` share the claim's units."""

    id: str
    source: str
    statement: str
    method: str
    relation: str
    predicted: float | None
    measured: float | None
    stderr: float | None
    tolerance: float | None
    verdict: str
    reason: str = ""

    def _repr_html_(self) -> str:
        return claims_table([self])

    def __str__(self) -> str:
        if self.verdict == NOT_RUN:
            return f"{self.id}: {self.verdict} ({self.reason})"
        error = "exact" if self.stderr == 0 else f"± {self.stderr:.2g}"
        sign = {"equal": "=", "at most": "≤", "at least": "≥"}[self.relation]
        return f"{self.id}: {self.verdict}; {sign} {self.predicted:.8g} predicted, {self.measured:.8g} {error} measured"


def catalogue(chapter: str) -> dict[str, dict]:
    """The claims of a chapter by id, in the order of the page. Raises InputError for an unknown chapter."""
    text = files("icl").joinpath("catalogue", f"{check_chapter(chapter)}.toml").read_text(encoding="utf-8")
    defaults = {"relation": "equal", "rtol": 0.0, "atol": 0.0, "drift_atol": 0.0}
    return {id: defaults | entry for id, entry in tomllib.loads(text).items()}


class Ledger:
    """Collects a chapter's claims, numbers and figures, and saves them as `<chapter>.json`.

    `parameters` are the chapter's validated parameters. Files go to the folder that the environment variable
    ICL_OUT names, which `python -m icl run` sets, or to `_build/interactive` when you run the notebook yourself.
    """

    def __init__(self, chapter: str, parameters: Parameters):
        self.chapter, self.parameters = check_chapter(chapter), parameters
        self.folder = Path(os.environ.get("ICL_OUT", "_build/interactive"))
        self._catalogue = catalogue(chapter)
        self.claims: dict[str, Claim] = {}
        self.numbers: dict[str, float] = {}
        self.figures: dict[str, dict] = {}

    def decide(self, id: str, *, predicted: float, measured: float, stderr: float = 0.0) -> Claim:
        """Record a claim's numbers and return it with its verdict.

        Raises InputError for an id that is not in the catalogue, decided twice, or a `stderr` that is not ≥ 0.
        A `measured` that is not finite makes the claim fail.
        """
        entry = self._entry(id)
        predicted, measured, stderr = float(predicted), float(measured), float(stderr)
        if not (math.isfinite(stderr) and stderr >= 0):
            raise InputError(f"{id}: the standard error must be finite and at least 0, not {stderr}.")
        tolerance = entry["atol"] + entry["rtol"] * abs(predicted)
        slack = tolerance + STANDARD_ERRORS * stderr
        difference = measured - predicted
        excess = {"equal": abs(difference), "at most": difference, "at least": -difference}[entry["relation"]]
        verdict = HOLDS if excess <= slack else FAILS  # NaN compares false: fails
        return self._add(id, entry, predicted, measured, stderr, tolerance, verdict)

    def decide_estimate(self, id: str, *, predicted: float, estimate: Estimate) -> Claim:
        """`decide` with the mean and standard error of a Monte-Carlo estimate."""
        return self.decide(id, predicted=predicted, measured=estimate.mean, stderr=estimate.stderr)

    def not_run(self, id: str, reason: str) -> Claim:
        """Record that a claim cannot be decided at this profile or these parameters, and why."""
        return self._add(id, self._entry(id), None, None, None, None, NOT_RUN, reason)

    def number(self, name: str, value: float) -> float:
        """Record a number that the prose reads; returns it. Raises InputError for a name used twice."""
        if name in self.numbers:
            raise InputError(f"the number {name!r} is recorded twice; give each its own name.")
        self.numbers[name] = float(value)
        return value

    def figure(self, figure) -> object:
        """Write a `figures.Figure` (SVG and CSV), record it and return it for display."""
        if figure.name in self.figures:
            raise InputError(f"the figure {figure.name!r} is recorded twice; give each its own name.")
        self.figures[figure.name] = figure.write(self.folder / self.chapter)
        return figure

    def save(self) -> "Ledger":
        """Write `<folder>/<chapter>.json`; raises InputError when a catalogued claim was left undecided."""
        missing = [id for id in self._catalogue if id not in self.claims]
        if missing:
            raise InputError(
                f"{self.chapter} leaves claims undecided: {', '.join(missing)}; decide them or say why not."
            )
        write_atomically(self.folder / f"{self.chapter}.json", dumps(self.as_dict()))
        return self

    def as_dict(self) -> dict:
        """The chapter's JSON: chapter, parameters, claims (in catalogue order), numbers, figures."""
        return {
            "chapter": self.chapter,
            "parameters": self.parameters.model_dump(),
            "claims": [asdict(self.claims[id]) for id in self._catalogue],
            "numbers": self.numbers,
            "figures": self.figures,
        }

    def __repr__(self) -> str:
        return repr(Claims(self.claims.values()))

    def _repr_html_(self) -> str:
        return claims_table(self.claims.values())

    def _entry(self, id: str) -> dict:
        if id not in self._catalogue:
            raise InputError(f"{id!r} is not in the catalogue of {self.chapter}; add its statement and source there.")
        if id in self.claims:
            raise InputError(f"the claim {id!r} is decided twice.")
        return self._catalogue[id]

    def _add(self, id, entry, predicted, measured, stderr, tolerance, verdict, reason="") -> Claim:
        described = {key: entry[key] for key in ("source", "statement", "method", "relation")}
        self.claims[id] = Claim(
            id=id, **described, predicted=predicted, measured=measured, stderr=stderr, tolerance=tolerance,
            verdict=verdict, reason=reason,
        )  # fmt: skip
        return self.claims[id]


def dumps(content: dict) -> str:
    """JSON with every float's shortest exact form: the same content gives the same bytes."""
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def claims_table(claims: Iterable[Claim]) -> str:
    """An HTML table of claims; whatever comes from a ledger is escaped."""
    head = "".join(f"<th>{title}</th>" for title in ("claim", "predicted", "measured", "verdict"))
    return (
        f'<table class="icl-claims"><thead><tr>{head}</tr></thead><tbody>{"".join(map(_row, claims))}</tbody></table>'
    )


class Claims(tuple):
    """Several claims, shown as one table."""

    def _repr_html_(self) -> str:
        return claims_table(self)

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def _row(claim: Claim) -> str:
    name = f'<code>{html.escape(claim.id)}</code><br><span class="icl-statement">{html.escape(claim.statement)}</span>'
    if claim.verdict == NOT_RUN:
        numbers = f'<td colspan="2">{html.escape(claim.reason)}</td>'
    else:
        sign = {"equal": "", "at most": "≤ ", "at least": "≥ "}[claim.relation]
        predicted = f'<td data-label="predicted">{sign}{_format(claim.predicted)}</td>'
        numbers = f'{predicted}<td data-label="measured">{_measured(claim)}</td>'
    verdict = claim.verdict.split()[0]
    return f'<tr><td>{name}</td>{numbers}<td><span class="icl-{verdict}">{html.escape(claim.verdict)}</span></td></tr>'


def _measured(claim: Claim) -> str:
    """The measured number with as many digits as its standard error, itself to two, allows."""
    if claim.stderr == 0:
        return _format(claim.measured, digits=3 if claim.predicted == 0 else 7)
    decimals = 1 - math.floor(math.log10(claim.stderr))
    if not math.isfinite(claim.measured) or not 0 <= decimals <= 8:
        return f"{_format(claim.measured)} ± {_format(claim.stderr, digits=2)}"
    return f"{claim.measured:.{decimals}f} ± {claim.stderr:.{decimals}f}".replace("-", "−")


def _format(value: float, digits: int = 7) -> str:
    return f"{value:.{digits}g}".replace("-", "−")
