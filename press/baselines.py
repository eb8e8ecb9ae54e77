"""Figure numbers and claims against their committed baselines: what moved, by how much, beyond which tolerance.

A baseline is a folder `baselines/<profile>/<chapter>/` with one CSV per figure and `claims.csv`, in the layout of
pytest-regressions' `num_regression`, which the test suite uses on the same files; `provenance.json` says how they were
made. How far a number may be from its baseline is the business of `tolerances`.
"""

import csv
import io
import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icl.chapters import read_ledger
from icl.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED
from icl.files import csv_text, write_atomically
from icl.ledger import read_figure
from icl.validation import InputError
from press.layout import BASELINES
from press.owners import Owners
from press.tolerances import CLAIM_ROWS, Tolerance, measured, of_claim, of_column

_PROVENANCE = "provenance.json"
_VERDICTS = (FAILS, HOLDS, NOT_RUN, UNDECIDED)  # their codes in claims.csv; a new one goes to the end


@dataclass(frozen=True)
class Table:
    """Numbers of one figure, or of a chapter's claims (a column a claim): columns by name, labels of the rows."""

    name: str
    columns: dict[str, np.ndarray]
    rows: list
    tolerances: dict[str, Tolerance]


@dataclass(frozen=True)
class Move:
    """One number that left its tolerance, or a table, row or column that appeared or vanished.

    `owner` says which cell of which chapter made the number, and how it stands to theory.
    """

    where: str
    message: str
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f"\n    {self.owner}" if self.owner else "")


def tables(folder: Path, chapter: str) -> list[Table]:
    """Every table of a run: one per figure, and `claims`. Raises InputError where the run is incomplete."""
    ledger, seen = read_ledger(folder, chapter), measured(chapter)
    result = [_claims_table(ledger, seen)]
    for name, entry in ledger["figures"].items():
        columns = parse_csv(read_figure(folder, ledger, name, "csv"), f"{name}.csv of {chapter}")
        tolerances = {column: of_column(entry["rtol"], seen.get(f"{name}.{column}")) for column in columns}
        rows = range(max(map(len, columns.values())))
        result.append(Table(name, columns, list(rows), tolerances))
    return result


def _claims_table(ledger: dict, seen: dict[str, dict]) -> Table:
    columns, tolerances = {}, {}
    for claim in ledger["claims"]:
        numbers = [math.nan if claim[row] is None else claim[row] for row in CLAIM_ROWS[:-1]]
        columns[claim["id"]] = np.array([*numbers, _VERDICTS.index(claim["verdict"])], dtype=float)
        tolerances[claim["id"]] = of_claim(claim, seen.get(f"claims.{claim['id']}"))
    return Table("claims", columns, CLAIM_ROWS, tolerances)


def compare(folder: Path, baselines: Path, chapter: str) -> list[Move]:
    """Every number of a run that is not where its baseline was; an empty list when nothing moved.

    Raises InputError when there is no baseline at all or the run is incomplete.
    """
    committed = Path(baselines) / chapter
    if not committed.is_dir():
        raise InputError(f"there are no baselines in {committed}; `make baselines` writes them.")
    moves, current, owners = [], tables(folder, chapter), Owners(folder, chapter)
    for vanished in sorted({path.stem for path in committed.glob("*.csv")} - {table.name for table in current}):
        moves.append(Move(f"{chapter} {vanished}", "is in the baselines but not in this run"))
    for table in current:
        path = committed / f"{table.name}.csv"
        if path.exists():
            moves += _moves(chapter, table, read_csv(path), owners)
        else:
            moves.append(Move(f"{chapter} {table.name}", "is in this run but not in the baselines"))
    return moves


def move_and_allowance(new: np.ndarray, old: np.ndarray, tolerance: Tolerance) -> tuple[np.ndarray, np.ndarray]:
    """How far each number moved and how far it may, (rows,) each; the move is NaN where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.abs(new - old), tolerance.allowed(old)


def _moves(chapter: str, table: Table, baseline: dict[str, np.ndarray], owners: Owners) -> list[Move]:
    if list(baseline) != list(table.columns):
        gone = [name for name in baseline if name not in table.columns]
        new = [name for name in table.columns if name not in baseline]
        what = f"vanished: {', '.join(gone) or 'none'}; new: {', '.join(new) or 'none'}"
        return [Move(f"{chapter} {table.name}", f"columns were others, or in another order ({what})")]
    moves = []
    for name, old in baseline.items():
        new, tolerance = table.columns[name], table.tolerances[name]
        where = f"{chapter} {table.name}.{name}"
        if len(old) != len(new):
            moves.append(Move(where, f"had {len(old)} rows and has {len(new)}", owners.of(table.name, name)))
            continue
        move, allowed = move_and_allowance(new, old, tolerance)
        near = np.isclose(new, old, equal_nan=True, rtol=0, atol=allowed)
        for row in np.flatnonzero(~near):
            change = f"{old[row]:.12g} → {new[row]:.12g}, a move of {move[row]:.3g}"
            message = f"{change} (allowed against the baseline: {allowed[row]:.3g})"
            moves.append(Move(f"{where} [{table.rows[row]}]", message, owners.of(table.name, name)))
    return moves


def write(folder: Path, baselines: Path, chapter: str) -> None:
    """Make this run the new baseline of `chapter`, replacing the old folder once all of it is written."""
    target = Path(baselines) / chapter
    fresh = target.with_name(f".{chapter}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for table in tables(folder, chapter):
        write_atomically(fresh / f"{table.name}.csv", csv_text(table.columns, index=table.rows))
    made = Path(folder) / f"{chapter}.provenance.json"
    if made.exists():
        shutil.copy(made, fresh / _PROVENANCE)
    if target.exists():
        shutil.rmtree(target)
    fresh.rename(target)


def committed_provenance(profile: str, chapter: str) -> dict | None:
    """How the committed numbers of a chapter were made (seconds, hardware, versions); None where it is not recorded."""
    path = BASELINES / profile / chapter / _PROVENANCE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def read_csv(path: Path) -> dict[str, np.ndarray]:
    """Columns of a CSV written by `files.csv_text`, without its index; raises InputError for anything else."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}).") from None
    return parse_csv(text, str(path))


def parse_csv(text: str, name: str) -> dict[str, np.ndarray]:
    """As `read_csv`, from the text; `name` says in an InputError which table it was."""
    try:
        header, *rows = csv.reader(io.StringIO(text), strict=True)
        if len(set(header)) < len(header) or not rows or any(len(row) != len(header) for row in rows):
            raise ValueError("its rows do not have one cell a column")
        return {title: _column([row[k] for row in rows]) for k, title in enumerate(header) if title}
    except (ValueError, csv.Error) as error:
        raise InputError(f"{name} cannot be read as a table of numbers ({error}).") from None


def _column(cells: list[str]) -> np.ndarray:
    """Numbers down to the first empty cell; a number below that one would be in the wrong row."""
    length = cells.index("") if "" in cells else len(cells)
    if any(cells[length:]):
        raise ValueError("a cell in the middle is empty")
    return np.array([float(cell) for cell in cells[:length]])
