"""Figure numbers and claims against their committed baselines: what moved, by how much, beyond which tolerance.

A baseline is a folder `baselines/<profile>/<chapter>/` with one CSV per figure and `claims.csv`, in the layout of
pytest-regressions' `num_regression`, which the test suite uses on the same files. A number may drift by
rtol · |baseline| + atol; both come from the way the number was made.
"""

import csv
import io
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icl.claims import DRIFT, FAILS, HOLDS, NOT_RUN, catalogue
from icl.files import csv_text, write_atomically
from icl.validation import InputError
from icl.workflow.ledgers import read_ledger

_VERDICTS = (FAILS, HOLDS, NOT_RUN)


@dataclass(frozen=True)
class Table:
    """Numbers of one figure, or of a chapter's claims (a column a claim): columns by name, labels of the rows.

    `tolerances` gives each column its {"rtol": …, "atol": …}.
    """

    name: str
    columns: dict[str, np.ndarray]
    rows: list
    tolerances: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Move:
    """One number that left its tolerance, or a table, row or column that appeared or vanished."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def tables(folder: Path, chapter: str) -> list[Table]:
    """Every table of a run: one per figure, and `claims`. Raises InputError where the run is incomplete."""
    ledger = read_ledger(folder, chapter)
    result = [_claims_table(chapter, ledger)]
    for name, entry in ledger["figures"].items():
        columns = read_csv(Path(folder) / chapter / f"{name}.csv")
        tolerance = {"rtol": entry["rtol"], "atol": entry["atol"]}
        rows = range(max(map(len, columns.values())))
        result.append(Table(name, columns, list(rows), dict.fromkeys(columns, tolerance)))
    return result


def _claims_table(chapter: str, ledger: dict) -> Table:
    entries, rows = catalogue(chapter), ["predicted", "measured", "stderr"]
    columns, tolerances = {}, {}
    for claim in ledger["claims"]:
        numbers = [math.nan if claim[row] is None else claim[row] for row in rows]
        columns[claim["id"]] = np.array([*numbers, _VERDICTS.index(claim["verdict"])], dtype=float)
        rtol, size = DRIFT[claim["method"]], abs(claim["predicted"] or 0)
        # a standard error over trainings is a difference of nearly equal numbers: it moves with their size, not its own
        tolerances[claim["id"]] = {"rtol": rtol, "atol": entries[claim["id"]]["drift_atol"] + 0.01 * rtol * size}
    return Table("claims", columns, [*rows, "verdict"], tolerances)


def compare(folder: Path, baselines: Path, chapter: str) -> list[Move]:
    """Every number of a run that is not where its baseline was; an empty list when nothing moved.

    Raises InputError when there is no baseline at all or the run is incomplete.
    """
    committed = Path(baselines) / chapter
    if not committed.is_dir():
        raise InputError(f"there are no baselines in {committed}; `make baselines` writes them.")
    moves, current = [], tables(folder, chapter)
    for vanished in sorted({path.stem for path in committed.glob("*.csv")} - {table.name for table in current}):
        moves.append(Move(f"{chapter} {vanished}", "is in the baselines but not in this run"))
    for table in current:
        path = committed / f"{table.name}.csv"
        if path.exists():
            moves += _moves(chapter, table, read_csv(path))
        else:
            moves.append(Move(f"{chapter} {table.name}", "is in this run but not in the baselines"))
    return moves


def _moves(chapter: str, table: Table, baseline: dict[str, np.ndarray]) -> list[Move]:
    if list(baseline) != list(table.columns):
        return [Move(f"{chapter} {table.name}", f"columns were {list(baseline)} and are {list(table.columns)}")]
    moves = []
    for name, old in baseline.items():
        new, tolerance = table.columns[name], table.tolerances[name]
        where = f"{chapter} {table.name}.{name}"
        if len(old) != len(new):
            moves.append(Move(where, f"had {len(old)} rows and has {len(new)}"))
            continue
        for row in np.flatnonzero(~np.isclose(new, old, equal_nan=True, **tolerance)):
            allowed = tolerance["rtol"] * abs(old[row]) + tolerance["atol"]
            change = f"{old[row]:.12g} → {new[row]:.12g}, a move of {abs(new[row] - old[row]):.3g}"
            moves.append(Move(f"{where} [{table.rows[row]}]", f"{change} (allowed: {allowed:.3g})"))
    return moves


def write(folder: Path, baselines: Path, chapter: str) -> None:
    """Make this run the new baseline of `chapter`, replacing the old folder once all of it is written."""
    target = Path(baselines) / chapter
    fresh = target.with_name(f".{chapter}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for table in tables(folder, chapter):
        write_atomically(fresh / f"{table.name}.csv", csv_text(table.columns, index=table.rows))
    if target.exists():
        shutil.rmtree(target)
    fresh.rename(target)


def read_csv(path: Path) -> dict[str, np.ndarray]:
    """Columns of a CSV written by `files.csv_text`, without its index; raises InputError for anything else."""
    try:
        header, *rows = csv.reader(io.StringIO(Path(path).read_text(encoding="utf-8")))
        cells = {name: [row[k] for row in rows] for k, name in enumerate(header) if name}
        return {name: np.array([float(cell) for cell in column if cell]) for name, column in cells.items()}
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}).") from None
