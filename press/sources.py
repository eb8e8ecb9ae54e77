"""Which files a chapter's numbers depend on: its cells, the icl modules it imports, what these read, the lock.

Each run writes down their digests, so that nobody takes it for a run of other code than what stands here.
"""

import ast
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import grimp

from icl.chapters import CHAPTERS, check_chapter, check_parameters, read_ledger
from icl.files import dumps, read_json, sha256, write_atomically
from icl.parameters import PROFILES
from icl.validation import InputError
from press.layout import ATLAS, BASELINES, BUILD, CHECKPOINTS, MEASUREMENTS, ROOT, WorkflowError, remedy, run_command
from press.notebooks import code_of, source_of
from press.regression import committed_provenance


def chapter_sources(chapter: str) -> list[str]:
    """Paths, relative to the repository, whose change makes `chapter` run again; sorted.

    Raises InputError for an unknown chapter.
    """
    return sorted(str(path.relative_to(ROOT)) for path in {*_files(chapter), code_file(chapter)})


def digests(chapter: str) -> dict[str, str]:
    """Path → SHA-256 of every file that decides a chapter's numbers; of its notebook only the code cells count.

    Raises InputError for an unknown chapter, and where one of the files is no Python.
    """
    try:
        found = {str(path.relative_to(ROOT)): sha256(path.read_bytes()) for path in _files(chapter)}
    except (SyntaxError, grimp.exceptions.SourceSyntaxError) as error:
        raise InputError(f"what {chapter} imports cannot be told: {error}.") from None
    return dict(sorted((found | {f"notebooks/{chapter}.py": sha256(_code(chapter))}).items()))


def fingerprint(chapter: str) -> str:
    """One digest of all `digests`: the workflow runs a chapter again where it is another."""
    return sha256(dumps(digests(chapter)))


def check_current(folder: Path, chapters: Iterable[str], profile: str | None = None) -> None:
    """Raise WorkflowError where a run in `folder` is not of the code that stands here: which, why, and what helps.

    Nor may it have other parameters than those of `profile`, if one is named. Raises InputError for a damaged run.
    """
    stale: dict[tuple[str, str], list[str]] = {}
    for chapter in chapters:
        if found := _stale(folder, chapter, profile):
            stale.setdefault(found, []).append(chapter)
    if stale:
        told = (f"{', '.join(names)}: stale, {why}; `{how}` helps." for (why, how), names in stale.items())
        raise WorkflowError("\n".join(told))


def present(folder: Path) -> list[str]:
    """The chapters whose ledger lies in `folder`, in the order of the book; raises InputError where there is none."""
    # unlike Path.exists, os.path.exists is False for a name that no file can have
    if not (found := [chapter for chapter in CHAPTERS if os.path.exists(Path(folder) / f"{chapter}.json")]):
        raise InputError(f"{folder} holds no chapter's ledger; `{remedy(folder, 'CHAPTER')}` writes one.")
    return found


def _stale(folder: Path, chapter: str, profile: str | None) -> tuple[str, str] | None:
    """Why a run is stale, and the command that helps; None for one that is not."""
    if not os.path.exists(Path(folder) / f"{chapter}.json"):
        return "for it has not run", remedy(folder, chapter)
    ran = check_parameters(chapter, **read_ledger(folder, chapter)["parameters"])
    usual = check_parameters(chapter, profile=profile or ran.profile).model_dump()
    others = {name: value for name, value in ran.model_dump().items() if value != usual[name]}
    if reason := _changes(folder, chapter):
        kept = {"profile": ran.profile} if ran.profile != PROFILES[0] else {}
        return reason, remedy(folder, chapter, others | kept)
    if profile and others:  # the workflow cannot know of this
        with_others = ", ".join(f"{name}={value}" for name, value in others.items())
        return f"for it ran with {with_others}", run_command(folder, chapter, {"profile": profile})
    return None


def _changes(folder: Path, chapter: str) -> str:
    """What decides a chapter's numbers and is not what it was when they were made, in words; empty where nothing."""
    path = Path(folder) / f"{chapter}.provenance.json"
    made, now = read_json(path).get("sources") if path.exists() else None, digests(chapter)
    if not isinstance(made, dict):
        return "for nothing says which code made it"
    names = sorted(name for name in made.keys() | now.keys() if made.get(name) != now.get(name))
    more = f" and {len(names) - 5} more files" * (len(names) > 5)
    return f"for {', '.join(names[:5])}{more} changed since it ran" if names else ""


def _files(chapter: str) -> set[Path]:
    direct = _imported_modules(source_of(check_chapter(chapter)).read_text(encoding="utf-8"))
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
    return sources | {described.folder / "chapter.toml", ROOT / "requirements.lock"}


def page_sources() -> list[str]:
    """Paths, relative to the repository, whose change makes the pages anew, beside runs and prose; sorted."""
    folders = (
        ROOT / "book",
        ROOT / "press",
        ROOT / "icl/chapters/front_page",
        CHECKPOINTS / "front_page",
        BASELINES,
        MEASUREMENTS,
        ATLAS,
    )
    sources = {path for folder in folders for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc"}
    sources |= {file for chapter in CHAPTERS.values() for file in chapter.folder.glob("*.*") if file.suffix != ".py"}
    sources |= {path for path in (ROOT / "icl").rglob("*.py") if "chapters" not in path.parts}  # their docstrings
    sources |= {ROOT / "icl/chapters/citations.py"}
    sources |= {
        ROOT / name for name in ("_config.yml", "_toc.yml", "CITATION.cff", "pyproject.toml", "requirements.lock")
    }
    return sorted(str(path.relative_to(ROOT)) for path in sources)


def priority(chapter: str, profile: str) -> int:
    """The chapter that took longest runs first, so that none is left to run alone at the end."""
    made = committed_provenance(profile, chapter)
    return round(made["seconds"]) if made else 0


def code_file(chapter: str) -> Path:
    """A file under `_build` that holds the chapter's code cells and changes only when they do.

    The graph depends on it in place of the notebook, so that a change of prose executes nothing again.
    """
    path = BUILD / "code" / f"{chapter}.json"
    text = _code(chapter)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_atomically(path, text)
    return path


def _code(chapter: str) -> str:
    return dumps({"code": code_of(source_of(chapter).read_text(encoding="utf-8"))})


@cache
def _import_graph():
    return grimp.build_graph("icl", cache_dir=None)


@cache
def _imported_modules(notebook: str) -> set[str]:
    names = set()
    for node in _statements(ast.parse(notebook)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in a node at any depth; to look into their expressions too would take ten times as long."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


def _module_path(name: str) -> Path:
    path = ROOT / Path(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
