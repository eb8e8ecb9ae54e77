"""A chapter depends on what it imports, and on nothing else."""

import pytest

from icl.chapters import CHAPTERS
from icl.validation import InputError
from press.layout import ROOT
from press.sources import chapter_sources


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_sources_exist_and_hold_what_counts(chapter):
    sources = chapter_sources(chapter)
    assert all((ROOT / source).is_file() for source in sources)
    for needed in (
        f"_build/code/{chapter}.json",
        f"icl/chapters/{chapter[3:]}/chapter.toml",
        "icl/ledger.py",
        "icl/validation.py",
        "icl/__init__.py",
        "press/run.py",
        "requirements.lock",
    ):
        assert needed in sources


def test_only_what_is_imported():
    sources = chapter_sources("01_one_step_gd")
    assert "icl/theory/wishart.py" in sources  # through theory.one_step_gd and theory.bayes_risk
    for foreign in ("press/stage.py", "press/cli.py", "book/introduction.md"):
        assert foreign not in sources
    other_chapters = [source for source in sources if source.startswith("_build/") or source.endswith(".toml")]
    assert all("one_step_gd" in source for source in other_chapters)


def test_unknown_chapter():
    with pytest.raises(InputError, match="there is no chapter"):
        chapter_sources("99_none")
