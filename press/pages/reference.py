"""The reference: which modules the library has, by rooms, for Sphinx to read their docstrings."""

from importlib import import_module

import icl
from press.layout import ROOT

_ROOMS = {
    "Which algorithm is a model?": ["comparison"],
    "Prompts and targets": ["prompts", "targets"],
    "Closed forms": ["theory"],
    "Models": ["models"],
    "Solvers": ["solvers"],
    "Transformers built by hand": ["constructions"],
    "Training and searching": ["training", "optimisers", "settling", "search", "descent", "last_steps", "checkpoints"],
    "Measuring": ["estimates", "probes", "randomness", "parallel", "progress"],
    "Figures and sliders": ["figures", "narrow", "explorables"],
    "The ledger, for chapters": ["claims", "ledger", "parameters"],
    "Files and input": ["files", "validation"],
}
_OPTIONS = "   :members:\n   :special-members: __call__\n   :member-order: bysource\n"
_ELSEWHERE = {"chapters", "__init__", "__main__"}  # of the book, not of the library


def rooms() -> dict[str, list[str]]:
    """Title → modules of the library, every one in one place; raises LookupError for one that has none."""
    folder = ROOT / "icl"
    known = {name for names in _ROOMS.values() for name in names}
    there = {path.stem for path in folder.glob("*") if path.suffix == ".py" or (path / "__init__.py").exists()}
    if there - _ELSEWHERE != known:
        raise LookupError(f"press/pages/reference.py and icl/ differ in {', '.join(there - _ELSEWHERE ^ known)}.")
    return {title: [module for name in names for module in _modules(name)] for title, names in _ROOMS.items()}


def names() -> str:
    """The ten names that `icl` itself hands over, with the first sentence of each."""
    return _summary(f"~icl.{module}.{name}" for name, module in icl.NAMES.items())


def overview() -> str:
    """Every module with its first sentence, by rooms."""
    return "".join(f"### {title}\n\n{_summary(modules)}" for title, modules in rooms().items())


def reference() -> str:
    """Every module with everything public in it."""
    pages = []
    for title, modules in rooms().items():
        pages.append(f"## {title}\n\n")
        for module in modules:
            pages.append(f"### {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n{_OPTIONS}```\n\n")
    return "".join(pages)


def _modules(name: str) -> list[str]:
    folder = ROOT / "icl" / name
    if not folder.is_dir():
        return [f"icl.{name}"]
    inside = (path.stem for path in sorted(folder.glob("*.py")) if path.stem != "__init__")
    return [f"icl.{name}.{stem}" for stem in inside if import_module(f"icl.{name}.{stem}").__doc__]


def _summary(objects) -> str:
    lines = "".join(f"   {name}\n" for name in objects)
    return f"```{{eval-rst}}\n.. autosummary::\n   :nosignatures:\n\n{lines}```\n\n"
