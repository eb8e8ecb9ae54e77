"""The one gate of the book's numbers: every figure number and claim of a run beside its committed baseline.

`make check`, `make test` and `make baselines` all call `compare`. A baseline is a folder `<profile>/<chapter>/`: a CSV
for each figure, `claims.csv` with a column a claim, and `provenance.json`, which says how they were made. How far a
number may be from its baseline is the business of `tolerances`.
"""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icl.chapters import read_ledger
from icl.claims import FAILS, NOT_RUN, STANDARD_ERRORS, Claim, excess
from icl.files import csv_text, dumps, read_csv, read_json, write_atomically
from icl.ledger import claims_of
from icl.validation import InputError
from press.layout import BASELINES
from press.tolerances import VERDICTS, Tolerance, rounding, tables

_PROVENANCE = "provenance.json"
SHOWN = 10  # columns that a report shows, unless all are asked for


@dataclass(frozen=True)
class Column:
    """One column of a run beside its baseline: the numbers now and then, (rows,) each, and how far they may differ."""

    table: str
    name: str
    rows: list
    new: np.ndarray
    old: np.ndarray
    tolerance: Tolerance

    @property
    def moved(self) -> np.ndarray:
        """Which numbers are not where they were, (rows,)."""
        return ~np.isclose(self.new, self.old, equal_nan=True, rtol=0, atol=self.tolerance.allowed(self.old))

    @property
    def shares(self) -> np.ndarray:
        """Each number's move as a share of what it may move, (rows,); NaN where either is not finite."""
        finite = np.isfinite(self.new) & np.isfinite(self.old)
        move = np.abs(np.subtract(self.new, self.old, out=np.full(len(self.old), np.nan), where=finite))
        return move / self.tolerance.allowed(self.old)

    @property
    def leeway(self) -> np.ndarray:
        """How far each number may move as a share of its size, (rows,), verdicts left out; 0 for mere rounding."""
        known = np.isfinite(self.old) & ~rounding(self.old, self.tolerance.scale)
        allowed = self.tolerance.allowed(self.old)
        return np.divide(allowed, np.abs(self.old), out=np.zeros(len(self.old)), where=known)[self.numbers]

    @property
    def numbers(self) -> slice:
        """The rows that are numbers: of a claim, all but its verdict."""
        return slice(-1 if self.table == "claims" else None)

    def line(self, row: int) -> str:
        """One number: what it was, what it is, and how far it may move."""
        was, now, allowed = self.old[row], self.new[row], self.tolerance.allowed(self.old)[row]
        move = self.shares[row] * allowed
        return f"[{self.rows[row]}] {was:.12g} → {now:.12g}, a move of {move:.3g} (allowed: {allowed:.3g})"


@dataclass(frozen=True)
class Comparison:
    """A chapter's run beside its baselines: what came or went, the columns of both, the claims, who made what."""

    chapter: str
    changes: list[str]
    columns: list[Column]
    claims: list[Claim]
    owners: dict[str, str]

    @property
    def verdicts(self) -> list[str]:
        """The claims whose verdict is another, with both."""
        word = dict(enumerate(VERDICTS)).get
        return [
            f"{self.chapter} {column.name} ({word(column.old[-1])} → {word(column.new[-1])})"
            for column in self.columns
            if column.table == "claims" and column.moved[-1]
        ]

    @property
    def moved(self) -> list[tuple[float, Column, np.ndarray]]:
        """The columns whose numbers moved: the largest share of what one may move, the column, the rows of them."""
        found = [(column, np.flatnonzero(column.moved[column.numbers])) for column in self.columns]
        return [(np.nan_to_num(c.shares[rows], nan=np.inf).max(), c, rows) for c, rows in found if len(rows)]

    @property
    def count(self) -> int:
        """How much is not as it was: tables and columns, verdicts, numbers."""
        return len(self.changes) + len(self.verdicts) + sum(len(rows) for *_, rows in self.moved)

    def drift(self) -> tuple[int, float, str]:
        """How many numbers were compared, the largest share of what one may move, and where that is."""
        shares = {f"{column.table}.{column.name}": column.shares for column in self.columns}
        shares = {name: share[np.isfinite(share)] for name, share in shares.items()}
        largest, at = max(((share.max(), name) for name, share in shares.items() if len(share)), default=(0.0, ""))
        return sum(map(len, shares.values())), float(largest), at if largest else ""

    def theory(self) -> tuple[float, str]:
        """The largest share of what theory allows a claim, of those that do not fail, and which claim that is."""
        shares = [(share_of_slack(claim), claim.id) for claim in self.claims if claim.verdict != FAILS]
        return max((pair for pair in shares if np.isfinite(pair[0])), default=(0.0, ""))

    def __str__(self) -> str:
        (numbers, drift, at), (theory, claim) = self.drift(), self.theory()
        failing = sum(claim.verdict == FAILS for claim in self.claims)
        return (
            f"{self.chapter}: {numbers:,} numbers against the baseline, at most {_percent(drift, at)} of the drift "
            f"allowed; {len(self.claims)} claims against theory, at most {_percent(theory, claim)} of tolerance and 5 "
            f"standard errors" + f", but for {failing} published as failing" * bool(failing)
        )


