"""`icl check`: every number against its two tolerances, and the committed list of pages and chapters."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from icl.chapters import CHAPTERS, read_ledger
from icl.files import dumps, read_json, write_atomically
from icl.ledger import claims_of
from press.baselines import Move, Table, move_and_allowance, read_csv, tables
from press.layout import BASELINES
from press.owners import share_of_slack
from press.stage import pages
from press.tolerances import CLAIM_ROWS, Tolerance, rounding


@dataclass(frozen=True)
class Margins:
    """How much of both tolerances a chapter uses: counts, largest shares, and where these are."""

    chapter: str
    numbers: int
    drift: float
    drift_at: str
    claims: int
    theory: float
    theory_at: str

    def __str__(self) -> str:
        return (
            f"{self.chapter}: {self.numbers} numbers against the baseline, at most "
            f"{_percent(self.drift, self.drift_at)} of the drift allowed; {self.claims} claims against theory, at most "
            f"{_percent(self.theory, self.theory_at)} of tolerance and 5 standard errors"
        )


def margins(folder: Path, baselines: Path, chapter: str) -> Margins:
    """How much of the tolerance against the baseline, and of the one against theory, is used at most."""
    drift, drift_at, count = 0.0, "", 0
    for table, name, old in _with_baselines(folder, baselines, chapter):
        share = shares(table.columns[name], old, table.tolerances[name])
        count += len(share)
        if share.size and share.max() > drift:
            drift, drift_at = float(share.max()), f"{table.name}.{name}"
    claims = claims_of(read_ledger(folder, chapter))
    theory, theory_at = max(
        ((share_of_slack(c), c.id) for c in claims if np.isfinite(share_of_slack(c))), default=(0, "")
    )
    return Margins(chapter, count, drift, drift_at, len(claims), theory, theory_at)


def shares(new: np.ndarray, old: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Each finite number's move as a share of the drift allowed, (rows,)."""
    length = min(len(new), len(old))
    finite = np.isfinite(new[:length]) & np.isfinite(old[:length])
    move, allowed = move_and_allowance(new[:length], old[:length], tolerance)
    return move[finite] / allowed[finite]


def leeway(folder: Path, baselines: Path, chapter: str) -> dict[str, np.ndarray]:
    """Table.column → how far each of its numbers may move, as a share of its size, (rows,); verdicts are left out.

    0 for numbers that may be nothing but rounding.
    """
    result = {}
    for table, name, old in _with_baselines(folder, baselines, chapter):
        tolerance = table.tolerances[name]
        known = np.isfinite(old) & ~rounding(old, tolerance.scale)
        share = np.divide(tolerance.allowed(old), np.abs(old), out=np.zeros(len(old)), where=known)
        result[f"{table.name}.{name}"] = share[: len(CLAIM_ROWS) - 1] if table.name == "claims" else share
    return result


def _with_baselines(folder: Path, baselines: Path, chapter: str) -> Iterator[tuple[Table, str, np.ndarray]]:
    """Each column of a run that has a baseline: its table, its name and the committed numbers."""
    for table in tables(folder, chapter):
        path = Path(baselines) / chapter / f"{table.name}.csv"
        old = read_csv(path) if path.exists() else {}
        for name in filter(old.__contains__, table.columns):
            yield table, name, old[name]


def contents() -> dict[str, list[str]]:
    """What the book has to consist of: its pages and its chapters, from `_toc.yml` and the list of chapters."""
    return {"pages": sorted(pages()), "chapters": sorted(CHAPTERS)}


def codecheck() -> str:
    """The manifest that a CODECHECK starts from: every figure of the committed baselines, in the form of its YAML."""
    figures = [path for path in sorted((BASELINES / "quick").rglob("*.csv")) if path.stem != "claims"]
    manifest = [
        {"file": f"_build/run/quick/{path.parent.name}/{path.stem}.svg", "comment": "its numbers: .csv beside it"}
        for path in figures
    ]
    manifest += [{"file": f"_build/run/quick/{chapter}.json", "comment": "claims and verdicts"} for chapter in CHAPTERS]
    content = {
        "version": "https://codecheck.org.uk/spec/config/1.0/",
        "summary": "`make book` makes every file below; `make check` compares their numbers with the committed ones.",
        "manifest": manifest,
    }
    head = "# For a CODECHECK (https://codecheck.org.uk): what to reproduce. Written by `make baselines`.\n"
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def write_contents(committed: Path, root: Path) -> Path:
    """Make the present contents the committed list, and the figures of the baselines the manifest of codecheck.yml."""
    write_atomically(root / "codecheck.yml", codecheck())
    return write_atomically(committed / "contents.json", dumps(contents()))


def compare_contents(committed: Path, profile: str) -> list[Move]:
    """Pages and chapters that vanished from the book, or are new and not yet in the committed list."""
    before, now, moves = read_json(committed / "contents.json"), contents(), []
    for kind in now:
        moves += [Move(f"{kind[:-1]} {name}", "vanished") for name in sorted({*before.get(kind, [])} - {*now[kind]})]
        moves += [
            Move(f"{kind[:-1]} {name}", "is new; `make baselines` takes it into the list")
            for name in sorted({*now[kind]} - {*before.get(kind, [])})
        ]
    left = {path.name for path in (committed / profile).iterdir() if path.is_dir()} - {*CHAPTERS}
    moves += [Move(f"baselines of {name}", "belong to no chapter; delete them") for name in sorted(left)]
    return moves


def _percent(share: float, where: str) -> str:
    return f"{100 * share:.3g} %" + (f" ({where})" if where else "")
