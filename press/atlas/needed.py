"""What a notebook's exact and Monte Carlo claims need of its code, and nothing else: no figure, no training, no prose.

The notebook stays the one source of its claims. Read from its end, a statement is kept when it decides a claim, or
makes a name that a statement kept after it reads; of a table of claims the entries of trained ones are struck out.
"""

import ast
import dis
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

_OURS = frozenset({"ledger", "stream", "parameters"})  # asked, never changed, as far as a claim is concerned
_SHOW = frozenset({"print", "display", "explorable"})  # change nothing


@dataclass(frozen=True)
class Statement:
    """One statement of a notebook's top level: the number of its cell among the code cells, from 0, and its syntax."""

    cell: int
    node: ast.stmt

    @cached_property
    def code(self) -> CodeType:
        """Compiled, ready for `exec`."""
        return compile(ast.Module([self.node], []), f"<code cell {self.cell}>", "exec")

    @cached_property
    def reads(self) -> frozenset[str]:
        """Names of the top level that running it looks up, in the functions that it defines too."""
        return frozenset(_names(self.code, "LOAD_NAME", "LOAD_GLOBAL", "DELETE_NAME"))

    @cached_property
    def binds(self) -> frozenset[str]:
        """Names of the top level that it gives a value."""
        return frozenset(_names(self.code, "STORE_NAME", "STORE_GLOBAL"))

    @cached_property
    def makes(self) -> frozenset[str]:
        """Names that it binds, and those whose values it changes in place: a part set, a call for its effect.

        A loop that changes its own variable changes what it runs over.
        """
        found = set(_changed(self.node))
        if isinstance(self.node, ast.For) and found & self.binds:
            found |= {part.id for part in ast.walk(self.node.iter) if isinstance(part, ast.Name)}
        return self.binds | (found - _OURS)

    @cached_property
    def draws(self) -> bool:
        """Whether it makes a generator of random numbers: whoever reads that draws from it, and so changes it."""
        call = self.node.value if isinstance(self.node, ast.Assign) else None
        return isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in ("stream", "default_rng")

    @cached_property
    def defines(self) -> bool:
        """Whether it holds a function, which looks its names up where it is called."""
        return any(isinstance(part, ast.FunctionDef | ast.Lambda) for part in ast.walk(self.node))


def needed(cells: list[str], claims: Collection[str], left_out: Collection[str]) -> list[Statement]:
    """The statements of code `cells` that `claims` need, in order, but for those `left_out`, all by id.

    A claim whose id is computed can be left out only together with all that the same statement decides.
    """
    statements = [
        Statement(number, kept)
        for number, cell in enumerate(cells)
        for node in ast.parse(cell).body
        if (kept := _without(node, claims, left_out)) is not None
    ]
    generators = frozenset().union(*(one.binds for one in statements if one.draws))
    anywhere: set[str] = set()  # names that functions look up
    while True:
        names, kept = set(anywhere), []
        for one in reversed(statements):
            if decides(one.node) or names & (one.makes | (one.reads & generators)):
                kept.append(one)
                names |= one.reads
        looked_up = {name for one in kept if one.defines for name in one.reads}
        if looked_up <= anywhere:
            return kept[::-1]
        anywhere |= looked_up


def decides(node: ast.AST) -> bool:
    """Whether a statement, or a part of it, decides claims."""
    return any(_is_call(part, "ledger", "claims") for part in ast.walk(node))


def _without(node: ast.stmt, claims: Collection[str], left_out: Collection[str]) -> ast.stmt | None:
    """The statement without the claims `left_out`; None for one that only shows something."""
    if isinstance(node, ast.Assert):
        return None
    if not isinstance(node, ast.Expr):
        return node
    call = node.value
    if _is_call(call, "ledger", "claims") and isinstance(call.args[0], ast.Dict):
        table = call.args[0]
        pairs = [(key, value) for key, value in zip(table.keys, table.values, strict=True)
                 if not (isinstance(key, ast.Constant) and key.value in left_out)]  # fmt: skip
        table.keys, table.values = map(list, zip(*pairs, strict=True)) if pairs else ([], [])
        return node if pairs else None
    if _is_call(call, "ledger", "claims") and isinstance(call.args[0], ast.DictComp):
        decided = [id for id in claims if re.fullmatch(_pattern(call.args[0].key), id)]
        return None if decided and not set(decided) - set(left_out) else node
    shows = not isinstance(call, ast.Call) or _shows(call) or _is_call(call, "ledger", "figure", "number", "save")
    return None if shows else node


def _is_call(node: ast.AST, owner: str, *methods: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in methods
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == owner
    )


def _pattern(key: ast.expr) -> str:
    """A regular expression for what an id made by an f-string may be."""
    if not isinstance(key, ast.JoinedStr):
        return ".*"
    return "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in key.values)


def _shows(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in _SHOW


def _changed(node: ast.AST) -> Iterator[str]:
    """Names at the root of what is set, and of what is called for its effect or given to it; not in functions."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
        return
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        yield from _root(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        root = [*_root(node.value.func)]
        if root != ["ledger"] and not _shows(node.value):
            yield from root
            yield from (given.id for given in node.value.args if isinstance(given, ast.Name))
    for child in ast.iter_child_nodes(node):
        yield from _changed(child)


def _root(node: ast.AST) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
        if isinstance(node, ast.Name):
            yield node.id


def _names(code: CodeType, *operations: str) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in operations:
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant, *operations)
