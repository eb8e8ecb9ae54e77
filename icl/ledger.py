"""The ledger: every claim of a chapter with its numbers and its verdict, written by a notebook and read back.

What a claim says, where it stands in print, how it is measured and how far off it may be is fixed beforehand, in the
chapter's `chapter.toml`; a chapter only supplies the numbers, by `Ledger.claims`. A chapter that leaves a catalogued
claim out cannot be saved. Reading believes nothing that was not written so: a ledger carries its own SHA-256 and those
of its chapter's notebook and figures, and `Record` is the one schema of what is written and read.
"""

import math
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError

from icl.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Claims, Number, Strict, claims_table, verdict
from icl.estimates import Estimate, NotRun
from icl.files import read_sealed, sealed, sha256, write_atomically
from icl.parameters import Parameters, checked
from icl.randomness import Streams
from icl.validation import InputError

_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class FigureRecord(Strict):
    """A figure in the ledger: what a screen reader says, its data's columns, how far these may drift, its digests."""

    alt: str
    columns: list[str]
    rows: int
    rtol: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    sha256: dict[Literal["csv", "svg", "narrow.svg"], _Digest]
    cell: int | None = None  # number of the notebook cell that drew it


class Record(Strict):
    """The ledger's JSON. `notebook` is the digest of the executed notebook, once that is written."""

    chapter: str
    parameters: dict[str, int | float | str]
    claims: list[Claim]
    numbers: dict[str, Number]
    figures: dict[_Name, FigureRecord]
    streams: list[list[str | int]] = []  # names of the random streams that were drawn from, in order
    notebook: _Digest | None = None


class Ledger:
    """Collects a chapter's claims, numbers and figures, and saves them as `<chapter>.json`.

    `parameters` are the chapter's validated parameters, `catalogue` its claims as `chapter.toml` has them, `stream` the
    run's random streams, whose names are kept. Files go to the folder that the environment variable ICL_OUT names,
    which `python -m icl run` sets, or to `_build/interactive` when you run the notebook yourself.
    """

    def __init__(self, chapter: str, parameters: Parameters, catalogue: dict[str, dict], stream: Streams):
        self.chapter, self.parameters, self._stream = chapter, parameters, stream
        self.folder = Path(os.environ.get("ICL_OUT", "_build/interactive"))
        self._catalogue = catalogue
        self._claims: dict[str, Claim] = {}
        self._numbers: dict[str, float] = {}
        self._figures: dict[str, FigureRecord] = {}

    def claims(self, found: dict[str, tuple]) -> Claims:
        """Decide claims, `{id: (predicted, measured), …}`, and return them as the table that is shown.

        A third number is what the catalogue's `near_miss`, the most natural wrong formula, predicts.

        `measured` is a number (exact), an `Estimate`, or `NotRun` with the reason, beside which the prediction is
        left out. A prediction that was itself sampled is an `Estimate` too; its error then counts as well. A failing
        claim carries the catalogue's `fails`, the published explanation. Raises InputError for an id that is not in
        the catalogue or decided twice, for a standard error that is not ≥ 0, and for a near miss without words or
        words without its number; a `measured` that is not finite fails.
        """
        return Claims(self._decide(id, *pair) for id, pair in found.items())

    def number(self, name: str, value: float) -> float:
        """Record a number that the prose reads; returns it. Raises InputError for a name used twice."""
        if name in self._numbers:
            raise InputError(f"the number {name!r} is recorded twice; give each its own name.")
        self._numbers[name] = float(value)
        return value

    def figure(self, figure) -> object:
        """Write a `figures.Figure` (SVG and CSV), record it and return it; InputError for a name used twice."""
        if figure.name in self._figures:
            raise InputError(f"the figure {figure.name!r} is recorded twice; give each its own name.")
        written = figure.write(self.folder / self.chapter)
        self._figures[figure.name] = written.model_copy(update={"cell": running_cell()})
        return figure

    def decided(self) -> list[Claim]:
        """The claims that were decided so far, in the catalogue's order."""
        return [self._claims[id] for id in self._catalogue if id in self._claims]

    def save(self) -> "Ledger":
        """Write `<folder>/<chapter>.json`, sealed; raises InputError when a catalogued claim was left out."""
        missing = [id for id in self._catalogue if id not in self._claims]
        if missing:
            raise InputError(
                f"{self.chapter} leaves claims out: {', '.join(missing)}; decide them, or say with NotRun why not."
            )
        write_atomically(self.folder / f"{self.chapter}.json", sealed(self.as_dict()))
        return self

    def as_dict(self) -> dict:
        """The chapter's JSON: chapter, parameters, claims (in catalogue order), numbers, figures, streams."""
        record = Record(
            chapter=self.chapter,
            parameters=self.parameters.model_dump(),
            claims=[self._claims[id] for id in self._catalogue],
            numbers=self._numbers,
            figures=self._figures,
            streams=[list(key) for key in self._stream.names],
        )
        return record.model_dump(exclude={"notebook"})

    def __repr__(self) -> str:
        return repr(Claims(self._claims.values()))

    def _repr_html_(self) -> str:
        return claims_table(self._claims.values())

    def _decide(self, id: str, predicted, measured, near=None) -> Claim:
        if id not in self._catalogue:
            raise InputError(f"{id!r} is not in the catalogue of {self.chapter}; add its statement and source there.")
        if id in self._claims:
            raise InputError(f"the claim {id!r} is decided twice.")
        entry = self._catalogue[id]
        described = {key: entry[key] for key in Claim.model_fields if key in entry}
        if isinstance(measured, NotRun):
            numbers = dict.fromkeys(("predicted", "measured", "stderr", "tolerance"))
            claim = Claim(id=id, **described, **numbers, verdict=NOT_RUN, reason=measured.reason, cell=running_cell())
        else:
            numbers = _numbers(id, entry, predicted, measured, near)
            claim = Claim(id=id, **described, **numbers, verdict=FAILS, cell=running_cell())
            decided = verdict(claim)
            reason = entry["fails"] if decided == FAILS else ""
            claim = claim.model_copy(update={"verdict": decided, "reason": reason})
        self._claims[id] = claim
        return claim


