"""Break it: how far along each parameter a chapter's claims hold, and where each first fails or is not decided.

From the defaults a parameter grows, or shrinks, past its declared range and past all reason, until a claim no longer
holds: a whole number twofold, another tenfold. Bisection then says where. What a chapter checks up to so many steps or
sizes, `[horizons]` of its chapter.toml, is doubled once. Each problem has a process of its own, which may take so much
time and memory.
"""

import ast
import csv
import importlib
import io
import math
import multiprocessing
import resource
import sys
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from pydantic import create_model

from icl.chapters import CHAPTERS, check_chapter, check_parameters
from icl.claims import HOLDS, UNDECIDED
from icl.files import write_atomically
from icl.parameters import CLAIMS, Parameters
from press.atlas import points
from press.atlas.point import decide, statements
from press.atlas.threads import one_thread

SECONDS, MEMORY = 20, 4 << 30  # of processor time and bytes that one problem may take
PATIENT = 6  # times as long may one with a doubled horizon take
FARTHEST = 1e12  # where a parameter that breaks nothing is left alone; its inverse below
NEAR = 1.5  # ratio within which an edge is told; of a whole number that a claim fails at the edge itself
WAYS = ("up", "down")
TWICE = "twice"  # the direction of a horizon: 1 for the chapter's own, 2 for the doubled one
BEYOND = "the problem takes more than its time or memory"
Answers = dict[str, str]  # claim → "" where it holds, else what it says instead


@dataclass(frozen=True)
class Edge:
    """A claim along a parameter: the last value at which it held, the first at which not (empty: none found), why."""

    chapter: str
    claim: str
    parameter: str
    direction: str
    held: float
    broke: float | None
    why: str


def edges(chapter: str, name: str, up: bool, answer: Callable[[float], Answers]) -> list[Edge]:
    """Where claims break as parameter `name` grows (`up`) or shrinks; `answer(value)` decides them at a value."""
    start, least = CHAPTERS[chapter].schema.model_fields[name].default, points.limits(chapter, name)[0]
    whole, known = isinstance(start, int), {}

    def at(value: float) -> Answers:
        if value not in known:
            known[value] = answer(value)
        return known[value]

    held = {id: start for id, said in at(start).items() if not said}
    broke: dict[str, float] = {}
    value = start
    while len(broke) < len(held):
        before, value = value, _farther(value, up, whole, least)
        if value == before or value > FARTHEST or 0 < value < 1 / FARTHEST:
            break
        found = at(value)
        for id in held.keys() - broke.keys():
            (broke if found.get(id, BEYOND) else held)[id] = value
    for id, bad in broke.items():
        while not _near(held[id], bad, whole and id in at(bad)):
            middle = (held[id] + bad) // 2 if whole else math.sqrt(held[id] * bad)
            if at(middle).get(id, BEYOND):
                bad = middle
            else:
                held[id] = middle
        broke[id] = bad
    direction = WAYS[not up]
    return [
        Edge(chapter, id, name, direction, good, broke.get(id), at(broke[id]).get(id, BEYOND) if id in broke else "")
        for id, good in held.items()
    ]


def find(chapter: str, path: Path) -> Path:
    """Write all edges of a chapter as a CSV, a line each; a parameter that is done is not done again.

    Raises InputError for an unknown chapter.
    """
    chapter, found = check_chapter(chapter), read(path) if path.exists() else []
    for one in statements(chapter)[0]:  # once, and not in every process
        if isinstance(one.node, ast.Import | ast.ImportFrom):
            exec(one.code, {})
    usual, known = cache(lambda: apart(chapter, {})), CHAPTERS[chapter].schema.model_fields
    at = lambda name, value: usual() if value == known[name].default else apart(chapter, {name: value})
    for name in points.axes(chapter):
        for up in (True, False):
            if not any((edge.parameter, edge.direction) == (name, WAYS[not up]) for edge in found):
                found += edges(chapter, name, up, partial(at, name))
                write(path, found)
    for name in CHAPTERS[chapter].horizons:
        if not any(edge.parameter == name for edge in found):
            found += doubled(chapter, name, usual())
            write(path, found)
    return path


