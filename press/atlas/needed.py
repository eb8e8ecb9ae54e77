"""What a notebook's exact and Monte Carlo claims need of its code, and nothing else: no figure, no training, no prose.

The notebook stays the one source of its claims. Its code cells are taken apart into statements; those that decide a
claim (`ledger.claims({…})`) are kept, with the entries of trained claims struck out, and of the others those that what
is kept reads. A statement reads the names that its bytecode loads, and those that a function it names loads; a name is
what the last statement before made it, one that only changes it in place (an item set, a generator drawn from)
included.
"""

import ast
import dis
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

_OURS = frozenset({"ledger", "stream", "parameters"})  # asked, never changed, as far as a claim is concerned
_SHOW = frozenset({"print", "display"})  # change nothing


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
    def defines(self) -> bool:
        """Whether it is a definition: what it reads is then looked up where the name is used."""
        return isinstance(self.node, ast.FunctionDef | ast.ClassDef)

    @cached_property
    def changes(self) -> frozenset[str]:
        """Names of the top level whose values it changes in place, by setting a part or calling for the effect.

        A loop that changes its own variable changes what it runs over.
        """
        found = set(_changed(self.node))
        if isinstance(self.node, ast.For) and found & self.binds:
            found |= {part.id for part in ast.walk(self.node.iter) if isinstance(part, ast.Name)}
        return frozenset(found) - _OURS

    @cached_property
    def sure(self) -> bool:
        """Whether it binds its names whatever happens, so that what they were before does not matter."""
        return isinstance(self.node, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef | ast.Import
                          | ast.ImportFrom) and not self.binds & self.reads  # fmt: skip


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
    generators = {
        name for one in statements if isinstance(one.node, ast.Assign) and _makes_generator(one.node.value)
        for name in one.binds
    }  # fmt: skip
    wanted: set[int] = set()
    open_ = [(place, name) for place, one in enumerate(statements) if decides(one.node)
             for name in one.reads if not wanted.add(place)]  # fmt: skip
    seen = set(open_)
    while open_:
        before, name = open_.pop()
        for place in _makers(statements, before, name, generators):
            one = statements[place]
            new = [] if place in wanted else [(place, read) for read in one.reads]
            if one.defines:  # its names as they are where it is used
                new += [(before, read) for read in one.reads]
            wanted.add(place)
            fresh = [pair for pair in new if pair not in seen]
            seen.update(fresh)
            open_ += fresh
    return [one for place, one in enumerate(statements) if place in wanted]


def decides(node: ast.AST) -> bool:
    """Whether a statement, or a part of it, decides claims."""
    return any(_is_call(part, "ledger", "claims") for part in ast.walk(node))


def _makers(statements: list[Statement], before: int, name: str, generators: set[str]) -> Iterator[int]:
    """Places of the statements that made the value which `name` has before the statement at place `before`."""
    for place in range(before - 1, -1, -1):
        one = statements[place]
        drawn = name in generators and name in one.reads
        if name in one.binds or name in one.changes or drawn:
            yield place
            if name in one.binds and one.sure:
                return


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


def _makes_generator(node: ast.AST) -> bool:
    name = node.func if isinstance(node, ast.Call) else None
    return (isinstance(name, ast.Name) and name.id == "stream") or (
        isinstance(name, ast.Attribute) and name.attr == "default_rng"
    )


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
