"""The committed atlas: its points, a table a chapter, who made it, and why each claim that fails does.

`results/atlas/made.json` vouches for the other files by their SHA-256. `reasons.toml` is written by hand: claim →
why it fails at some points, or cannot be decided there; "CLAIM, twice as far", "CLAIM, PARAMETER up" (or down), and
"PARAMETER up" for all claims → why they do not hold there; "CLAIM, errors" → why its errors are not normal.
"""

import csv
import datetime
import math
import os
import platform
import tomllib
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from icl.chapters import CHAPTERS, catalogue
from icl.files import read_sealed, sealed, sha256, write_atomically
from icl.parallel import each
from icl.parameters import CLAIMS, Parameters
from icl.randomness import entropy
from icl.validation import InputError
from press.atlas import edges, points, table, work
from press.atlas.edges import WAYS, Edge
from press.atlas.table import Line
from press.layout import ATLAS, ROOT
from press.run import processor
from press.tolerances import FAINT

FARTHER, ERRORS = ", twice as far", ", errors"  # of a reason's claim
_MADE, _POINTS, _EDGES, _REASONS = "made.json", "points.csv", "edges.csv", "reasons.toml"
_COSTS, _COST = "costs.csv", ("seconds", "memory_mib")
_MOVE, _SHARE = 1e-6, 0.1  # of its size, and of what is allowed, may a recomputed number be off on another machine


@dataclass(frozen=True)
class Atlas:
    """Chapter → its points, in order; chapter → the lines of its table; where claims break; who made it; the reasons.

    reasons : claim → why it fails.
    """

    points: dict[str, list[Parameters]]
    lines: dict[str, list[Line]]
    edges: list[Edge]
    made: dict
    reasons: dict[str, str]

    def number(self, chapter: str) -> int:
        """How many points of a chapter were decided."""
        return len({line.point for line in self.lines[chapter]})


def keep(out: Path, folder: Path = ATLAS) -> list[str]:
    """Put the points decided in `out` into the committed folder; returns a line a chapter.

    Chapters of which `out` holds none stay as they are committed.
    """
    before = read(folder) if (folder / _MADE).exists() else Atlas({}, {}, [], {"chapters": {}}, {})
    asked, made, spent = before.points | {}, before.made["chapters"] | {}, _spent(folder) if before.points else {}
    told = []
    for chapter, wanted in points.read(out / _POINTS).items():
        lines = table.read(work.gather(out, chapter, partly=True))
        if not lines:
            continue
        text = (out / f"{chapter}.csv").read_text(encoding="utf-8")
        write_atomically(folder / f"{chapter}.csv", text)
        numbers = {line.point for line in lines}
        costs = {number: cost for number, cost in work.costs(out, chapter).items() if number in numbers}
        asked[chapter], spent[chapter], made[chapter] = wanted, costs, _entry(chapter, text, costs)
        told.append(f"{chapter}: {len(numbers)} points, {sum(line.wrong for line in lines)} lines fail or broke off.")
    in_order = lambda found: {chapter: found[chapter] for chapter in CHAPTERS if chapter in found}
    points.put(folder / _POINTS, in_order(asked))
    found = []
    for chapter in CHAPTERS:
        path = out / "edges" / f"{chapter}.csv"
        found += edges.read(path) if path.exists() else [edge for edge in before.edges if edge.chapter == chapter]
    edges.write(folder / _EDGES, found)
    write_atomically(folder / _COSTS, _as_text(in_order(spent)))
    machine = {"python": platform.python_version(), "cpu": processor(), "cores": os.cpu_count(),
               "lock_sha256": sha256((ROOT / "requirements.lock").read_bytes())}  # fmt: skip
    of = lambda name: sha256((folder / name).read_bytes())
    write_atomically(folder / _MADE, sealed({"points_sha256": of(_POINTS), "machine": machine,
                                                "chapters": in_order(made), "edges_sha256": of(_EDGES),
                                                "costs_sha256": of(_COSTS)}))  # fmt: skip
    return told


def _entry(chapter: str, text: str, costs: dict[int, dict]) -> dict:
    """What `made.json` says of a chapter's table."""
    seconds, memory = ([cost[key] for cost in costs.values()] for key in _COST)
    return {
        "points": len(costs),
        "sha256": sha256(text),
        "code": work.code(chapter),
        "seconds_median": float(np.median(seconds)),
        "seconds_most": max(seconds),
        "memory_mib_most": max(memory),
    }


def go_on(out: Path, folder: Path = ATLAS) -> int:
    """Take over into `out` what the committed atlas decided by today's code at the points asked; returns how many.

    To the ten digits of its tables, so that a table made of them is the same again.
    """
    atlas, asked, spent, taken = read(folder), points.read(out / _POINTS), _spent(folder), 0
    for chapter in (name for name, entry in atlas.made["chapters"].items() if entry["code"] == work.code(name)):
        wanted, there = dict(enumerate(asked.get(chapter, []))), atlas.points[chapter]
        for number, lines in groupby(atlas.lines[chapter], lambda line: line.point):
            if wanted.get(number) == there[number]:
                content = work.content_of(chapter, there[number], lines)
                work.write_point(out, chapter, number, content, spent[chapter][number])
                taken += 1
    return taken


