"""A finished run of all chapters, read and checked once: what every page is made of."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import nbformat

from icl.chapters import CHAPTERS, read_ledger
from icl.claims import Claim
from icl.figures import NARROW
from icl.ledger import claims_of, read_figure, read_verified, summary
from icl.validation import InputError
from press.layout import run_folder
from press.notebooks import check_pair, with_outputs
from press.pages.reading import reading_minutes


@dataclass(frozen=True)
class FinishedChapter:
    """What one chapter's run left.

    name : of the notebook; ledger : its JSON; claims : the ledger's; notebook : prose, and which cells are hidden, as
    they are now, code and outputs as they ran; figures : name → suffix (`svg`, `narrow.svg`, `csv`) → text; minutes :
    to read it.
    """

    name: str
    ledger: dict
    claims: list[Claim]
    notebook: nbformat.NotebookNode
    figures: dict[str, dict[str, str]]
    minutes: int

    @property
    def carried(self) -> set[str]:
        """The claims whose numbers come from trainings that the repository ships, not from ones of this run."""
        described = CHAPTERS[self.name]
        if self.ledger["parameters"].get("profile") == "standard" and "*.safetensors" in described.reads:
            return set()  # trained anew
        trained = [claim.id for claim in self.claims if claim.method == "trained"]
        return {id for id in trained if any(fnmatchcase(id, pattern) for pattern in described.carried)}


@dataclass(frozen=True)
class FinishedRun:
    """All chapters of one profile's run, in the order of the book, and the folder they were read from."""

    profile: str
    folder: Path
    chapters: tuple[FinishedChapter, ...]

    @property
    def claims(self) -> list[Claim]:
        """The claims of all chapters."""
        return [claim for chapter in self.chapters for claim in chapter.claims]

    @property
    def summary(self) -> str:
        """One line: how many claims hold, fail, or were not run."""
        return summary([chapter.ledger for chapter in self.chapters])


def read_run(profile: str, folder: Path | None = None) -> FinishedRun:
    """The last run of a profile, or the one in `folder`.

    Raises InputError where a chapter is missing, damaged or failed, or where its code is no longer what ran.
    """
    folder = folder or run_folder(profile)
    return FinishedRun(profile, folder, tuple(read_chapter(folder, name) for name in CHAPTERS))


def read_chapter(folder: Path, name: str) -> FinishedChapter:
    """One chapter of the run in `folder`; raises InputError as `read_run`."""
    ledger = read_ledger(folder, name)
    ran = nbformat.reads(read_verified(folder / f"{name}.ipynb", ledger["notebook"]), as_version=4)
    if any(output.output_type == "error" for cell in ran.cells for output in cell.get("outputs", [])):
        raise InputError(f"{name}.ipynb in {folder} holds an error; run the chapter again before building the book.")
    notebook = with_outputs(nbformat.read(check_pair(name), as_version=4), ran, name)
    figures = {
        figure: {suffix: read_figure(folder, ledger, figure, suffix) for suffix in ("svg", NARROW, "csv")}
        for figure in ledger["figures"]
    }
    return FinishedChapter(name, ledger, claims_of(ledger), notebook, figures, reading_minutes(notebook))