def doubled(chapter: str, name: str, now: Answers) -> list[Edge]:
    """Which claims, of those that hold `now`, still do with a horizon twice as far."""
    then = apart(chapter, {}, (name,), PATIENT * SECONDS)
    found = {id: then.get(id, BEYOND) for id, said in now.items() if not said}
    return [Edge(chapter, id, name, TWICE, 1 if why else 2, 2 if why else None, why) for id, why in found.items()]


def write(path: Path, found: list[Edge]) -> None:
    """Write edges as the CSV that `read` reads."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([field.name for field in fields(Edge)])
    rows.writerows(["" if part is None else part for part in astuple(edge)] for edge in found)
    write_atomically(path, text.getvalue())


def read(path: Path) -> list[Edge]:
    """The edges of a CSV."""
    rows = csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8")), strict=True)
    number = lambda text: float(text) if text else None
    return [Edge(**row | {"held": float(row["held"]), "broke": number(row["broke"])}) for row in rows]


def apart(chapter: str, changed: dict[str, float], twice: tuple[str, ...] = (), seconds: int | None = None) -> Answers:
    """What a chapter's claims say at the defaults but for `changed`, in any range, in a process with limits.

    twice : constants of the chapter's modules that are doubled; seconds : SECONDS otherwise.
    """
    ours, theirs = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_limited, args=(theirs, chapter, changed, twice, SECONDS if seconds is None else seconds)
    )
    process.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:  # the system ended it
        found = {}
    process.join()
    return found


def unbounded(chapter: str) -> type[Parameters]:
    """The chapter's parameters without their ranges; n · d stays limited."""
    free = {name: CHAPTERS[chapter].schema.model_fields[name] for name in points.axes(chapter)}
    return create_model("Parameters", __base__=CHAPTERS[chapter].schema,
                        **{name: (field.annotation, field.default) for name, field in free.items()})  # fmt: skip


def _limited(pipe, chapter: str, changed: dict[str, float], twice: tuple[str, ...], seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    CHAPTERS[chapter] = replace(CHAPTERS[chapter], schema=unbounded(chapter))
    try:
        for name in twice:
            _double(chapter, name)
        with one_thread():
            found = decide(chapter, check_parameters(chapter, profile=CLAIMS, **changed))
        said = {claim.id: "" if claim.verdict in (HOLDS, UNDECIDED) else claim.reason or claim.verdict
                for claim in found.claims}  # fmt: skip
        # what does not fit into the memory is beyond the limits, as what takes too long
        pipe.send({id: why for id, why in (said | found.broken).items() if not why.startswith(MemoryError.__name__)})
    except Exception as error:  # the problem itself is refused, or does not fit
        pipe.send(dict.fromkeys(CHAPTERS[chapter].claims, str(error) or type(error).__name__))


def _double(chapter: str, name: str) -> None:
    """Double a constant, whatever it is made of, wherever the chapter's modules hold it."""
    where, _, constant = name.partition(".")
    folder = f"icl.chapters.{CHAPTERS[chapter].folder.name}"
    before = getattr(importlib.import_module(f"{folder}.{where}"), constant)
    times_two = lambda part: 2 * part if isinstance(part, int | float | np.ndarray) else tuple(map(times_two, part))
    for module in [module for key, module in sys.modules.items() if key.startswith(folder)]:
        if getattr(module, constant, None) is before:
            setattr(module, constant, times_two(before))


def _farther(value: float, up: bool, whole: bool, least: float) -> float:
    """Twofold or tenfold; down to what is declared as the least, below which a parameter means nothing."""
    if up:
        return 2 * value if whole else 10 * value
    return max(least, value // 2 if whole else value / 10)


def _near(held: float, broke: float, exactly: bool) -> bool:
    return abs(held - broke) <= 1 or not exactly and max(held, broke) <= NEAR * min(held, broke)
