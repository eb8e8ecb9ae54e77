r"""A claim: what was predicted, what was measured, the verdict, and how a page shows all three.

An equality holds when |measured − predicted| ≤ tolerance + 5 · stderr, and fails otherwise. A bound holds when the
measurement keeps it, up to its tolerance; it fails when it is missed by more than tolerance + 5 · stderr; between the
two it is undecided.

A claim that states a formula has a near miss beside it, the most natural wrong one: where that would hold as well, the
claim says too little.
"""

import html
import math
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from icl.estimates import DRIFT
from icl.files import json_number

STANDARD_ERRORS = 5.0
HOLDS, UNDECIDED, FAILS, NOT_RUN = "holds", "undecided", "fails", "not run at this profile"
_SIGNS = {"equal": "=", "at most": "≤", "at least": "≥"}
Method, Relation = Literal[tuple(DRIFT)], Literal[tuple(_SIGNS)]


def _from_json(value):
    return float(value) if isinstance(value, str) and value in ("nan", "inf", "-inf") else value


Number = Annotated[float, BeforeValidator(_from_json), PlainSerializer(json_number)]


class Strict(BaseModel):
    """What a file has to consist of: these fields, of these types, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Claim(Strict):
    """One line of the ledger. `predicted`, `measured`, `stderr` and `tolerance` share the claim's units."""

    id: str
    source: str
    statement: str
    method: Method
    relation: Relation
    predicted: Number | None
    measured: Number | None
    stderr: Number | None
    tolerance: Number | None
    verdict: Literal[HOLDS, UNDECIDED, FAILS, NOT_RUN]
    reason: str = ""
    cell: int | None = None  # number of the notebook cell that decided it
    near_miss: str = ""  # the most natural wrong formula, in words
    near: Number | None = None  # what it predicts
    cannot_tell: str = ""  # where there is no near miss: what the claim cannot tell apart, and why

    def _repr_html_(self) -> str:
        return claims_table([self])

    def __str__(self) -> str:
        if self.verdict == NOT_RUN:
            return f"{self.id}: {self.verdict} ({self.reason})"
        error = "exact" if self.stderr == 0 else f"± {self.stderr:.2g}"
        numbers = f"{_SIGNS[self.relation]} {self.predicted:.8g} predicted, {self.measured:.8g} {error} measured"
        return f"{self.id}: {self.verdict}; {numbers}" + f" ({self.reason})" * bool(self.reason)


class Claims(tuple):
    """Several claims, shown as one table."""

    def _repr_html_(self) -> str:
        return claims_table(self)

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def excess(claim: Claim) -> float:
    """How far the measurement is from the prediction, or beyond a bound (negative where it keeps it)."""
    difference = claim.measured - claim.predicted
    return {"equal": abs(difference), "at most": difference, "at least": -difference}[claim.relation]


def verdict(claim: Claim) -> str:
    """What the numbers of a claim that was run say: «holds», «undecided» (a bound only) or «fails»."""
    beyond, most = excess(claim), allowance(claim)
    kept = most if claim.relation == "equal" else claim.tolerance
    if beyond <= kept:  # NaN compares false: fails
        return HOLDS
    return UNDECIDED if beyond <= most else FAILS


def off(claim: Claim) -> float:
    """How far the measurement is from the near miss, or beyond it as a bound, in units of what the claim allows.

    Above 1 the near miss fails.
    """
    beyond, allowed = excess(claim.model_copy(update={"predicted": claim.near})), allowance(claim)
    return beyond / allowed if allowed else math.copysign(math.inf, beyond) if beyond else 0.0


def allowance(claim: Claim) -> float:
    """How far off a claim may be before it fails: its tolerance and five standard errors."""
    return claim.tolerance + STANDARD_ERRORS * claim.stderr


def explanation(claim: Claim) -> tuple[str, str] | None:
    """Why a claim fails, or is undecided: a name for the reason, and the reason; None where nothing is to be said."""
    if claim.verdict == UNDECIDED:
        errors = shown_number((excess(claim) - claim.tolerance) / claim.stderr, 2)
        return "why it is undecided", f"the bound is missed by {errors} standard errors; it fails from five on."
    return ("why it fails", claim.reason) if claim.verdict == FAILS and claim.reason else None


def claims_table(claims: Iterable[Claim]) -> str:
    """An HTML table of claims; whatever comes from a ledger is escaped."""
    head = "".join(f"<th>{title}</th>" for title in ("claim", "predicted", "measured", "verdict"))
    return (
        f'<table class="icl-claims"><thead><tr>{head}</tr></thead><tbody>{"".join(map(_row, claims))}</tbody></table>'
    )


def _row(claim: Claim) -> str:
    name = f'<code>{html.escape(claim.id)}</code><br><span class="icl-statement">{html.escape(claim.statement)}</span>'
    if explained := explanation(claim):
        said = f"{explained[0].capitalize()}: {explained[1]}"
        name += f'<br><span class="icl-statement">{html.escape(said)}</span>'
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
    sign = "" if claim.relation == "equal" else f"{_SIGNS[claim.relation]} "
    return sign + shown_number(claim.predicted)


def measured_text(claim: Claim) -> str:
    """The measured number with as many digits as its standard error, itself to two, allows."""
    if claim.stderr == 0:
        return shown_number(claim.measured, digits=3 if claim.predicted == 0 else 7)
    decimals = 1 - math.floor(math.log10(claim.stderr))
    if not math.isfinite(claim.measured) or not -4 <= decimals <= 8:
        return f"{shown_number(claim.measured)} ± {shown_number(claim.stderr, digits=2)}"
    return to_its_error(claim.measured, claim.stderr).replace("-", "−")


def to_its_error(value: float, error: float) -> str:
    """A number and its positive standard error, both to the second digit of the error: 0.0052 ± 0.0011."""
    decimals = 1 - math.floor(math.log10(error))
    return " ± ".join(f"{round(x, decimals):.{max(decimals, 0)}f}" for x in (value, error))


def shown_number(value: float, digits: int = 7) -> str:
    """`value` to so many significant digits, with a minus sign and not a hyphen."""
    return f"{value:.{digits}g}".replace("-", "−")
