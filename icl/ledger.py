r"""The ledger: every claim of a chapter with what was predicted, what was measured, and a verdict.

What a claim says, where it stands in print, how it is measured and how far off it may be is fixed
beforehand, in the chapter's `chapter.toml`; a chapter only supplies the numbers. A claim holds when

    |measured − predicted| ≤ tolerance + 5 · stderr

(or, for a bound, when it is not violated by more than that). A chapter that leaves a catalogued claim
undecided cannot be saved.
"""

import html
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from icl.estimates import Estimate
from icl.files import sealed, write_atomically
from icl.parameters import Parameters
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
    cell: int | None = None  # number of the notebook cell that decided it

    def _repr_html_(self) -> str:
        return claims_table([self])

    def __str__(self) -> str:
        if self.verdict == NOT_RUN:
            return f"{self.id}: {self.verdict} ({self.reason})"
        error = "exact" if self.stderr == 0 else f"± {self.stderr:.2g}"
        sign = {"equal": "=", "at most": "≤", "at least": "≥"}[self.relation]
        numbers = f"{sign} {self.predicted:.8g} predicted, {self.measured:.8g} {error} measured"
        return f"{self.id}: {self.verdict}; {numbers}" + f" ({self.reason})" * bool(self.reason)


class Ledger:
    """Collects a chapter's claims, numbers and figures, and saves them as `<chapter>.json`.

    `parameters` are the chapter's validated parameters, `catalogue` its claims as `chapter.toml` has them. Files go to
    the folder that the environment variable ICL_OUT names, which `python -m icl run` sets, or to `_build/interactive`
    when you run the notebook yourself.
    """

    def __init__(self, chapter: str, parameters: Parameters, catalogue: dict[str, dict]):
        self.chapter, self.parameters = chapter, parameters
        self.folder = Path(os.environ.get("ICL_OUT", "_build/interactive"))
        self._catalogue = catalogue
        self.claims: dict[str, Claim] = {}
        self.numbers: dict[str, float] = {}
        self.figures: dict[str, dict] = {}

    def decide(self, id: str, *, predicted: float, measured: float, stderr: float = 0.0) -> Claim:
        """Record a claim's numbers and return it with its verdict.

        Raises InputError for an id that is not in the catalogue, decided twice, or a `stderr` that is not ≥ 0.
        A `measured` that is not finite makes the claim fail. A failing claim carries the catalogue's `fails`, the
        published explanation, as its reason.
        """
        entry = self._entry(id)
        predicted, measured, stderr = float(predicted), float(measured), float(stderr)
        if not (math.isfinite(stderr) and stderr >= 0):
            raise InputError(f"{id}: the standard error must be finite and at least 0, not {stderr}.")
        tolerance = entry["atol"] + entry["rtol"] * abs(predicted)
        claim = self._add(id, entry, predicted, measured, stderr, tolerance, FAILS, entry["fails"])
        if excess(claim) <= tolerance + STANDARD_ERRORS * stderr:  # NaN compares false: fails
            claim = self.claims[id] = replace(claim, verdict=HOLDS, reason="")
        return claim

    def decide_estimate(self, id: str, *, predicted: float, estimate: Estimate, unless: str | None = None) -> Claim:
        """`decide` with the mean and standard error of an estimate; `not_run` where `unless` says why not."""
        if unless:
            return self.not_run(id, unless)
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
        """Write a `figures.Figure` (SVG and CSV), record it and return it; InputError for a name used twice."""
        if figure.name in self.figures:
            raise InputError(f"the figure {figure.name!r} is recorded twice; give each its own name.")
        self.figures[figure.name] = figure.write(self.folder / self.chapter) | {"cell": running_cell()}
        return figure

    def save(self) -> "Ledger":
        """Write `<folder>/<chapter>.json`, sealed; raises InputError when a catalogued claim was left undecided."""
        missing = [id for id in self._catalogue if id not in self.claims]
        if missing:
            raise InputError(
                f"{self.chapter} leaves claims undecided: {', '.join(missing)}; decide them or say why not."
            )
        write_atomically(self.folder / f"{self.chapter}.json", sealed(self.as_dict()))
        return self

    def as_dict(self) -> dict:
        """The chapter's JSON: chapter, parameters, claims (in catalogue order), numbers, figures."""
        return {
            "chapter": self.chapter,
            "parameters": self.parameters.model_dump(),
            "claims": [
                {key: json_number(value) for key, value in asdict(self.claims[id]).items()} for id in self._catalogue
            ],
            "numbers": {name: json_number(value) for name, value in self.numbers.items()},
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
            verdict=verdict, reason=reason, cell=running_cell(),
        )  # fmt: skip
        return self.claims[id]


def excess(claim: Claim) -> float:
    """How far the measurement is from the prediction, or beyond a bound (negative where it keeps it)."""
    difference = claim.measured - claim.predicted
    return {"equal": abs(difference), "at most": difference, "at least": -difference}[claim.relation]


def running_cell() -> int | None:
    """Number of the notebook cell that is running, as in `In [12]`; None outside a notebook.

    It is the length of the list of inputs: IPython's own counter is one ahead while a cell runs in Jupyter.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return len(shell.user_ns["In"]) - 1 if shell else None


def json_number(value):
    """`value`, but NaN and ±infinity as the texts «nan», «inf» and «-inf», since JSON has no such numbers."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


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
    if claim.verdict == FAILS and claim.reason:
        name += f'<br><span class="icl-statement">Why it fails: {html.escape(claim.reason)}</span>'
    return f"<tr><td>{name}</td>{number_cells(claim)}<td>{verdict_mark(claim)}</td></tr>"


def number_cells(claim: Claim) -> str:
    """The two cells of a table that hold a claim's numbers, or one over both with the reason why there are none."""
    if claim.verdict == NOT_RUN:
        return f'<td colspan="2">{html.escape(claim.reason)}</td>'
    texts = {"predicted": predicted_text(claim), "measured": measured_text(claim)}
    return "".join(f'<td data-label="{name}">{text}</td>' for name, text in texts.items())


def verdict_mark(claim: Claim) -> str:
    """The verdict in its colour, as HTML."""
    return f'<span class="icl-{claim.verdict.split()[0]}">{html.escape(claim.verdict)}</span>'


def predicted_text(claim: Claim) -> str:
    """The predicted number, behind ≤ or ≥ where it is a bound."""
    return {"equal": "", "at most": "≤ ", "at least": "≥ "}[claim.relation] + shown_number(claim.predicted)


def measured_text(claim: Claim) -> str:
    """The measured number with as many digits as its standard error, itself to two, allows."""
    if claim.stderr == 0:
        return shown_number(claim.measured, digits=3 if claim.predicted == 0 else 7)
    decimals = 1 - math.floor(math.log10(claim.stderr))
    if not math.isfinite(claim.measured) or not -4 <= decimals <= 8:
        return f"{shown_number(claim.measured)} ± {shown_number(claim.stderr, digits=2)}"
    measured, stderr = (f"{round(x, decimals):.{max(decimals, 0)}f}" for x in (claim.measured, claim.stderr))
    return f"{measured} ± {stderr}".replace("-", "−")


def shown_number(value: float, digits: int = 7) -> str:
    """`value` to so many significant digits, with a minus sign and not a hyphen."""
    return f"{value:.{digits}g}".replace("-", "−")
