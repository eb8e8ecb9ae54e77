"""Which files a chapter's numbers depend on: its cells, the icl modules it imports, what these read, the lock."""

import ast
from functools import cache
from pathlib import Path

import grimp
import jupytext

from icl.files import dumps, write_atomically
from icl.parameters import check_chapter
from icl.workflow.layout import BUILD, NOTEBOOKS, ROOT
from icl.workflow.notebooks import code

# Module → the committed results that it reads
CHECKPOINTS = {"icl.chapters.transformer_recipes": "*.safetensors", "icl.chapters.table1": "table1.json"}


def chapter_sources(chapter: str) -> list[str]:
    """Paths, relative to the repository, whose change makes `chapter` run again; sorted.

    Raises InputError for an unknown chapter.
    """
    notebook = NOTEBOOKS / f"{check_chapter(chapter)}.py"
    direct = _imported_modules(notebook)
    graph = _import_graph()
    modules = {"icl"} | {name for name in direct if name in graph.modules}
    for module in list(modules - {"icl"}):
        modules |= {name for name in graph.find_upstream_modules(module) if name.startswith("icl")}
    # papermill runs the chapter, so the runner counts; importing a.b.c also runs a and a.b
    modules |= {"icl.workflow.run"}
    modules |= {name.rsplit(".", depth)[0] for name in modules for depth in range(1, name.count(".") + 1)}
    sources = {_module_path(name) for name in modules}
    committed = [CHECKPOINTS[name] for name in modules & CHECKPOINTS.keys()]
    sources |= {path for pattern in committed for path in (ROOT / "checkpoints").glob(pattern)}
    sources |= {code_file(chapter), ROOT / f"icl/catalogue/{chapter}.toml", ROOT / "requirements.lock"}
    return sorted(str(path.relative_to(ROOT)) for path in sources)


def code_file(chapter: str) -> Path:
    """A file under `_build` that holds the chapter's code cells and changes only when they do.

    The graph depends on it in place of the notebook, so that a change of prose executes nothing again.
    """
    path = BUILD / "code" / f"{chapter}.json"
    text = dumps({"code": code(jupytext.read(NOTEBOOKS / f"{chapter}.py"))})
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_atomically(path, text)
    return path


@cache
def _import_graph():
    return grimp.build_graph("icl", cache_dir=None)


def _imported_modules(notebook: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(notebook.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _module_path(name: str) -> Path:
    path = ROOT / Path(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
