"""Every chapter's exercises, as they are written: enough of them, of every kind, each with a solution below it."""

import re

import jupytext
import pytest

from icl.chapters import CHAPTERS
from press.layout import NOTEBOOKS

MARKS = ("★", "★★", "★★★", "◇")
THEOREMS = 7  # chapters; those beyond are shorter
_PIECE = re.compile(
    r"^```\{(?P<kind>exercise|solution|solution-start|solution-end)\} ?(?P<title>[^\n]*)\n(?P<body>.*?)^```$",
    flags=re.M | re.S,
)


def pieces(chapter):
    """The directives in order, (kind, title, options), and «code» for each code cell between them."""
    found = []
    for cell in jupytext.read(NOTEBOOKS / f"{chapter}.py").cells:
        if cell.cell_type == "code":
            found.append(("code", cell.source, {}))
            continue
        for match in _PIECE.finditer(cell.source):
            options = dict(re.findall(r"^:(\w+): (\S+)$", match["body"], flags=re.M))
            found.append((match["kind"], match["title"], options))
    return found


def exercises(chapter):
    """(title, label, code cells of its solution) of each exercise."""
    found, listed = [], pieces(chapter)
    for k, (kind, title, options) in enumerate(listed):
        if kind != "exercise":
            continue
        solution, target, fold = listed[k + 1]
        assert solution in ("solution", "solution-start") and target == options["label"], f"{title}: no solution below"
        assert fold.get("class") == "dropdown" and fold["label"] == options["label"].replace("ex-", "sol-", 1)
        code = []
        if solution == "solution-start":
            end = next(j for j in range(k + 2, len(listed)) if listed[j][0] != "code")
            assert listed[end][0] == "solution-end", f"{title}: the solution does not end"
            code = [source for _, source, _ in listed[k + 2 : end]]
            assert code, f"{title}: gates without code"
        found.append((title, options["label"], code))
    return found


WITH_EXERCISES = [
    chapter for chapter in CHAPTERS if "{exercise}" in (NOTEBOOKS / f"{chapter}.py").read_text(encoding="utf-8")
]


@pytest.mark.parametrize("chapter", WITH_EXERCISES)
def test_from_a_pencil_check_to_an_open_question(chapter):
    marks = [title.split()[-1] for title, _, _ in exercises(chapter)]
    assert len(marks) >= 2 and set(marks) <= set(MARKS)
    if CHAPTERS[chapter].number <= THEOREMS:
        assert len(marks) >= 4 and marks[0] == "★" and marks[-1] == "◇" and "★★★" in marks
    assert marks == sorted(marks, key=MARKS.index), "they grow harder"


@pytest.mark.parametrize("chapter", WITH_EXERCISES)
def test_some_need_code_and_some_do_not(chapter):
    with_code = [code for _, _, code in exercises(chapter) if code]
    assert with_code and len(exercises(chapter)) - len(with_code) >= (2 if CHAPTERS[chapter].number <= THEOREMS else 1)
    for code in with_code:
        held = r"^ *assert .|^ledger\.claims\("
        assert any(re.search(held, cell, flags=re.M) for cell in code), "a number is held against its formula"


def test_labels_are_unique_and_references_lead_to_them():
    labels = [label for chapter in CHAPTERS for _, label, _ in exercises(chapter)]
    assert len(labels) == len(set(labels))
    text = "".join((NOTEBOOKS / f"{chapter}.py").read_text() for chapter in CHAPTERS)
    used = re.findall(r"\{ref\}`(ex-[\w-]+)`", text)
    assert used and set(used) <= set(labels)
