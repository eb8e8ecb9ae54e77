"""Reading ledgers back: all chapters of one run, their verdicts, a summary for the terminal.

Nothing is believed that was not written so: a ledger carries its own SHA-256 and those of its chapter's notebook and
figures, and its fields are checked against a typed schema.
"""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from icl.chapters import CHAPTERS, check_parameters
from icl.files import read_sealed, sha256
from icl.ledger import FAILS, HOLDS, NOT_RUN, Claim
from icl.validation import InputError

_Number = Annotated[float, Field(allow_inf_nan=False)] | Literal["nan", "inf", "-inf"]
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Claim(_Strict):
    id: str
    source: str
    statement: str
    method: Literal["exact", "monte-carlo", "trained"]
    relation: Literal["equal", "at most", "at least"]
    predicted: _Number | None
    measured: _Number | None
    stderr: _Number | None
    tolerance: _Number | None
    verdict: Literal[HOLDS, FAILS, NOT_RUN]
    reason: str
    cell: int | None = None


class _Figure(_Strict):
    alt: str
    columns: list[str]
    rows: int
    rtol: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    sha256: dict[Literal["csv", "svg"], _Digest]
    cell: int | None = None


class _Ledger(_Strict):
    chapter: str
    parameters: dict[str, int | float | str]
    claims: list[_Claim]
    numbers: dict[str, _Number]
    figures: dict[_Name, _Figure]
    notebook: _Digest | None = None


def read_ledger(folder: Path, chapter: str) -> dict:
    """The content of `<folder>/<chapter>.json`.

    Raises InputError, with the file and the reason, when it is missing, altered since it was written, not a ledger,
    or the ledger of another chapter.
    """
    path = Path(folder) / f"{chapter}.json"
    if not os.path.exists(path):  # unlike Path.exists, False for a name that no file can have
        raise InputError(f"{path} does not exist; run `make book`, or `python -m icl run {chapter} --out {folder}`.")
    try:
        ledger = read_sealed(path)
        _Ledger.model_validate(ledger)
        if ledger["chapter"] != chapter:
            raise InputError(f"{path} is damaged (it is the ledger of {ledger['chapter']!r}).")
        check_parameters(chapter, **ledger["parameters"])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is damaged ({where}: {first['msg']}); delete it and run the chapter again.") from None
    except InputError as error:
        reason = str(error).removesuffix(".")
        named = reason if str(path) in reason else f"{path} is damaged ({reason})"
        raise InputError(f"{named}; delete it and run the chapter again.") from None
    for claim in ledger["claims"]:
        claim |= {key: _number(claim[key]) for key in ("predicted", "measured", "stderr", "tolerance")}
    ledger["numbers"] = {name: _number(value) for name, value in ledger["numbers"].items()}
    return ledger


def read_verified(path: Path, digest: str | None) -> str:
    """The text of a file that a ledger vouches for; raises InputError when it is missing or its SHA-256 differs."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); run the chapter again.") from None
    if sha256(content) != digest:
        raise InputError(f"{path} was altered after it was written: its SHA-256 differs; run the chapter again.")
    return content.decode("utf-8")


def read_figure(folder: Path, ledger: dict, name: str, suffix: str) -> str:
    """The text of a figure's `svg` or `csv`, as its ledger vouches for it; raises InputError as `read_verified`."""
    path = Path(folder) / ledger["chapter"] / f"{name}.{suffix}"
    return read_verified(path, ledger["figures"][name]["sha256"].get(suffix))


def read_all(folder: Path) -> list[dict]:
    """Every chapter's ledger, in the order of the book; raises InputError when one is missing."""
    return [read_ledger(folder, chapter) for chapter in CHAPTERS]


def claims_of(ledger: dict) -> list[Claim]:
    """The claims of one ledger."""
    return [Claim(**claim) for claim in ledger["claims"]]


def table(ledger: dict) -> str:
    """The chapter's claims as lines of text, one a claim."""
    return "\n".join(f"  {claim}" for claim in claims_of(ledger))


def summary(ledgers: list[dict]) -> str:
    """One line: how many claims hold, fail, or were not run."""
    verdicts = [claim.verdict for ledger in ledgers for claim in claims_of(ledger)]
    plural = {HOLDS: "hold", FAILS: "fail", NOT_RUN: "were not run at this profile"}
    counts = [f"{verdicts.count(verdict)} {words}" for verdict, words in plural.items() if verdict in verdicts]
    return f"{len(verdicts)} claims: {', '.join(counts)}."


def failures(ledgers: list[dict], *, explained: bool) -> list[Claim]:
    """The claims whose verdict is «fails»: those that the catalogue explains, or those that it does not."""
    failing = [claim for ledger in ledgers for claim in claims_of(ledger) if claim.verdict == FAILS]
    return [claim for claim in failing if bool(claim.reason) == explained]


def _number(value):
    return float(value) if isinstance(value, str) else value
