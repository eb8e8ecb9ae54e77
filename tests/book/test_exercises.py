"""Exercises and solutions in the built book: numbered, linked both ways, folded, executed, open when printed."""

import re

import pytest

from icl.chapters import CHAPTERS
from press.layout import HTML, NOTEBOOKS

pytestmark = pytest.mark.book


WRITTEN = {chapter: (NOTEBOOKS / f"{chapter}.py").read_text().count("```{exercise} ") for chapter in CHAPTERS}
WITH_EXERCISES = [chapter for chapter, count in WRITTEN.items() if count]


@pytest.mark.parametrize("chapter", WITH_EXERCISES)
def test_numbered_by_chapter_and_linked_both_ways(soups, chapter):
    soup = soups[f"notebooks/{chapter}"]
    found = soup.select("div.exercise")
    assert len(found) == WRITTEN[chapter]
    for k, exercise in enumerate(found, 1):
        number = f"{int(chapter[:2])}.{k}"
        assert exercise.select_one(".caption-number").get_text().strip() == f"Exercise {number}"
        link = exercise.select_one(".icl-other-half a")
        solution = soup.find(id=link["href"].lstrip("#"))
        assert "solution" in solution["class"] and "dropdown" in solution["class"]
        assert solution.select_one(".admonition-title").get_text() == f"Solution of Exercise {number}"
        back = solution.select(".icl-other-half a")[-1]
        assert back["href"] == f"#{exercise['id']}" and back.get_text() == f"Back to Exercise {number}"
        words = solution.get_text().replace(back.get_text(), "")
        assert len(words) > 200, f"the solution of {number} is empty"


@pytest.mark.parametrize("chapter", WITH_EXERCISES)
def test_code_in_solutions_was_executed(soups, chapter):
    cells = soups[f"notebooks/{chapter}"].select("div.solution div.cell")
    assert cells, "no solution has code"
    for cell in cells:
        assert cell.select_one(".cell_output").get_text().strip(), "a solution's cell shows no number"


def test_exercises_are_named_by_their_numbers_elsewhere(soups):
    """A link to another chapter's exercise says which one it is."""
    text = soups["notebooks/05_gd_beta_gradient_flow"].select_one("article").get_text()
    assert re.search(r"\bExercise 1\.\d\b", text) and "ex-" not in text


def test_no_id_is_used_twice_by_exercises(soups):
    for page, soup in soups.items():
        parts = soup.find_all(class_=["exercise", "solution"])
        tags = {id(tag): tag for part in parts for tag in (part, *part.find_all(id=True))}
        ids = [tag["id"] for tag in tags.values() if tag.get("id")]
        assert len(ids) == len(set(ids)), page


@pytest.mark.browser
def test_a_link_unfolds_a_solution_and_print_shows_all(browser):
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: None if "THEBE_JS_URL" in str(error) else errors.append(str(error)))
    page.goto((HTML / "notebooks" / "01_one_step_gd.html").as_uri())
    page.wait_for_selector("#sol-caution.toggle-hidden", state="attached")
    inside = page.locator("#sol-caution section")
    assert not inside.is_visible()
    page.locator("#ex-caution .icl-other-half a").click()
    inside.wait_for(state="visible")
    page.locator("#sol-caution > .admonition-title").click()
    inside.wait_for(state="hidden")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    folded = page.locator(".solution.toggle-hidden").count()
    page.close()
    assert folded == 0 and errors == []
