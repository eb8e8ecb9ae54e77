"""One problem of the atlas: a chapter's exact and Monte Carlo claims at its parameters, without a notebook's kernel.

The notebook's own statements run in this process, those of them that the claims need. Where one breaks off, the claims
that need it are recorded as broken, with the error's words, and the others are decided all the same.
"""

import ast
import io
import os
import resource
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jupytext

from icl.chapters import catalogue, check_chapter
from icl.claims import Claim
from icl.estimates import NotRun
from icl.files import dumps, sealed, write_atomically
from icl.ledger import Ledger
from icl.parameters import Parameters
from press.atlas.needed import Statement, decides, needed
from press.layout import WorkflowError
from press.notebooks import source_of

TRAINED = "a training or a shipped model, which the profile claims leaves out"
PATIENCE = 60  # seconds of processor time that one statement may take; what it was to give is then lost


@dataclass(frozen=True)
class Point:
    """What one problem gave: the ledger, claim → the words of the error that kept it from being decided, and the cost.

    seconds : of this process's time on a core; memory : the most it held meanwhile, MiB (0 where the system does not
    tell); slowest : (seconds, statement) of the slowest statements, for whoever makes a point cheaper.
    """

    ledger: Ledger
    broken: dict[str, str]
    seconds: float
    memory: float
    slowest: list[tuple[float, str]]

    @property
    def claims(self) -> list[Claim]:
        """The claims that were decided, in the catalogue's order; trained ones are not among them."""
        return [claim for claim in self.ledger.decided() if claim.method != "trained"]


def trained(chapter: str) -> list[str]:
    """The claims of a chapter, by id, that the profile leaves out."""
    return [id for id, entry in catalogue(chapter).items() if entry["method"] == "trained"]


@cache
def statements(chapter: str) -> tuple[list[Statement], frozenset[int]]:
    """What the chapter's exact and Monte Carlo claims need of its notebook, and the cells that hold its parameters."""
    notebook = jupytext.read(source_of(check_chapter(chapter)))
    cells = [
        cell for cell in notebook.cells if cell.cell_type == "code" and "colab" not in cell.metadata.get("tags", [])
    ]
    own = {number for number, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])}
    return needed([cell.source for cell in cells], catalogue(chapter), trained(chapter)), frozenset(own)


def decide(chapter: str, parameters: Parameters) -> Point:
    """Decide the chapter's exact and Monte Carlo claims at these parameters, in this process and on one thread.

    Raises WorkflowError where the chapter does not even get to its ledger.
    """
    kept, own = statements(check_chapter(chapter))
    space = {"__name__": "__main__", **parameters.model_dump()}
    lost: dict[str, str] = {}  # name → why it has no value
    broken: dict[str, str] = {}
    took: list[tuple[float, str]] = []
    with _alone(), _cost() as cost:
        for one in (one for one in kept if one.cell not in own):
            began = time.process_time()
            reason = _run(one, space, lost, broken) if decides(one.node) else _attempt(one, space, lost)
            for name in one.binds:
                if reason is None:
                    lost.pop(name, None)
                else:
                    lost[name] = reason
                    space.pop(name, None)
            took.append((time.process_time() - began, ast.unparse(one.node).splitlines()[0]))
    ledger = space.get("ledger")
    if not isinstance(ledger, Ledger):
        raise WorkflowError(f"{chapter} does not begin: {next(iter(lost.values()), 'it makes no ledger')}")
    there = {claim.id for claim in ledger.decided()}
    ledger.claims({id: (None, NotRun(TRAINED)) for id in trained(chapter) if id not in there})
    silent = [id for id in catalogue(chapter) if id not in {claim.id for claim in ledger.decided()} | broken.keys()]
    broken |= {id: next(iter(lost.values()), "no statement decided it") for id in silent}
    return Point(ledger, broken, cost["seconds"], cost["memory"], sorted(took, reverse=True)[:5])


def run_claims(chapter: str, out: Path, parameters: Parameters) -> dict:
    """`decide`, written as `<chapter>.json` and `<chapter>.provenance.json` into `out`; returns the ledger's content.

    Raises WorkflowError where a claim could not be decided.
    """
    from press.sources import digests

    made_of = digests(chapter)
    point = decide(chapter, parameters)
    if point.broken:
        id, reason = next(iter(point.broken.items()))
        raise WorkflowError(f"{chapter} leaves {', '.join(point.broken)} undecided; {id}: {reason}")
    content = point.ledger.as_dict()
    cost = {"seconds": round(point.seconds, 2), "memory_mib": round(point.memory), "slowest": point.slowest}
    write_atomically(out / f"{chapter}.provenance.json", dumps(cost | {"sources": made_of}))
    write_atomically(out / f"{chapter}.json", sealed(content))
    return content


def _run(one: Statement, space: dict, lost: dict[str, str], broken: dict[str, str]) -> str | None:
    """Run a statement that decides claims; where it breaks off, its claims one by one, so that each has its reason."""
    reason = _attempt(one, space, lost)
    table = next((part for part in ast.walk(one.node) if isinstance(part, ast.Dict)), None)
    if reason is None or not isinstance(one.node, ast.Expr) or table is None:
        return reason
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant):
            call = ast.Call(ast.Attribute(ast.Name("ledger", ast.Load()), "claims", ast.Load()),
                            [ast.Dict([key], [value])], [])  # fmt: skip
            single = ast.fix_missing_locations(ast.Expr(call))
            if key.value not in {claim.id for claim in space["ledger"].decided()}:
                if why := _attempt(Statement(one.cell, single), space, lost):
                    broken[key.value] = why
    return reason


class _TooLongError(BaseException):
    """Not an Exception, so that no code that tries several ways takes it for the failure of one."""


def _attempt(one: Statement, space: dict, lost: dict[str, str]) -> str | None:
    """Execute; the words of the error that ended it, or that lost a name which it reads; None where all went well."""
    if missing := sorted(one.reads & lost.keys()):
        return lost[missing[0]]
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        exec(one.code, space)
    except Exception as error:  # whatever a chapter's code raises at a problem nobody tried is a finding, not a crash
        return f"{type(error).__name__}: {error}".splitlines()[0]
    except _TooLongError:
        return f"it takes more than {PATIENCE} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


def _stop(*_):
    raise _TooLongError


@contextmanager
def _alone() -> Iterator[None]:
    """Nothing printed, no warnings, no bars, no further processes."""
    before = os.environ.get("ICL_CORES")
    os.environ["ICL_CORES"] = "1"
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.pop("ICL_CORES") if before is None else os.environ.update(ICL_CORES=before)


@contextmanager
def _cost() -> Iterator[dict[str, float]]:
    """The processor time that is spent inside, and the most memory that is held: of this part only, where Linux is."""
    cost, began = {}, time.process_time()
    clear = Path("/proc/self/clear_refs")
    try:
        clear.write_text("5")  # the peak begins anew
    except OSError:
        clear = None
    yield cost
    cost["seconds"] = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if clear:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        peak = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), peak)
    cost["memory"] = peak
