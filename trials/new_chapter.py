"""Adding a chapter: six hand-written files and one line of the table of contents, and nothing else.

The files of `trials/tiny_chapter`, which are laid out as they are in the tree, go into a copy of it under
`_build/trials/new_chapter`. There the book is built, its numbers become baselines, and the chapter's own test, the gate
and the browser's tests of its page must pass. CONTRIBUTING.md sends whoever writes a chapter to the same files.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from press.layout import ROOT, WorkflowError
from trials.same import checkout

TINY = ROOT / "trials" / "tiny_chapter"
NAME = "13_zero_answer"  # the next number: figures are counted by a chapter's place
STEPS = (
    "make sync",
    "make book",
    "make baselines",
    "make check",
    "make book",  # the page that lists the baselines knows them now
    ".venv/bin/python -m pytest -q -m 'not book' tests/chapters/test_zero_answer.py",
    f".venv/bin/python -m pytest -q -m book tests/book -k '{NAME} or front_page or claims_page or map'",
)


def add_chapter() -> list[str]:
    """Run the trial; returns the files that made the chapter. Raises WorkflowError, with what was said, on failure."""
    copy = checkout("new_chapter")
    files = overlay(copy)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment = ours | {"PYTHONPATH": str(copy)}  # before what .venv would import
    for step in STEPS:
        done = subprocess.run(shlex.split(step), cwd=copy, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise WorkflowError(f"«{step}» failed in {copy}:\n{(done.stdout + done.stderr)[-4000:]}")
    return files


def overlay(copy: Path) -> list[str]:
    """Put the tiny chapter into a copy of the tree; returns what was added, and the table of contents."""
    files = sorted(
        str(path.relative_to(TINY)) for path in TINY.rglob("*.*") if path.is_file() and path.suffix != ".pyc"
    )
    for name in files:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TINY / name, copy / name)
    contents = copy / "_toc.yml"
    lines = contents.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(k for k, line in enumerate(lines) if "file: notebooks/" in line)
    lines.insert(last + 1, lines[last].split("notebooks/")[0] + f"notebooks/{NAME}\n")
    contents.write_text("".join(lines), encoding="utf-8")
    return [*files, "_toc.yml"]