def _numbers(id: str, entry: dict, predicted, measured, near) -> dict[str, float]:
    """A claim's numbers; raises InputError for one that is none, or a standard error that makes no sense."""
    pair = [value if isinstance(value, Estimate) else Estimate(value, 0.0, 1) for value in (predicted, measured)]
    try:
        predicted, measured = (float(value.mean) for value in pair)
        errors = [float(value.stderr) for value in pair]
        near = None if near is None else float(near)
    except (TypeError, ValueError):
        raise InputError(f"{id}: give a number, an Estimate or NotRun(reason), not {measured!r}.") from None
    if senseless := [error for error in errors if not (math.isfinite(error) and error >= 0)]:
        raise InputError(f"{id}: the standard error must be finite and at least 0, not {senseless[0]}.")
    if (near is None) == bool(entry.get("near_miss")):
        raise InputError(f"{id}: the near miss's number and its words in chapter.toml go together; give both or none.")
    tolerance = entry["atol"] + entry["rtol"] * abs(predicted)
    return {
        "predicted": predicted,
        "measured": measured,
        "stderr": float(np.hypot(*errors)),
        "tolerance": tolerance,
    } | ({} if near is None else {"near": near})


def running_cell() -> int | None:
    """Number of the notebook cell that is running, as in `In [12]`; None outside a notebook.

    It is the length of the list of inputs: IPython's own counter is one ahead while a cell runs in Jupyter.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return len(shell.user_ns["In"]) - 1 if shell else None


def read(folder: Path, chapter: str, schema: type[Parameters]) -> dict:
    """The content of `<folder>/<chapter>.json`; NaN and ±infinity are numbers again.

    Raises InputError, with the file and the reason, when it is missing, altered since it was written, not a ledger,
    the ledger of another chapter, or one with parameters that `schema` refuses.
    """
    path = Path(folder) / f"{chapter}.json"
    if not os.path.exists(path):  # unlike Path.exists, False for a name that no file can have
        raise InputError(f"{path} does not exist; run `make book`, or `python -m icl run {chapter} --out {folder}`.")
    try:
        content = read_sealed(path)
        record = Record.model_validate(content)
        if record.chapter != chapter:
            raise InputError(f"{path} is damaged (it is the ledger of {record.chapter!r}).")
        checked(schema, chapter, record.parameters)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is damaged ({where}: {first['msg']}); delete it and run the chapter again.") from None
    except InputError as error:
        reason = str(error).removesuffix(".")
        named = reason if str(path) in reason else f"{path} is damaged ({reason})"
        raise InputError(f"{named}; delete it and run the chapter again.") from None
    return content | {"claims": list(map(dict, record.claims)), "numbers": record.numbers}


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


def claims_of(ledger: dict) -> list[Claim]:
    """The claims of one ledger."""
    return [Claim(**claim) for claim in ledger["claims"]]


def table(ledger: dict) -> str:
    """The chapter's claims as lines of text, one a claim."""
    return "\n".join(f"  {claim}" for claim in claims_of(ledger))


def summary(ledgers: list[dict]) -> str:
    """One line: how many claims hold, are undecided, fail, or were not run."""
    verdicts = [claim.verdict for ledger in ledgers for claim in claims_of(ledger)]
    words = {HOLDS: "holds|hold", UNDECIDED: "is undecided|are undecided", FAILS: "fails|fail"}
    words |= {NOT_RUN: "was not run at this profile|were not run at this profile"}
    numbers = {said: verdicts.count(said) for said in words if said in verdicts}
    counts = [f"{count} {words[said].split('|')[count != 1]}" for said, count in numbers.items()]
    return f"{len(verdicts)} claim{'s' * (len(verdicts) != 1)}: {', '.join(counts)}."


def failures(ledgers: list[dict], *, explained: bool) -> list[Claim]:
    """The claims whose verdict is «fails»: those that the catalogue explains, or those that it does not."""
    failing = [claim for ledger in ledgers for claim in claims_of(ledger) if claim.verdict == FAILS]
    return [claim for claim in failing if bool(claim.reason) == explained]
