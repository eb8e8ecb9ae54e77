"""The functions that a chapter's page defines, for tests of what the reader sees."""

import ast
from types import SimpleNamespace

import numpy as np

from press.layout import NOTEBOOKS


def functions(chapter: str, *names: str, **given) -> SimpleNamespace:
    """The named functions of a notebook's cells; they see NumPy, each other and the numbers `given`."""
    tree = ast.parse((NOTEBOOKS / f"{chapter}.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    space = {"np": np, **given}
    exec(compile(tree, chapter, "exec"), space)
    return SimpleNamespace(**{name: space[name] for name in names})
