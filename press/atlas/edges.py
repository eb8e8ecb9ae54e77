"""Break it: how far along each parameter a chapter's claims hold, and where each first fails or is not decided.

From the defaults a parameter is doubled, or halved, past its declared range and past all reason, until a claim no
longer holds; bisection then says where. Each problem has a process of its own, which may take so much time and memory.
"""

import ast
import csv
import io
import math
import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from pydantic import create_model

from icl.chapters import CHAPTERS, check_chapter, check_parameters
from icl.claims import HOLDS, UNDECIDED
from icl.files import write_atomically
from icl.parameters import CLAIMS, Parameters
from press.atlas import points
from press.atlas.point import decide, statements
from press.atlas.threads import one_thread

SECONDS, MEMORY = 30, 4 << 30  # of processor time and bytes that one problem may take
FARTHEST = 1e12  # where a parameter that breaks nothing is left alone; its inverse below
NEAR = 1.5  # ratio within which an edge is told
_BEYOND = "the problem takes more than its time or memory"
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
    start = CHAPTERS[chapter].schema.model_fields[name].default
    whole, known = isinstance(start, int), {}

    def at(value: float) -> Answers:
        if value not in known:
            known[value] = answer(value)
        return known[value]

    held = {id: start for id, said in at(start).items() if not said}
    broke: dict[str, float] = {}
    value = start
    while len(broke) < len(held):
        value = 2 * value if up else value // 2 if whole else value / 2
        if value > FARTHEST or value < (1 if whole else 1 / FARTHEST):
            break
        found = at(value)
        for id in held.keys() - broke.keys():
            (broke if found.get(id, _BEYOND) else held)[id] = value
    for id, bad in broke.items():
        while not _near(held[id], bad, whole):
            middle = (held[id] + bad) // 2 if whole else math.sqrt(held[id] * bad)
            if at(middle).get(id, _BEYOND):
                bad = middle
            else:
                held[id] = middle
        broke[id] = bad
    direction = "up" if up else "down"
    return [
        Edge(chapter, id, name, direction, good, broke.get(id), at(broke[id]).get(id, _BEYOND) if id in broke else "")
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
    for name in points.axes(chapter):
        for up in (True, False):
            if not any((edge.parameter, edge.direction) == (name, "up" if up else "down") for edge in found):
                found += edges(chapter, name, up, lambda value, name=name: apart(chapter, {name: value}))
                write(path, found)
    return path


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


def apart(chapter: str, changed: dict[str, float]) -> Answers:
    """What a chapter's claims say at the defaults but for `changed`, in any range, in a process with limits."""
    ours, theirs = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_limited, args=(theirs, chapter, changed))
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


def _limited(pipe, chapter: str, changed: dict[str, float]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    CHAPTERS[chapter] = replace(CHAPTERS[chapter], schema=unbounded(chapter))
    try:
        with one_thread():
            found = decide(chapter, check_parameters(chapter, profile=CLAIMS, **changed))
        said = {claim.id: "" if claim.verdict in (HOLDS, UNDECIDED) else claim.reason or claim.verdict
                for claim in found.claims}  # fmt: skip
        pipe.send(said | found.broken)
    except Exception as error:  # the problem itself is refused, or does not fit
        pipe.send(dict.fromkeys(CHAPTERS[chapter].claims, str(error) or type(error).__name__))


def _near(held: float, broke: float, whole: bool) -> bool:
    return abs(held - broke) <= 1 if whole else max(held, broke) <= NEAR * min(held, broke)
