"""Every public function says what it takes and returns, what it raises, and where its mathematics is from."""

import ast
import re

import pytest

from press.layout import ROOT

ROOMS = ("icl", "press", "trials")
MODULES = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
MODULES = [module for module in MODULES if not module.name.startswith("test_")]
SOURCE = re.compile(r"\b(?:18|19|20)\d\d\b|[Tt]his (?:book|project)|\beq\.|\b(?:Theorem|Lemma|Corollary|Proposition)\b")
MATHEMATICS = {"theory", "solvers", "models"}
WITH_SHAPES = MATHEMATICS | {"chapters", "constructions", "prompts.py", "targets.py", "estimates.py"}


def complaints(source: str, *, shapes: bool, sources: bool) -> list[str]:
    """What the docstrings of a module's public functions and methods leave out."""
    tree = ast.parse(source)
    module, found = ast.get_docstring(tree) or "", []
    for owner, function in public_functions(tree):
        words = ast.get_docstring(function) or ""
        context = words + ((ast.get_docstring(owner) or "") if owner else "")
        signature = ast.unparse(function.args) + ast.unparse(function.returns or ast.Constant(None))
        if not words:
            found.append(f"{function.name} has no docstring")
        elif raises(function) and not re.search(r"Raises|raises?\b|refus|InputError|WorkflowError", words):
            found.append(f"{function.name} does not say what it raises")
        elif shapes and re.search(r"\bndarray\b|\bTensor\b", signature) and not gives_a_shape(context):
            found.append(f"{function.name} does not give the shapes of its arrays")
        if sources and not SOURCE.search(context + module):
            found.append(f"{function.name} does not name its source, and neither does its module")
    return found


def gives_a_shape(words: str) -> bool:
    """Whether dimensions stand in parentheses with a comma, as in (B, n, d), (d,) or (len(rates), d)."""
    for inside in re.findall(r"\(((?:[^()]|\([^()]*\))*)\)", words):
        items = [item.strip() for item in inside.split(",")]
        if len(items) > 1 and all(len(item) <= 14 and re.fullmatch(r"[\w*·+−\-.… ()]*", item) for item in items):
            return True
    return re.search(r"\bshapes?\b|\bscalar\b", words) is not None


def public_functions(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield None, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (
                (node, method)
                for method in node.body
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")
            )


def raises(function) -> bool:
    """Whether its own body (not that of functions within) raises an error with words."""
    inner = {id(n) for f in ast.walk(function) if isinstance(f, ast.FunctionDef | ast.Lambda) and f is not function
             for n in ast.walk(f)}  # fmt: skip
    exceptions = [n.exc for n in ast.walk(function) if isinstance(n, ast.Raise) and id(n) not in inner and n.exc]
    return any(not ast.unparse(exception).startswith(("SystemExit", "ValueError")) for exception in exceptions)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_docstrings_are_complete(module):
    part = module.parts[1]
    source = (ROOT / module).read_text(encoding="utf-8")
    shapes = part in WITH_SHAPES and "pictures" not in module.stem
    assert complaints(source, shapes=shapes, sources=part in MATHEMATICS) == []