def _spent(folder: Path) -> dict[str, dict[int, dict]]:
    """Chapter → point → what it cost."""
    found: dict[str, dict[int, dict]] = {}
    for row in csv.DictReader((folder / _COSTS).read_text(encoding="utf-8").splitlines()):
        found.setdefault(row["chapter"], {})[int(row["point"])] = {key: float(row[key]) for key in _COST}
    return found


def _as_text(spent: dict[str, dict[int, dict]]) -> str:
    rows = [f"{chapter},{point},{cost['seconds']:g},{cost['memory_mib']:g}"
            for chapter, costs in spent.items() for point, cost in costs.items()]  # fmt: skip
    return "\n".join([f"chapter,point,{','.join(_COST)}", *rows, ""])


def read(folder: Path = ATLAS) -> Atlas:
    """The committed atlas; raises InputError where a file is missing or was altered."""
    made, lines = read_sealed(folder / _MADE), {}
    _verified(folder / _POINTS, made["points_sha256"])
    _verified(folder / _EDGES, made["edges_sha256"])
    _verified(folder / _COSTS, made["costs_sha256"])
    for chapter, entry in made["chapters"].items():
        _verified(folder / f"{chapter}.csv", entry["sha256"])
        lines[chapter] = table.read(folder / f"{chapter}.csv")
    reasons = folder / _REASONS
    said = tomllib.loads(reasons.read_text(encoding="utf-8")) if reasons.exists() else {}
    known = {id for chapter in CHAPTERS for id in catalogue(chapter)}
    ways = {f"{name} {way}" for chapter in CHAPTERS for name in points.axes(chapter) for way in WAYS}
    kinds = [FARTHER, ERRORS, *(f", {way}" for way in ways)]
    if unknown := sorted(said.keys() - known - ways - {id + kind for id in known for kind in kinds}):
        raise InputError(f"{reasons} gives a reason for {', '.join(unknown)}, which is no claim.")
    return Atlas(points.read(folder / _POINTS), lines, edges.read(folder / _EDGES), made, said)


@dataclass(frozen=True)
class Checked:
    """How many points were decided anew, and what was not as it had been, a line each."""

    points: int
    moved: list[str]


def check(count: int, day: str | None = None, folder: Path = ATLAS) -> Checked:
    """Decide `count` points of each chapter anew, drawn by the date, on all cores."""
    atlas, rng = read(folder), np.random.default_rng(entropy("atlas", 0, day or datetime.date.today().isoformat()))
    drawn = []
    for chapter, lines in atlas.lines.items():
        there = sorted({line.point for line in lines})
        for number in sorted(rng.choice(there, min(count, len(there)), replace=False).tolist()):
            old = {line.claim: line for line in lines if line.point == number}
            drawn.append((chapter, number, atlas.points[chapter][number], old))
    return Checked(len(drawn), sum(each(_moved, drawn), []))


def _moved(chapter: str, number: int, parameters: Parameters, old: dict[str, Line]) -> list[str]:
    """A line for each claim that is not as it was."""
    content, _ = work.one_point(chapter, parameters)
    new = {line.claim: line for line in table.lines({number: content})}
    return [
        f"{chapter}, point {number}: {id} was {_shown(old.get(id))}, is {_shown(new.get(id))}."
        for id in old | new
        if id not in old or id not in new or not _same(old[id], new[id])
    ]


def command(chapter: str, parameters: Parameters) -> str:
    """What runs a point, for a shell; parameters that are the chapter's defaults are left out."""
    usual = CHAPTERS[chapter].schema(profile=CLAIMS).model_dump()
    chosen = [f"-p {name}={value}" for name, value in parameters.model_dump().items() if value != usual[name]]
    return " ".join([f"python -m icl run {CHAPTERS[chapter].number} --profile {CLAIMS}", *chosen])


def _same(old: Line, new: Line) -> bool:
    if old.verdict != new.verdict or (old.measured is None) != (new.measured is None):
        return False
    if old.measured is None:
        return True
    if not (math.isfinite(old.measured) and old.margin):
        near = abs(new.measured - old.measured) <= _MOVE * max(1.0, abs(old.measured))
        return old.measured == new.measured or math.isnan(old.measured) or near
    allowed = abs(old.measured - old.predicted) / abs(old.margin)
    rounding = min(allowed, FAINT) if old.predicted == 0 else 0.0  # another processor's may be five times as large
    return abs(new.measured - old.measured) <= _MOVE * abs(old.measured) + max(_SHARE * allowed, rounding)


def _shown(line: Line | None) -> str:
    return "not there" if line is None else f"{line.verdict} ({line.measured})"


def _verified(path: Path, digest: str) -> None:
    try:
        same = sha256(path.read_bytes()) == digest
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    if not same:
        raise InputError(f"{path} was altered after it was written: its SHA-256 differs.")
