"""Explorables drawn before any script runs."""

import math

import pytest
from bs4 import BeautifulSoup

from icl.chapters import CHAPTERS
from icl.chapters.one_step_gd.explorable import explorable
from icl.theory.one_step_gd import minimal_risk
from press.layout import WorkflowError
from press.pages.panels import drawn


@pytest.fixture(scope="module")
def page():
    return explorable(CHAPTERS["01_one_step_gd"].schema())._repr_html_()


def test_the_start_is_drawn_and_its_numbers_are_filled_in(page):
    box = BeautifulSoup(drawn(page), "html.parser")
    numbers = {tag["data-number"]: tag.get_text() for tag in box.select("[data-number]")}
    assert "–" not in numbers.values()
    assert any(math.isclose(float(text), minimal_risk(5, 20, 0.25), rel_tol=1e-3) for text in numbers.values()
               if text.replace(".", "").isdigit())  # fmt: skip
    (panel,) = box.select(".panels svg")
    assert panel["role"] == "img" and len(panel.select("path.line")) >= 3 and panel.select("text.label")
    assert not box.select(".panels script")


def test_a_script_that_does_not_draw_is_named(page):
    with pytest.raises(WorkflowError, match="one_step_gd/explorable.js does not draw"):
        drawn(page.replace('"name": "n"', '"name": "m"').replace('{"controls": [', '{"controls": 3, "x": ['))
