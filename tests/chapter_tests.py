"""What a chapter's own tests offer to the tests of all chapters: found by its name, so that none is listed."""

import runpy
from pathlib import Path

from icl.chapters import CHAPTERS, read_ledger
from icl.ledger import claims_of
from press.layout import run_folder

_FOLDER = Path(__file__).parent / "chapters"
WITH_EXPLORABLE = [name for name, chapter in CHAPTERS.items() if (chapter.folder / "explorable.js").exists()]


def offered(chapter: str, name: str):
    """The function `name` of tests/chapters/test_<chapter>.py or tests/chapters/<chapter>/; None where none has it."""
    folder = CHAPTERS[chapter].folder.name
    for path in (_FOLDER / f"test_{folder}.py", *sorted(_FOLDER.glob(f"{folder}/test_*.py"))):
        if path.exists() and f"def {name}(" in path.read_text(encoding="utf-8"):
            return runpy.run_path(str(path))[name]
    return None


def guessed(chapter: str):
    """The claim whose number a chapter's reader guesses first, as the last run decided it."""
    ledger = claims_of(read_ledger(run_folder("quick"), chapter))
    return next(claim for claim in ledger if claim.id == CHAPTERS[chapter].guess.claim)
