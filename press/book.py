"""The static book: staged tree in, HTML out; a half-built book never replaces a good one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from icl.chapters import CHAPTERS
from press.finished import read_run
from press.layout import BUILD, HTML, WorkflowError, pages, run_folder
from press.output import workplace
from press.pages import trust
from press.search_text import complete_search
from press.sources import check_current
from press.stage import stage


def build_book(profile: str) -> Path:
    """Build the book from the profile's run into `_build/html`; returns its index page.

    Any Sphinx warning is an error. Raises InputError where a run is missing, WorkflowError where one is of other code
    than stands here, the build fails or a page is missing; the book that was there before then stays as it was. A
    second build waits for the first.
    """
    BUILD.mkdir(exist_ok=True)
    with workplace(BUILD, "book") as mine:
        source = write_source(profile, mine.scratch / "src")
        built = render(source, mine.scratch / "sphinx", pages())
        # readers download the notebooks as they ran, in place of those that Sphinx read
        shutil.copytree(source / "extra" / "_sources", built / "_sources", dirs_exist_ok=True)
        complete_search(built, pages())
        mine.check()
        _publish(built)
    return HTML / "index.html"


def write_source(profile: str, tree: Path) -> Path:
    """The tree that Jupyter Book builds from the profile's run, written into the folder `tree`; returns it.

    Raises InputError where a run is missing or damaged, WorkflowError where it is of other code than stands here.
    """
    check_current(run_folder(profile), CHAPTERS, profile)
    stage(read_run(profile), tree)
    trust.complete(tree, profile)
    return tree


def render(source: Path, output: Path, expected: list[str], builder: str = "html") -> Path:
    """Run Jupyter Book on a staged tree; returns the folder of HTML, of one page with the builder `singlehtml`.

    Raises WorkflowError for any warning of Sphinx and where one of the `expected` pages or the index is missing.
    """
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [str(jupyter_book), "build", "--all", "-W", "-n", "--keep-going", "-q", "--builder", builder]
    result = subprocess.run(
        [*command, "--path-output", str(output), str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    built = output / "_build" / builder
    complaints = [
        line for line in result.stdout.splitlines() if "WARNING" in line or "ERROR" in line or "Error" in line
    ]
    if result.returncode or complaints:
        raise WorkflowError("the book was not built:\n" + "\n".join(complaints or result.stdout.splitlines()[-20:]))
    missing = [page for page in expected if not (built / f"{page}.html").exists()]
    if missing or not (built / "index.html").exists():
        raise WorkflowError(f"the book was built without {', '.join(missing) or 'index.html'}.")
    return built


def _publish(built: Path) -> None:
    previous = HTML.with_name("html.previous")
    shutil.rmtree(previous, ignore_errors=True)
    if HTML.exists():
        os.replace(HTML, previous)
    os.replace(built, HTML)
    shutil.rmtree(previous, ignore_errors=True)