def compare(folder: Path, baselines: Path, chapter: str) -> Comparison:
    """A run of a chapter beside its baselines, a folder of one profile.

    Raises InputError when there is no baseline at all, one of them is damaged, or the run is incomplete.
    """
    committed, ledger = Path(baselines) / chapter, read_ledger(folder, chapter)
    current = {table.name: table for table in tables(folder, chapter)}
    if not committed.is_dir():
        raise InputError(f"there are no baselines in {committed}; `make baselines` writes them.")
    before = {path.stem: read_csv(path) for path in sorted(committed.glob("*.csv"))}
    changes = [f"{chapter} {name}: is in the baselines but not in this run" for name in before if name not in current]
    changes += [f"{chapter} {name}: is in this run but not in the baselines" for name in current if name not in before]
    columns = []
    for table in (table for name, table in current.items() if name in before):
        old = before[table.name]
        if list(old) != list(table.columns):
            gone, new = (", ".join(name for name in a if name not in b) or "none"
                         for a, b in ((old, table.columns), (table.columns, old)))  # fmt: skip
            what = f"columns were others, or in another order (vanished: {gone}; new: {new})"
            changes.append(f"{chapter} {table.name}: {what}")
            continue
        for name, numbers in table.columns.items():
            if len(numbers) == len(old[name]):
                columns.append(Column(table.name, name, table.rows, numbers, old[name], table.tolerances[name]))
            else:
                what = f"had {len(old[name])} rows and has {len(numbers)}"
                changes.append(f"{chapter} {table.name}.{name}: {what}")
    return Comparison(chapter, changes, columns, claims_of(ledger), _owners(folder, ledger))


def _owners(folder: Path, ledger: dict) -> dict[str, str]:
    """Figure, or claims.id → the cell that made it, by its number and first line."""
    path = Path(folder) / f"{ledger['chapter']}.ipynb"
    cells = read_json(path)["cells"] if path.exists() else []
    ran = {cell["execution_count"]: cell["source"] for cell in cells if cell.get("execution_count")}
    lines = {k: next(iter("".join(source).strip().splitlines()), "") for k, source in ran.items()}
    made = {name: figure.get("cell") for name, figure in ledger["figures"].items()}
    made |= {f"claims.{claim['id']}": claim.get("cell") for claim in ledger["claims"]}
    return {name: f"cell {k} ({lines.get(k, '?')})" if k else "outside a notebook" for name, k in made.items()}


def report(found: list[Comparison], *, everything: bool = False) -> list[str]:
    """What is not as it was, in lines: verdicts, what came or went, then columns, those that moved most first.

    Of each column one number is shown, unless `everything` is asked for.
    """
    lines, columns = [], [(one, *column) for one in found for column in one.moved]
    if verdicts := [words for one in found for words in one.verdicts]:
        shown = verdicts if everything else verdicts[: 2 * SHOWN]
        more = f" and {len(verdicts) - len(shown)} more" * (len(verdicts) > len(shown))
        lines.append(f"{_counted(len(verdicts), 'verdict')} changed: {', '.join(shown)}{more}.")
    lines += [change for one in found for change in one.changes]
    if columns:
        count = sum(len(rows) for *_, rows in columns)
        lines.append(f"{_counted(count, 'number')} of {_counted(len(columns), 'column')} moved further than allowed:")
    columns.sort(key=lambda entry: -entry[1])
    for one, _, column, rows in columns[: None if everything else SHOWN]:
        lines += _told(one, column, rows, everything)
    if len(columns) > SHOWN and not everything:
        lines.append(f"  … and {len(columns) - SHOWN} more columns; --all shows every number.")
    return lines


def _told(one: Comparison, column: Column, rows: np.ndarray, everything: bool) -> list[str]:
    """A column that moved: its name, who made it, and its numbers or the one that moved most."""
    most = rows[np.nan_to_num(column.shares[rows], nan=np.inf).argmax()]
    place = f"{column.table}.{column.name}"
    owner = one.owners[place if column.table == "claims" else column.table]
    if column.table == "claims":
        owner += "; " + against_theory(next(claim for claim in one.claims if claim.id == column.name))
    others = "" if len(rows) == 1 or everything else f" (and {len(rows) - 1} more)"
    shown = [column.line(row) for row in (rows if everything else [most])]
    return [f"  {one.chapter} {place}{others}, {owner}", *(f"    {line}" for line in shown)]


def against_theory(claim: Claim) -> str:
    """How far a claim is off, and how far it may be: its tolerance and five standard errors."""
    if claim.verdict == NOT_RUN:
        return f"against theory: {claim.verdict}"
    slack = claim.tolerance + STANDARD_ERRORS * claim.stderr
    return f"against theory: off by {excess(claim):.3g} (allowed: {slack:.3g}), {claim.verdict}"


def share_of_slack(claim: Claim) -> float:
    """|measured − predicted| as a share of what theory allows; 0 where nothing is off, NaN for a claim not run."""
    if claim.verdict == NOT_RUN:
        return math.nan
    slack = claim.tolerance + STANDARD_ERRORS * claim.stderr
    return max(excess(claim), 0.0) / slack if slack else (0.0 if excess(claim) <= 0 else math.inf)


def write(folder: Path, baselines: Path, chapter: str) -> None:
    """Make this run the new baseline of `chapter`, replacing the old folder once all of it is written."""
    target, current = Path(baselines) / chapter, tables(folder, chapter)
    fresh = target.with_name(f".{chapter}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for table in current:
        write_atomically(
            fresh / f"{table.name}.csv", csv_text(table.columns, table.rows if table.name == "claims" else None)
        )
    made = Path(folder) / f"{chapter}.provenance.json"
    if made.exists():
        facts = {key: value for key, value in read_json(made).items() if key != "sources"}
        write_atomically(fresh / _PROVENANCE, dumps(facts))
    if target.exists():
        shutil.rmtree(target)
    fresh.rename(target)


def committed_provenance(profile: str, chapter: str) -> dict | None:
    """How the committed numbers of a chapter were made (seconds, hardware, versions); None where it is not recorded."""
    path = BASELINES / profile / chapter / _PROVENANCE
    return read_json(path) if path.exists() else None


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _percent(share: float, where: str) -> str:
    return f"{100 * share:.3g} %" + (f" ({where})" if where else "")
