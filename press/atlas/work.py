"""The atlas's work: points in groups, each point a file of its own, so that nothing finished is computed twice.

In a folder DIR, `points.csv` says what is asked; `points/CHAPTER/NUMBER.json` is what a point gave, `.cost.json` beside
it what it cost, and `CHAPTER.csv` all points of a chapter as one table. All but the costs are the same bytes each time.
"""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from icl.chapters import catalogue
from icl.claims import Claim, allowance, excess
from icl.files import dumps, json_number, read_json, read_sealed, sealed, sha256, write_atomically
from icl.parameters import Parameters
from icl.validation import InputError
from press.atlas import points, table
from press.atlas.point import decide, statements
from press.atlas.threads import one_thread
from press.layout import ROOT
from press.sources import digests

GROUP = 50  # points of one job: some minutes
_OWN = ("press/atlas/needed.py", "press/atlas/point.py")
_DRAWS = r"pictures\.py$|/explorable\.py$|^icl/(figures|narrow|explorables)\.py$"
_TOLD = re.compile(rf"{_DRAWS}|^(notebooks|results|press)/|\.toml$")
_DECIDES = ("method", "relation", "atol", "rtol")


def groups(asked: dict[str, list[Parameters]]) -> list[tuple[str, int]]:
    """The jobs: chapter and number of its group."""
    return [(chapter, group) for chapter, all_ in asked.items() for group in range(-(-len(all_) // GROUP))]


def members(asked: dict[str, list[Parameters]], chapter: str, group: int) -> dict[int, Parameters]:
    """Point → parameters of a group."""
    first = group * GROUP
    return dict(enumerate(asked[chapter][first : first + GROUP], first))


@cache
def code(chapter: str) -> str:
    """One digest of all that decides a chapter's points, beside their parameters.

    Of the notebook these are the statements that its claims need, of the catalogue the tolerances; what draws and what
    is told in words may change.
    """
    found = {name: digest for name, digest in digests(chapter).items() if not _TOLD.search(name)}
    found |= {name: sha256((ROOT / name).read_bytes()) for name in _OWN}
    kept, _ = statements(chapter)
    asked = {id: [entry.get(key) for key in _DECIDES] for id, entry in catalogue(chapter).items()}
    return sha256(dumps({"files": found, "statements": [ast.unparse(one.node) for one in kept], "claims": asked}))


def asked_of(asked: dict[str, list[Parameters]], chapter: str, group: int) -> str:
    """One digest of a group's parameters: another point in it makes the job run again, for that point alone."""
    rows = members(asked, chapter, group)
    return sha256(dumps({str(number): parameters.model_dump() for number, parameters in rows.items()}))


def run_group(out: Path, chapter: str, group: int) -> int:
    """Decide the points of a group that are not decided yet; returns how many these were."""
    done, asked = 0, points.read(out / "points.csv")
    for number, parameters in members(asked, chapter, group).items():
        if read_point(out, chapter, number, parameters) is None:
            write_point(out, chapter, number, *one_point(chapter, parameters))
            done += 1
    return done


def write_point(out: Path, chapter: str, number: int, content: dict, cost: dict) -> None:
    """Write a point's two files."""
    write_atomically(_path(out, chapter, number).with_suffix(".cost.json"), dumps(cost))
    write_atomically(_path(out, chapter, number), sealed(content))


def one_point(chapter: str, parameters: Parameters) -> tuple[dict, dict]:
    """What a point gave, and what it cost, as its two files have it."""
    with one_thread():
        point = decide(chapter, parameters)
    content = _content(chapter, parameters, {claim.id: _row(claim) for claim in point.claims}, point.broken)
    slowest = [[round(seconds, 2), statement] for seconds, statement in point.slowest]
    return content, {"seconds": round(point.seconds, 2), "memory_mib": round(point.memory), "slowest": slowest}


def content_of(chapter: str, parameters: Parameters, lines: Iterable[table.Line]) -> dict:
    """What a point gave, of its lines in a table: the numbers to ten digits."""
    claims, broken = {}, {}
    for line in lines:
        if line.verdict == table.BROKEN:
            broken[line.claim] = line.reason
        else:
            numbers = map(json_number, (line.predicted, line.measured, line.stderr, line.margin))
            claims[line.claim] = [*numbers, line.verdict, line.reason]
    return _content(chapter, parameters, claims, broken)


def _content(chapter: str, parameters: Parameters, claims: dict, broken: dict) -> dict:
    named = {"chapter": chapter, "parameters": parameters.model_dump(), "code": code(chapter)}
    return named | {"claims": claims, "broken": broken}


def read_point(out: Path, chapter: str, number: int, parameters: Parameters) -> dict | None:
    """What a point gave; None where it is not there, damaged, of other parameters or of other code."""
    try:
        content = read_sealed(_path(out, chapter, number))
    except InputError:
        return None
    current = content.get("code") == code(chapter) and content.get("parameters") == parameters.model_dump()
    return content if current else None


def gather(out: Path, chapter: str, *, partly: bool = False) -> Path:
    """Write the table of a chapter's points; `partly` takes those that are there.

    Raises InputError where one is missing.
    """
    found = {}
    for number, parameters in enumerate(points.read(out / "points.csv")[chapter]):
        content = read_point(out, chapter, number, parameters)
        if content is None and not partly:
            raise InputError(f"point {number} of {chapter} is not decided in {out}; `python -m icl atlas` goes on.")
        if content is not None:
            found[number] = content
    return table.write(out / f"{chapter}.csv", found)


def costs(out: Path, chapter: str) -> dict[int, dict]:
    """What each decided point cost."""
    found = sorted((out / "points" / chapter).glob("*.cost.json"))
    return {int(path.name.partition(".")[0]): read_json(path) for path in found}


def _row(claim: Claim) -> list:
    """predicted, measured, stderr, margin, verdict, reason: of a claim that was not run the last two alone."""
    if claim.measured is None:
        return [None, None, None, None, claim.verdict, claim.reason]
    most, beyond = allowance(claim), excess(claim)
    margin = beyond / most if most else (float("inf") if beyond > 0 else 0.0) if beyond == beyond else float("nan")
    return [*map(json_number, (claim.predicted, claim.measured, claim.stderr, margin)), claim.verdict, ""]


def _path(out: Path, chapter: str, number: int) -> Path:
    return Path(out) / "points" / chapter / f"{number:05d}.json"
