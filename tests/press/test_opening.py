"""How a chapter's page opens: the cells in their order, the question, and where the answer lies."""

import re

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from icl.chapters import CHAPTERS
from icl.claims import Claim
from press.finished import FinishedChapter
from press.layout import WorkflowError
from press.pages.opening import opened

EXPLORABLE = new_output("display_data", data={"text/html": '<div data-explorable="one_step_gd"></div>'})
FIGURE = "```{glue:figure} fig-similarity_maps\n:name: fig-similarity-maps\n\nA caption.\n```\n"


def chapter(name="01_one_step_gd", **changes) -> FinishedChapter:
    guess = CHAPTERS[name].guess
    claim = dict(
        id=guess.claim, source="s", statement="t", method="trained", relation="equal", predicted=0.02,
        measured=0.03, stderr=0.001, tolerance=0.5, verdict="holds", reason="", cell=7,
    )  # fmt: skip
    other = claim | dict(id="other.claim", predicted=7.0, measured=7.0)
    return FinishedChapter(name, {}, [Claim(**other), Claim(**claim | changes)], new_notebook(), {}, 5)


def page(**changes):
    cells = [
        new_markdown_cell("(label)=\n# Title\n\nThe introduction.\n"),
        new_code_cell("import numpy\n", metadata={"tags": ["hide-input"]}),
        new_code_cell("d = 5", metadata={"tags": ["parameters"]}),
        new_code_cell("d = 6", metadata={"tags": ["injected-parameters", "remove-cell"]}),
        new_markdown_cell("## Model\n\nText.\n\n## Move it yourself\n\nMove $n$."),
        new_code_cell("explorable(parameters)", outputs=[EXPLORABLE], metadata={"tags": ["hide-input"]}),
        new_markdown_cell(f"## Last\n\n{FIGURE}\nThe end."),
    ]
    return opened(cells, chapter(**changes)), cells


def soup(cell):
    return BeautifulSoup(cell.source, "html.parser")


def test_the_page_opens_with_the_guess_and_the_sliders_and_ends_with_the_set_up():
    cells, own = page()
    ids = [cell.id for cell in cells]
    assert ids[:5] == ["title", "guess", "sliders", "explorable", "about"] and ids[5] == "introduction"
    assert cells[0].source == "(label)=\n# Title\n" and cells[5].source.strip() == "The introduction."
    assert ids[-2:] == ["set-up", "set-up-code"] and cells[-1].source == "import numpy\n\nd = 5"
    assert cells[-1].metadata.tags == ["hide-input"]
    assert cells[3].outputs == [EXPLORABLE] and cells[3].metadata.tags == ["remove-input"]
    left = next(cell for cell in cells if cell.id == own[5].id)
    assert left.source == "explorable(parameters)" and left.outputs == [], "its code stays where it was, once"
    assert own[5].outputs == [EXPLORABLE] and own[0].source.endswith("introduction.\n"), "the notebook is left alone"


def test_the_sliders_and_what_to_look_for_lead_to_each_other():
    cells, _ = page()
    (back,) = [cell for cell in cells if cell.id == "sliders-are"]
    place = soup(cells[2]).select_one("span")["id"]
    assert soup(back).a["href"] == f"#{place}" and soup(cells[4]).a["href"] == "#move-it-yourself"


def test_the_answer_is_the_ledger_s():
    cells, _ = page()
    box = soup(cells[1]).select_one(".icl-guess")
    guess = CHAPTERS["01_one_step_gd"].guess
    assert float(box["data-truth"]) == 0.02 and guess.question.strip() in cells[1].source
    assert int(box.input["max"]) == round((guess.between[1] - guess.between[0]) / guess.step)
    assert box.select_one('label[for="icl-guess"]').get_text() and box.input["id"] == "icl-guess"
    assert box.summary.get_text() == "The answer" and guess.formula in cells[1].source
    found = box.select_one(".found")
    assert "0.02" in found.get_text() and "0.0300 ± 0.0010" in found.get_text() and "holds" in found.get_text()
    assert found.a["href"] == f"../book/claims.html#claim-{guess.claim}"
    places = {mark["class"][0]: re.findall(r": ([\d.]+)", mark["style"]) for mark in box.select(".scale i[style]")}
    measured = ["0.3000", "0.0500"]
    assert places == {"formula": ["0.2000", "0.0500"], "error": measured, "measured": measured}


def test_a_bound_is_judged_by_the_measurement_and_the_range_holds_it():
    cells, _ = page(relation="at least", predicted=0.9, measured=-0.1, verdict="fails")
    box = soup(cells[1]).select_one(".icl-guess")
    assert float(box["data-truth"]) == -0.1 == float(box["data-least"]) and box.input["max"] == "200"
    assert "The claim is ≥ 0.9, but" in box.select_one(".found").get_text()
    assert not box.select(".scale .formula"), "beyond the scale"


def test_a_claim_that_was_not_run_is_not_asked_for():
    gone = dict.fromkeys(("predicted", "measured", "stderr", "tolerance"))
    cells, _ = page(verdict="not run at this profile", reason="too long", **gone)
    assert [cell.id for cell in cells[:3]] == ["title", "sliders", "explorable"]


def test_a_page_without_sliders_opens_with_its_picture():
    name = "07_trained_transformers"
    cells = [new_markdown_cell("# T\n\nIntroduction."), new_markdown_cell(f"## S\n\n{FIGURE}\nAfter it.")]
    found = opened(cells, chapter(name))
    assert [cell.id for cell in found[:4]] == ["title", "guess", "picture", "introduction"]
    assert found[2].source == FIGURE and "A caption" not in found[-1].source and "After it." in found[-1].source
    with pytest.raises(WorkflowError, match="is to open with the figure 'similarity_maps'"):
        opened(cells[:1], chapter(name))


def test_cells_without_a_title_stay_as_they_are():
    cells = [new_code_cell("x = 1")]
    assert opened(cells, chapter()) == cells
