"""The staged tree that Jupyter Book builds: the repository's layout with each notebook replaced by its executed copy.

Launch buttons and edit links then point at files that exist in the repository, and the checkout stays clean. Without a
public address (pyproject.toml) there are none.
"""

import re
import shutil
from importlib.metadata import files
from pathlib import Path

import nbformat
import yaml

from icl.chapters import CHAPTERS
from icl.files import write_atomically
from press.atlas import kept
from press.finished import FinishedChapter, FinishedRun
from press.layout import ROOT, repository
from press.pages import (
    all_claims,
    atlas,
    chapter_map,
    claim_cards,
    downloads,
    front,
    how_it_was_made,
    live,
    moved,
    reference,
)
from press.pages.chapter import chapter_page, framed

_MATHJAX = "tex-svg-full.js"  # one file, so that equations need no network


def stage(run: FinishedRun, tree: Path) -> Path:
    """Write the tree of a run's book into the folder `tree`, which must not exist yet; returns it."""
    shutil.copytree(ROOT / "book", tree / "book")
    assets = tree / "book" / "assets"
    shutil.copy(next(file.locate() for file in files("sphinx-mathjax-offline") if file.name == _MATHJAX), assets)
    for chapter in run.chapters:
        _stage_chapter(chapter, tree)
        shutil.copy(run.folder / f"{chapter.name}.json", tree / "extra" / "data" / chapter.name)
        if (script := CHAPTERS[chapter.name].folder / "explorable.js").exists():
            shutil.copy(script, assets / f"{script.parent.name}.js")
    for name, text in _generated(run, tree).items():
        write_atomically(tree / "generated" / f"{name}.md", text)
    _address(tree, repository())
    shutil.copy(ROOT / "_toc.yml", tree)
    return tree


def _generated(run: FinishedRun, tree: Path) -> dict[str, str]:
    """What the pages of `book/` include, by name; puts the front page's picture, weights and numbers in place."""
    picture = all_claims.measured_against_predicted(run.claims)
    picture.write(tree / "extra" / "data" / "book")
    weights = live.weights_script()
    write_atomically(tree / "book" / "assets" / live.WEIGHTS, weights)
    claims_picture = all_claims.explorable([picture.svg(), picture.narrow_svg()], run.claims)
    return {
        "live": _raw(live.first_screen(weights)),
        "summary": run.summary + "\n",
        "failing": _raw(front.failing(run.claims)),
        "share": front.share(run.claims),
        "picture": _raw(front.captioned(framed(claims_picture, "book", picture.name))),
        "theorems": _raw(front.theorems(run)),
        "chapters": front.contents(run),
        "map": _raw(chapter_map.drawing(run)) + chapter_map.in_words(),
        "claims": claim_cards.claims_page(run),
        "making": how_it_was_made.making(run),
        "notebooks": downloads.notebooks(repository()),
        "pdf": _raw(downloads.pdf()),
        "bibtex": downloads.bibtex(),
        "names": reference.names(),
        "modules": reference.overview(),
        "reference": reference.reference(),
        **atlas.pages(kept.read(), tree),
    }


def _raw(markup: str) -> str:
    return f"```{{raw}} html\n{markup}\n```\n\n"


def _stage_chapter(chapter: FinishedChapter, tree: Path) -> None:
    """The chapter's page, and what readers download under stable addresses: the notebook as it ran, the figures."""
    name, extra = f"notebooks/{chapter.name}.ipynb", tree / "extra"
    write_atomically(extra / "_sources" / name, nbformat.writes(chapter.notebook) + "\n")
    for figure, texts in chapter.figures.items():
        folders = [chapter.name, *([moved.OLD] if chapter.name == moved.NEW and figure in moved.FIGURES else [])]
        for suffix, text in texts.items():
            for folder in folders:
                write_atomically(extra / "data" / folder / f"{figure}.{suffix}", text)
    write_atomically(tree / name, nbformat.writes(chapter_page(chapter)))


def _address(tree: Path, address: str | None) -> None:
    """What needs the public address: buttons, links to the repository's files, sentences, the citation's field."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config["parse"]["myst_substitutions"] = downloads.sentences(address)
    if address:
        config["repository"] = {"url": address, "branch": "main"}
        citation["repository-code"] = address
    else:
        del config["launch_buttons"]
        config["html"]["use_repository_button"] = False
    for name, content in {"_config.yml": config, "extra/CITATION.cff": citation}.items():
        write_atomically(tree / name, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    for page in (tree / "book").glob("*.md"):
        text = claim_cards.lead_to_claims(page.read_text(encoding="utf-8"))
        write_atomically(page, re.sub(r"\[([^]]*)\]\(repo:([^)]+)\)", _link(address), text))


def _link(address: str | None) -> str:
    return rf"[\1]({address}/blob/main/\2)" if address else r"`\2`"
