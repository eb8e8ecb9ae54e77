"""Every chapter opens with a guess: by keyboard, by touch; the answer is the ledger's."""

import pytest
from chapter_tests import guessed

from icl.chapters import CHAPTERS
from icl.claims import measured_text, predicted_text
from press.layout import HTML

pytestmark = [pytest.mark.book, pytest.mark.browser]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_page_opens_with_it_and_ends_with_the_set_up(soups, chapter):
    article = soups[f"notebooks/{chapter}"].select_one("article")
    after_title = article.h1.find_next_sibling("div")
    assert "icl-guess" in after_title["class"] and "Guess first." in after_title.get_text()
    (sliders,) = article.select("[data-explorable]") or [None]
    moving = sliders or article.select_one("figure")
    texts = [moving, article.select_one("h1 ~ p:not(.icl-about, :has(svg))"), article.h2]
    lines = [tag.sourceline for tag in (after_title, *texts) if tag]
    assert lines == sorted(lines), "guess, idea in motion, introduction, sections"
    assert article.select("h2")[-1].get_text().startswith("Set-up")
    assert "import" in article.select("div.cell")[-1].get_text()


def test_a_guess_is_judged(device, opened):
    chapter, page = opened
    claim = guessed(chapter)
    page.wait_for_function("!location.hash")
    if not page.locator(".icl-guess[data-asks]").count():  # the page's explorable has been moved: it asks again
        page.locator(".icl-guess button").dblclick()
    page.locator(".icl-guess[data-asks]").wait_for()
    answer, status, slider = (page.locator(f".icl-guess {part}") for part in ("details", "[role=status]", "input"))
    veiled = "all => all.map((dd) => getComputedStyle(dd).filter)"
    numbers = page.locator("[data-explorable] dd")
    assert not answer.is_visible() and not status.is_visible()
    assert all("blur" in filter for filter in numbers.evaluate_all(veiled))
    if device == "phone":
        place = slider.bounding_box()  # wherever the page was scrolled to, the finger finds the slider
        slider.tap(position={"x": 0.9 * place["width"], "y": place["height"] / 2})
        page.locator(".icl-guess button").tap()
    else:
        slider.press("End")
        slider.press("Enter")
    answer.wait_for()
    assert predicted_text(claim) in answer.inner_text() and measured_text(claim) in answer.inner_text()
    truth = claim.predicted if claim.relation == "equal" else claim.measured
    guess = float(page.locator(".icl-guess output").inner_text().replace("−", "-"))
    side = "high" if guess > truth else "low"
    assert side in status.inner_text() and measured_text(claim) in status.text_content()
    assert set(numbers.evaluate_all(veiled)) <= {"none"}
    page.locator(".icl-guess button").click()
    assert not answer.is_visible() and page.locator(".icl-guess button").inner_text() == "Show"
    assert page.wrong == []


def test_how_far_off_is_said_in_words(sheet):
    page = sheet
    page.goto((HTML / "notebooks" / "01_one_step_gd.html").as_uri())
    page.locator(".icl-guess button").click()
    truth, words = guessed("01_one_step_gd").predicted, {}
    for guess in (0.0, 0.01, 0.037, 0.038, 0.05, 0.1):
        page.locator(".icl-guess input").fill(str(round(guess / 0.001)))
        page.wait_for_function(
            f"document.querySelector('.icl-guess [role=status]').innerText.includes('guess, {guess:.3f}')"
        )
        words[guess] = page.locator(".icl-guess [role=status]").inner_text()
    for guess, expected in {
        0.0: "too low by 0.038",
        0.01: f"too low by a factor of {truth / 0.01:.1f}",
        0.037: f"close, {100 * (1 - 0.037 / truth):.0f} % too low",
        0.038: "right on the spot",
        0.05: f"{100 * (0.05 / truth - 1):.0f} % too high",
        0.1: f"{0.1 / truth:.1f} times too high",
    }.items():
        assert words[guess].startswith(f"Your guess, {guess:.3f}, is {expected}.")


def test_who_moves_the_sliders_first_sees_their_numbers(sheet):
    page = sheet
    page.goto((HTML / "notebooks" / "01_one_step_gd.html").as_uri())
    page.locator(".icl-guess[data-asks]").wait_for()
    page.locator("[data-explorable] input").first.press("ArrowRight")
    assert page.locator(".icl-guess[data-asks]").count() == 0 and not page.locator(".icl-guess details").is_visible()
