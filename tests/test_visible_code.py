"""What a reader sees of a chapter's code is mathematics, and little of it keeps books."""

import ast
import re

import pytest

from icl.chapters import CHAPTERS
from press.layout import NOTEBOOKS

LIBRARIES = {"np", "torch", "scipy"}
METHODS = {"sum", "mean", "trace", "T", "mT"}  # of arrays


def visible(chapter: str) -> list[tuple[ast.stmt, int]]:
    """The statements of a chapter's cells that are not hidden, and how many lines of code each has."""
    found = []
    for cell in re.split(r"^# %%", (NOTEBOOKS / f"{chapter}.py").read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, _, body = cell.partition("\n")
        if re.search(r"\[markdown\]|hide|remove|parameters", head):
            continue
        for statement in ast.parse(body).body:
            lines = body.splitlines()[statement.lineno - 1 : statement.end_lineno]
            found.append((statement, sum(bool(re.match(r"\s*[^\s#]", line)) for line in lines)))
    return found


def kind(statement: ast.stmt) -> str:
    """Bookkeeping where it names the ledger; mathematics where it computes, or defines what does; else the package."""
    nodes = list(ast.walk(statement))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if "ledger" in names:
        return "bookkeeping"
    computes = any(
        isinstance(node, ast.BinOp) or isinstance(node, ast.Attribute) and node.attr in METHODS for node in nodes
    )
    return "mathematics" if computes or names & LIBRARIES else "package"


def shares(chapter: str) -> dict[str, float]:
    """The share of visible lines of each kind."""
    lines = dict.fromkeys(("mathematics", "bookkeeping", "package"), 0)
    for statement, count in visible(chapter):
        lines[kind(statement)] += count
    return {name: count / sum(lines.values()) for name, count in lines.items()}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_page_shows_the_mathematics(chapter):
    found = shares(chapter)
    assert found["mathematics"] >= 0.5 and found["bookkeeping"] <= 0.1, found


@pytest.mark.parametrize(
    "code, what",
    [
        ("ledger.claims({'a': (x + 1, 2)})", "bookkeeping"),
        ("risk = sigma2 + d / n", "mathematics"),
        ("def layer(H, W):\n    return H @ W", "mathematics"),
        ("S = np.einsum('bni,bnj->bij', X, X)", "mathematics"),
        ("found = search.descents(law, restarts)", "package"),
        ("from icl.theory import newton", "package"),
    ],
)
def test_what_counts_as_what(code, what):
    assert kind(ast.parse(code).body[0]) == what
