"""How far the numbers move when the machine changes: two threads in place of one, another instruction set.

The libraries' own switches choose the instruction set, so one machine can play several. What is measured is written
to `measurements/drift.json`, a part for each processor; the page on trust shows it, and the tolerances against the
baselines are made of it.
"""

from pathlib import Path
from statistics import median

import numpy as np

from icl.chapters import check_parameters, read_ledger
from icl.claims import DRIFT, Claim
from icl.files import read_sealed, sealed, write_atomically
from icl.ledger import claims_of
from icl.parameters import PROFILES
from press.layout import BUILD, MEASUREMENTS, run_folder
from press.run import processor, run_chapter
from press.tolerances import CLAIM_ROWS, Table, larger, rounding, tables

# NumPy, OpenBLAS (SciPy's too), MKL, oneDNN and PyTorch's own kernels, each asked for its plainest code, or for what
# processors without AVX-512 run.
_PLAIN = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "ATEN_CPU_CAPABILITY": "default",
}
_AVX2 = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}
_TWO = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
_OWN = dict.fromkeys(_PLAIN | _AVX2)  # unset: what the libraries choose themselves, whatever the shell asks for
MACHINES = {"two threads": _TWO, "its own choice": _OWN, "AVX2": _AVX2, "plain instructions": _PLAIN}
_KINDS = {DRIFT["exact"]: "float64", DRIFT["trained"]: "float32"}
_MEASURED, _VERDICT = CLAIM_ROWS.index("measured"), CLAIM_ROWS.index("verdict")


def measure(chapter: str, profile: str = PROFILES[0]) -> dict:
    """Run `chapter` on each of MACHINES and compare with the book's last run.

    Returns for each machine what `compare` says, under "machines", and under "columns" the largest moves of each column
    over all of them. Runs lie under `_build/drift`. Raises InputError and WorkflowError as `run_chapter`, and where
    the book has not run.
    """
    parameters, usual = check_parameters(chapter, profile=profile), tables(run_folder(profile), chapter)
    machines, columns = {}, {}
    for name, environment in MACHINES.items():
        folder = BUILD / "drift" / name.replace(" ", "_")
        run_chapter(chapter, folder, parameters, environment=environment)
        other = tables(folder, chapter)
        machines[name] = compare(usual, other)
        for column, found in moves(usual, other).items():
            columns[column] = larger(found, columns.get(column, found))
    claims = claims_of(read_ledger(run_folder(profile), chapter))
    return {"machines": machines, "columns": columns | typical(columns, claims)}


def moves(usual: list[Table], other: list[Table]) -> dict[str, dict]:
    """Table.column → its largest moves, as `tolerances` keeps them; those that did not move are left out."""
    found = {
        f"{before.name}.{name}": largest_moves(after.columns[name], old, by_row=before.name == "claims")
        for before, after in zip(usual, other, strict=True)
        for name, old in before.columns.items()
    }
    return {name: one for name, one in found.items() if np.any(one["absolute"])}


def largest_moves(new: np.ndarray, old: np.ndarray, *, by_row: bool) -> dict:
    """The largest moves of a column's numbers, each (rows,); of a claim every row's own. Out of infinity is no move.

    No `relative` one where a number left 0.
    """
    finite = np.isfinite(new) & np.isfinite(old)
    moved = np.abs(np.where(finite, new, 0.0) - np.where(finite, old, 0.0))
    if by_row:
        return {"absolute": moved.tolist()}
    size = np.abs(old)
    absolute = {"absolute": float(moved.max(initial=0.0))}
    if (moved[size == 0] > 0).any():
        return absolute
    relative = np.divide(moved, size, out=np.zeros(len(old)), where=moved > 0)
    return absolute | {"relative": float(relative.max(initial=0.0))}


def typical(columns: dict[str, dict], claims: list[Claim]) -> dict[str, dict]:
    """The claims whose moves count, by no less than half of their kind moved, in units of what theory allows.

    Those are trainings, and what should be 0: one number may agree with another machine's by luck, and would then fail
    on the next. Where exactly 0 is predicted a claim measures rounding, and moves by no less than itself.
    """
    found = {}
    for method in DRIFT:
        count = [claim for claim in claims if claim.method == method and (method == "trained" or claim.predicted == 0)]
        kin = {f"claims.{claim.id}": claim for claim in count if claim.tolerance}
        moved = {name: columns[name]["absolute"] for name in kin.keys() & columns.keys()}
        shares = {name: rows[_MEASURED] / kin[name].tolerance for name, rows in moved.items() if rows[_MEASURED]}
        for name, share in shares.items():
            itself = 0.0 if kin[name].predicted or kin[name].stderr else abs(kin[name].measured)
            absolute = [*moved[name]]
            absolute[_MEASURED] = max(max(share, median(shares.values())) * kin[name].tolerance, itself)
            found[name] = {"absolute": absolute}
    return found


def compare(usual: list[Table], other: list[Table]) -> dict:
    """The largest relative moves of float64 and of float32 numbers, each with the place where it happened."""
    largest: dict[str, dict] = {}
    for before, after in zip(usual, other, strict=True):
        rows = slice(_VERDICT if before.name == "claims" else None)
        for name, old in before.columns.items():
            kind, scale = _KINDS[before.tolerances[name].rtol], before.tolerances[name].scale
            value = _relative_move(after.columns[name][rows], old[rows], scale)
            if kind not in largest or value > largest[kind]["value"]:
                largest[kind] = {"value": value, "at": f"{before.name}.{name}"}
    return largest


def _relative_move(new: np.ndarray, old: np.ndarray, scale: float | None) -> float:
    """Of all numbers that are more than rounding; infinite where a number came out of infinity or NaN."""
    if not np.array_equal(np.isfinite(new), np.isfinite(old)):
        return np.inf
    counts = np.isfinite(old) & ~rounding(old, scale)
    new, old = new[counts], old[counts]
    return float(np.abs((new - old) / old).max(initial=0.0))


def save(chapter: str, found: dict) -> Path:
    """Set what one chapter did on this processor in `measurements/drift.json`, beside everything else there."""
    path = MEASUREMENTS / "drift.json"
    processors = read_sealed(path)["processors"] if path.exists() else {}
    here = dict(sorted((processors.get(processor(), {}) | {chapter: found}).items()))
    content = {
        "machines": MACHINES,
        "processors": dict(sorted((processors | {processor(): here}).items())),
    }
    return write_atomically(path, sealed(content))
