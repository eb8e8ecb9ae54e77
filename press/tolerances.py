"""A run's numbers, and how far each may be from its baseline: a share of its size, or ten times what it moved before.

The share is 1e-9 in double precision and 1e-5 for trainings in single precision. What was seen counts where it is more,
for trainings, and for what is nothing but the rounding of larger numbers. `make drift` measures it, for every column of
a figure and every number of a claim, and writes it to `measurements/drift.json`, a part for each processor it ran on.
No allowance is set by hand, and none of them comes from comparing with the baseline, so that a number which a fault
moved cannot excuse itself. One exception: how far two processors of the same name are apart in chapter 8's long way
past a saddle no switch shows, so six columns there count how far the very code that made the baselines lands from them
on the other processor.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icl.chapters import read_ledger
from icl.claims import DRIFT, FAILS, HOLDS, NOT_RUN, UNDECIDED
from icl.files import parse_csv, read_sealed
from icl.ledger import read_figure
from press.layout import MEASUREMENTS

FACTOR = 10.0
ROUNDING = 1e-14  # some numbers are nothing but the rounding of numbers of order one
FAINT = 1e-9  # what is smaller may be such a number
SMALL = ROUNDING / DRIFT["exact"]  # of the largest number of its column: less may be that one's rounding
_HOLDS_TO_UNDECIDED = 2.0  # between the codes of the two verdicts in a baseline
CLAIM_ROWS = ["predicted", "measured", "stderr", "verdict"]
VERDICTS = (FAILS, HOLDS, NOT_RUN, UNDECIDED)  # their codes in claims.csv; a new one goes to the end


@dataclass(frozen=True)
class Tolerance:
    """What a column may move by.

    rtol : share of a number's size; absolute, relative : the largest moves that were seen, in the column's units (a
    number, or an array (rows,)) and in units of the number; `relative` is None where only the former counts;
    scale : the size that the column's numbers are the rounding of when they are SMALL beside it; by default the largest
    of them.
    """

    rtol: float
    absolute: float | np.ndarray = 0.0
    relative: float | None = None
    scale: float | None = None

    def allowed(self, old: np.ndarray) -> np.ndarray:
        """How far each number may move, (rows,): the share, or ten times the smaller of the two moves seen."""
        size = _size(old)
        seen = self.absolute if self.relative is None else np.minimum(self.relative * size, self.absolute)
        moved = np.maximum(FACTOR * seen, ROUNDING)
        if self.rtol <= DRIFT["exact"]:
            moved = np.where(rounding(old, self.scale), moved, 0.0)
        return np.maximum(self.rtol * size, moved)


@dataclass(frozen=True)
class Table:
    """Numbers of one figure, or of a chapter's claims (a column a claim): columns by name, labels of the rows."""

    name: str
    columns: dict[str, np.ndarray]
    rows: list
    tolerances: dict[str, Tolerance]


def tables(folder: Path, chapter: str) -> list[Table]:
    """Every table of a run: one per figure, and `claims`. Raises InputError where the run is incomplete."""
    ledger, seen = read_ledger(folder, chapter), measured(chapter)
    result = [_claims_table(ledger, seen)]
    for name, entry in ledger["figures"].items():
        columns = parse_csv(read_figure(folder, ledger, name, "csv"), f"{name}.csv of {chapter}")
        tolerances = {column: of_column(entry["rtol"], seen.get(f"{name}.{column}")) for column in columns}
        result.append(Table(name, columns, list(range(max(map(len, columns.values())))), tolerances))
    return result


def _claims_table(ledger: dict, seen: dict[str, dict]) -> Table:
    columns, tolerances = {}, {}
    for claim in ledger["claims"]:
        numbers = [math.nan if claim[row] is None else claim[row] for row in CLAIM_ROWS[:-1]]
        columns[claim["id"]] = np.array([*numbers, VERDICTS.index(claim["verdict"])], dtype=float)
        tolerances[claim["id"]] = of_claim(claim, seen.get(f"claims.{claim['id']}"))
    return Table("claims", columns, CLAIM_ROWS, tolerances)


def rounding(old: np.ndarray, scale: float | None = None) -> np.ndarray:
    """Which numbers may be nothing but rounding, (rows,), beside `scale`, by default the largest of them."""
    size = _size(old)
    return size <= max(FAINT, SMALL * (size.max(initial=0.0) if scale is None else scale))


def _size(old: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(old), np.abs(old), 0.0)


def of_column(rtol: float, moves: dict | None) -> Tolerance:
    """For a figure's column; `moves` as `measured` gives them, or None where they were not measured."""
    return Tolerance(rtol, **(moves or {}))


def of_claim(claim: dict, moves: dict | None) -> Tolerance:
    """For a claim's column, whose rows are CLAIM_ROWS; `moves` as `measured` gives them. No verdict may change,
    but between «holds» and «undecided» where a measurement that may drift stands beside its bound.

    A standard error over trainings is a difference of nearly equal numbers: it may move as far as their mean. Beside
    its prediction a number may be rounding; where that is 0, beside its standard error; where it is exact, beside 1.
    """
    predicted, measured, stderr, _ = moves["absolute"] if moves else np.zeros(4)
    verdict = _HOLDS_TO_UNDECIDED / FACTOR if _beside_its_bound(claim, FACTOR * measured) else 0.0
    absolute = np.array([predicted, measured, max(measured, stderr), verdict])
    return Tolerance(DRIFT[claim["method"]], absolute, scale=abs(claim["predicted"] or claim["stderr"] or 1.0))


def _beside_its_bound(claim: dict, drift: float) -> bool:
    """Whether a measurement is within `drift` of where its bound counts as kept."""
    if claim["relation"] == "equal" or claim["verdict"] == NOT_RUN:
        return False
    beyond = (claim["measured"] - claim["predicted"]) * (1 if claim["relation"] == "at most" else -1)
    return abs(beyond - claim["tolerance"]) <= drift


def measured(chapter: str) -> dict[str, dict]:
    """Table.column → its largest moves on any processor; empty where none were measured.

    Raises InputError for a file that is damaged.
    """
    path, result = MEASUREMENTS / "drift.json", {}
    if not path.exists():
        return result
    for processor in read_sealed(path)["processors"].values():
        for name, moves in processor.get(chapter, {}).get("columns", {}).items():
            result[name] = larger(moves, result.get(name, moves))
    return result


def larger(first: dict, second: dict) -> dict:
    """The larger of two measurements of the same column, number by number."""
    relative = [moves.get("relative") for moves in (first, second)]
    absolute = np.maximum(first["absolute"], second["absolute"]).tolist()
    return {"absolute": absolute} | ({} if None in relative else {"relative": max(relative)})
