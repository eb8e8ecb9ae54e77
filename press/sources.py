"""Which files a chapter's numbers depend on: its cells, the icl modules it imports, what these read, the lock."""

import ast
from functools import cache
from pathlib import Path

import grimp
import jupytext

from icl.chapters import CHAPTERS, check_chapter
from icl.files import dumps, write_atomically
from press.baselines import committed_provenance
from press.layout import BASELINES, BUILD, CHECKPOINTS, MEASUREMENTS, NOTEBOOKS, ROOT
from press.notebooks import code


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
    modules |= {"press.run"}
    modules |= {name.rsplit(".", depth)[0] for name in modules for depth in range(1, name.count(".") + 1)}
    sources = {_module_path(name) for name in modules}
    described = CHAPTERS[chapter]
    sources |= {path for pattern in described.reads for path in CHECKPOINTS.glob(pattern)}
    sources |= {code_file(chapter), described.folder / "chapter.toml", ROOT / "requirements.lock"}
    return sorted(str(path.relative_to(ROOT)) for path in sources)


def page_sources() -> list[str]:
    """Paths, relative to the repository, whose change makes the pages anew, beside runs and prose; sorted."""
    folders = (ROOT / "book", ROOT / "press", BASELINES, MEASUREMENTS)
    sources = {path for folder in folders for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc"}
    sources |= {file for chapter in CHAPTERS.values() for file in chapter.folder.glob("*.*") if file.suffix != ".py"}
    sources |= {ROOT / f"icl/{name}.py" for name in ("claims", "ledger", "figures", "chapters/citations")}
    sources |= {
        ROOT / name for name in ("_config.yml", "_toc.yml", "CITATION.cff", "pyproject.toml", "requirements.lock")
    }
    return sorted(str(path.relative_to(ROOT)) for path in sources)


def priority(chapter: str, profile: str) -> int:
    """The longest chapter runs first, and last the one that keeps all cores busy by itself: no core is idle then."""
    if CHAPTERS[chapter].all_cores:
        return -1
    made = committed_provenance(profile, chapter)
    return round(made["seconds"]) if made else 0


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
