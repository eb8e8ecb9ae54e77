"""The static book: staged tree in, HTML out; a half-built book never replaces a good one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from icl.parameters import CHAPTERS
from icl.workflow.layout import BUILD, HTML, WorkflowError, run_folder
from icl.workflow.stage import stage


def build_book(profile: str) -> Path:
    """Build the book from the profile's run into `_build/html`; returns its index page.

    Any Sphinx warning is an error. Raises InputError where a run is missing, WorkflowError where the build fails or a
    page is missing; the book that was there before then stays as it was.
    """
    source, output = BUILD / "src", BUILD / "sphinx"
    expected = stage(run_folder(profile), source)
    shutil.rmtree(output, ignore_errors=True)
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [str(jupyter_book), "build", "--all", "-W", "-n", "--keep-going", "-q"]
    result = subprocess.run(
        [*command, "--path-output", str(output), str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    built = output / "_build" / "html"
    complaints = [
        line for line in result.stdout.splitlines() if "WARNING" in line or "ERROR" in line or "Error" in line
    ]
    if result.returncode or complaints:
        raise WorkflowError("the book was not built:\n" + "\n".join(complaints or result.stdout.splitlines()[-20:]))
    missing = [page for page in expected if not (built / f"{page}.html").exists()]
    if missing or not (built / "index.html").exists():
        raise WorkflowError(f"the book was built without {', '.join(missing) or 'index.html'}.")
    for chapter in CHAPTERS:  # readers download the notebook as it ran, without the cell that feeds the prose
        shutil.copy(run_folder(profile) / f"{chapter}.ipynb", built / "_sources" / "notebooks" / f"{chapter}.ipynb")
    _publish(built)
    return HTML / "index.html"


def _publish(built: Path) -> None:
    previous = HTML.with_name("html.previous")
    shutil.rmtree(previous, ignore_errors=True)
    if HTML.exists():
        os.replace(HTML, previous)
    os.replace(built, HTML)
    shutil.rmtree(previous, ignore_errors=True)
