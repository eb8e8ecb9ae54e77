"""The faults of faults.toml, and which tests could see one: those that import the faulted file, nearest first."""

import ast
import os
import re
import subprocess
import tomllib
from collections import deque
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

# They judge the text of the sources or need the built book: a fault must change what is computed to be caught.
LEFT_OUT = re.compile(r"tests/(book/.*|test_house\.py|test_mutants\.py)")


class FaultError(ValueError):
    """A fault that cannot be applied, or tests that fail without any fault; one sentence."""


@dataclass(frozen=True)
class Fault:
    """Text `find`, which stands exactly once in `file`, becomes `replace`; `reason` argues why no test could see it."""

    id: str
    file: str
    find: str
    replace: str
    imitates: str
    reason: str = ""

    def applied(self, root: Path) -> str:
        """The file's text with the fault in it. Raises FaultError unless `find` stands there once and it compiles."""
        path = root / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (count := text.count(self.find)) != 1:
            raise FaultError(f"{self.id}: its text stands {count} times in {self.file}, not once: {self.find!r}.")
        broken = text.replace(self.find, self.replace)
        meaning = _meaning if path.suffix == ".py" else str
        try:
            if meaning(text) == meaning(broken):
                raise FaultError(f"{self.id}: the replacement changes nothing in {self.file}.")
        except SyntaxError as error:
            raise FaultError(f"{self.id}: {self.file} would not compile: {error}.") from None
        return broken


def read_faults(root: Path) -> list[Fault]:
    """The faults of trials/faults.toml, each checked against the tree; raises FaultError for one that does not fit."""
    entries = tomllib.loads((root / "trials" / "faults.toml").read_text(encoding="utf-8"))
    try:
        faults = [Fault(id, **entry) for id, entry in entries.items()]
    except TypeError as error:
        raise FaultError(f"trials/faults.toml: {error}.") from None
    for fault in faults:
        fault.applied(root)
    return faults


@lru_cache(maxsize=2)  # many faults are of the same file
def _meaning(source: str) -> str:
    """What a Python text says, however it is laid out."""
    return ast.dump(ast.parse(source))


@cache
def tracked(root: Path) -> tuple[str, ...]:
    """Tracked files that are there, relative to `root`, sorted."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return tuple(sorted(name for name in listed.split("\0") if name and (root / name).is_file()))


def tests_for(root: Path, file: str) -> list[str]:
    """Test files that reach `file`: its namesake, then by the length of their chain of imports and by all they import.

    A file that is not Python is reached by its namesake, and by the tests that name it, with or without its suffix.
    """
    folder, name = os.path.split(file)
    namesake = os.path.join("tests", folder.removeprefix("icl").strip("/"), f"test_{Path(name).stem}.py")
    found = []
    named = re.compile(rf'\b{re.escape(name)}\b|"{re.escape(Path(name).stem)}"')
    for test in tracked(root):
        if re.fullmatch(r"tests/(.*/)?test_\w+\.py", test) and not LEFT_OUT.fullmatch(test):
            reached = _reached(root, test)
            if test == namesake:
                reached = reached | {file: 0}
            elif not name.endswith(".py") and named.search((root / test).read_text(encoding="utf-8")):
                reached = reached | {file: 1}
            if file in reached:
                found.append((reached[file], len(reached), test))  # what imports little runs quickly
    return [test for *_, test in sorted(found)]


@cache
def _reached(root: Path, start: str) -> dict[str, int]:
    """Every file that a Python file imports, directly or not, with the length of the shortest chain."""
    distances, ahead = {start: 0}, deque([start])
    while ahead:
        name = ahead.popleft()
        for each in _imports(root, name) - set(distances):
            distances[each] = distances[name] + 1
            ahead.append(each)
    return distances


@cache
def _imports(root: Path, name: str) -> set[str]:
    """Files of the tree that a Python file imports, anywhere in it; tests import each other's helpers by bare name."""
    modules = set()
    for node in ast.walk(ast.parse((root / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    paths = (Path(folder, *module.split(".")).with_suffix(".py") for module in modules for folder in ("", "tests"))
    return {str(path) for path in paths if (root / path).is_file()}
