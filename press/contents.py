"""What the book consists of, committed beside the baselines: pages and chapters may not vanish unseen.

`codecheck.yml` lists the same for whoever wants to reproduce it: every figure, and every chapter's claims.
"""

from pathlib import Path

import yaml

from icl.chapters import CHAPTERS
from icl.files import dumps, read_json, write_atomically
from press.layout import BASELINES, pages


def contents() -> dict[str, list[str]]:
    """What the book has to consist of: its pages and its chapters, from `_toc.yml` and the list of chapters."""
    return {"pages": sorted(pages()), "chapters": sorted(CHAPTERS)}


def codecheck() -> str:
    """The manifest that a CODECHECK starts from: every figure of the committed baselines, in the form of its YAML."""
    figures = [path for path in sorted((BASELINES / "quick").rglob("*.csv")) if path.stem != "claims"]
    manifest = [
        {"file": f"_build/run/quick/{path.parent.name}/{path.stem}.svg", "comment": "its numbers: .csv beside it"}
        for path in figures
    ]
    manifest += [{"file": f"_build/run/quick/{chapter}.json", "comment": "claims and verdicts"} for chapter in CHAPTERS]
    content = {
        "version": "https://codecheck.org.uk/spec/config/1.0/",
        "summary": "`make book` makes every file below; `make check` compares their numbers with the committed ones.",
        "manifest": manifest,
    }
    head = "# For a CODECHECK (https://codecheck.org.uk): what to reproduce. Written by `make baselines`.\n"
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def write_contents(committed: Path, root: Path) -> Path:
    """Make the present contents the committed list, and the figures of the baselines the manifest of codecheck.yml."""
    write_atomically(root / "codecheck.yml", codecheck())
    return write_atomically(committed / "contents.json", dumps(contents()))


def compare_contents(committed: Path, profile: str) -> list[str]:
    """Pages and chapters that vanished from the book, or are new and not yet in the committed list."""
    before, now, moves = read_json(committed / "contents.json"), contents(), []
    for kind in now:
        moves += [f"{kind[:-1]} {name}: vanished" for name in sorted({*before.get(kind, [])} - {*now[kind]})]
        moves += [
            f"{kind[:-1]} {name}: is new; `make baselines` takes it into the list"
            for name in sorted({*now[kind]} - {*before.get(kind, [])})
        ]
    left = {path.name for path in (committed / profile).iterdir() if path.is_dir()} - {*CHAPTERS}
    moves += [f"baselines of {name}: belong to no chapter; delete them" for name in sorted(left)]
    return moves
