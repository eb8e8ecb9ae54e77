"""A chapter depends on what it imports, and on nothing else; a run of other code than this is called stale."""

import fake_run
import pytest

from icl.chapters import CHAPTERS
from icl.files import dumps, read_json, read_sealed, sealed, write_atomically
from icl.validation import InputError
from press import notebooks, sources
from press.layout import ROOT, WorkflowError, remedy, run_folder
from press.sources import chapter_sources, check_current, digests

CHAPTER = "01_one_step_gd"


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


def test_imports_are_found_at_any_depth():
    text = """
def f(x):
    try:
        import a.b
    except ImportError:
        from c import d
    match x:
        case 1:
            import e
    with x:
        if x:
            pass
        else:
            import g
"""
    assert sources._imported_modules(text) == {"a.b", "c", "c.d", "e", "g"}


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


@pytest.fixture
def ran(tmp_path):
    """A made-up run; returns a function that changes the recorded digests of chapters and says what is found stale."""
    folder = tmp_path / "run"
    fake_run.write(folder)

    def stale(change=lambda sources: None, chapters=CHAPTERS, profile=None):
        for chapter in chapters:
            path = folder / f"{chapter}.provenance.json"
            made = read_json(path)
            change(made["sources"])
            write_atomically(path, dumps(made))
        with pytest.raises(WorkflowError) as caught:
            check_current(folder, CHAPTERS, profile)
        return str(caught.value)

    stale.folder = folder
    return stale


def test_a_run_of_this_code_is_current(ran):
    assert check_current(ran.folder, CHAPTERS, "quick") is None


def test_one_sentence_says_which_chapter_because_of_what_and_what_helps(ran):
    said = ran(lambda made: made.update({"icl/ledger.py": "0", "icl/gone.py": "0"}), [CHAPTER])
    command = f"python -m icl run {CHAPTER} --out {ran.folder}"
    why = "icl/gone.py, icl/ledger.py changed since it ran"
    assert said == f"{CHAPTER}: stale, for {why}; `{command}` helps."
    assert ran(lambda made: made.pop("requirements.lock")).count("requirements.lock") == len(CHAPTERS)
    many = ran(lambda made: [made.update({name: "0"}) for name in list(made)], [CHAPTER])
    assert "more files changed since" in many


def test_other_parameters_are_no_run_of_a_profile_but_part_of_the_command(ran):
    path = ran.folder / f"{CHAPTER}.json"
    ledger = read_sealed(path)
    write_atomically(path, sealed(ledger | {"parameters": ledger["parameters"] | {"d": 7, "profile": "standard"}}))
    assert check_current(ran.folder, CHAPTERS) is None, "a folder of one's own may have them"
    with pytest.raises(
        WorkflowError, match=f"stale, for it ran with d=7, profile=standard; `.* run {CHAPTER} -p profile=quick"
    ):
        check_current(ran.folder, CHAPTERS, "quick")
    assert f"run {CHAPTER} -p d=7 -p profile=standard --out" in ran(lambda made: made.popitem(), [CHAPTER])


def test_a_run_that_does_not_say_what_made_it_is_not_believed(ran):
    (ran.folder / f"{CHAPTER}.provenance.json").unlink()
    assert "nothing says which code made it" in ran(chapters=[])


def test_code_counts_and_prose_does_not(tmp_path, monkeypatch):
    source = (ROOT / "notebooks" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    found = []
    for text in (
        source,
        source.replace("# The ", "# the "),
        source.replace("import numpy as np", "import numpy as np  #"),
    ):
        write_atomically(tmp_path / f"{CHAPTER}.py", text)
        found.append(digests(CHAPTER))
    assert found[0] == found[1] != found[2] and source != source.replace("# The ", "# the ")
    assert {name for name in found[0] if found[0][name] != found[2][name]} == {f"notebooks/{CHAPTER}.py"}
    write_atomically(tmp_path / f"{CHAPTER}.py", "if")
    with pytest.raises(InputError, match="what 01_one_step_gd imports cannot be told: invalid syntax"):
        digests(CHAPTER)


def test_the_helpful_command_is_whole():
    assert remedy(run_folder("quick"), CHAPTER) == "make book"
    assert remedy(run_folder("paper"), CHAPTER) == "make book PROFILE=paper"
    assert remedy("my run", CHAPTER, {"d": 7}) == f"python -m icl run {CHAPTER} -p d=7 --out 'my run'"
