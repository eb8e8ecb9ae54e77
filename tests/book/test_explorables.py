"""The explorables of the built book in Chromium: sliders by keyboard and touch, numbers, address, reset, no jump."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from browser import LIGHT, alone, contrast
from chapter_tests import WITH_EXPLORABLE, guessed, offered

from icl.chapters import CHAPTERS
from icl.claims import measured_text
from press.layout import HTML

pytestmark = [pytest.mark.book, pytest.mark.browser]


@pytest.fixture
def explorable(opened):
    """A chapter's name, its page and its explorable, put back to its start for whoever has the page next."""
    chapter, page = opened
    box = drawn(page)
    yield chapter, page, box
    box.get_by_role("button", name="Reset").evaluate("button => button.click()")  # a reader's click is tested below
    page.wait_for_function(f"!location.hash.includes('{box.get_attribute('data-explorable')}')")


on_every_explorable = pytest.mark.parametrize("opened", WITH_EXPLORABLE, indirect=True)
# For what is the same on every device: the first of them. Not as a fixture of its own, so that its pages are shared.
on_a_desktop = pytest.mark.parametrize("device", ["desktop"], indirect=True)


def open_explorable(page, chapter, fragment=""):
    """A chapter's explorable, drawn on this page."""
    page.goto((HTML / "notebooks" / f"{chapter}.html").as_uri() + fragment)
    return drawn(page)


def drawn(page):
    """The explorable of the page that is open, once it is drawn."""
    box = page.locator(f"{LIGHT}[data-explorable]")
    box.locator(".line").first.wait_for(state="attached")
    return box


def addressed(page, *parts) -> str:
    """The address behind its #, once it holds these parts: it follows a moment after the sliders."""
    page.wait_for_function("(parts) => parts.every((part) => location.hash.includes(part))", arg=parts)
    return page.evaluate("location.hash")


def values(box) -> dict:
    """The controls' values as the page shows them."""
    found = box.locator("input, select").evaluate_all(
        "all => all.map((f) => [f.name, f.value, document.querySelector(`output[for=${f.id}]`)?.innerText ?? null])"
    )
    return {name: value if shown is None else read(shown) for name, value, shown in found}


def numbers(box) -> dict:
    texts = box.locator("[data-number]").evaluate_all("all => all.map((n) => [n.dataset.number, n.innerText])")
    return {key: read(text) for key, text in texts}


def read(text: str) -> float | str:
    """A number as the page writes it: 0.1234, −12, 10⁻⁴, 1.2 · 10⁻⁴, ∞; other texts stay texts."""
    match = re.fullmatch(r"(?:(−?[\d.]+)(?: · )?)??(?:10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text)
    if text in ("∞", "−∞") or match is None:
        return {"∞": np.inf, "−∞": -np.inf}.get(text, text)
    mantissa, power = ((part or "").translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")) for part in match.groups())
    return float(f"{mantissa or 1}e{power or 0}")


def check(box, on_page):
    """All numbers beside the curves are there; some are compared with Python's, to the four digits shown."""
    shown, exact = numbers(box), on_page(values(box)) if on_page else {}
    assert shown and not {"–", ""} & set(shown.values()), shown
    assert {key: shown[key] for key in exact} == pytest.approx(exact, rel=6e-4), values(box)


def curves(box) -> str:
    return box.locator("svg").evaluate_all("all => all.map((svg) => svg.innerHTML).join()")


@on_every_explorable
def test_sliders_move_the_curves_and_the_numbers_are_right(device, explorable):
    chapter, page, box = explorable
    on_page = offered(chapter, "on_page")  # by Python, which knows nothing of the page's JavaScript
    check(box, on_page)
    for slider in box.locator("input[type=range]").all():
        before, text = curves(box), slider.get_attribute("aria-valuetext")
        slider.scroll_into_view_if_needed()
        if device == "phone":
            place = slider.bounding_box()
            page.touchscreen.tap(place["x"] + 0.7 * place["width"], place["y"] + place["height"] / 2)
        else:
            slider.focus()
            for key in ("ArrowRight", "PageUp", "PageUp", "ArrowLeft"):
                page.keyboard.press(key)
        assert slider.get_attribute("aria-valuetext") != text and curves(box) != before, slider.get_attribute("name")
        check(box, on_page)
    for key in ("Home", "End"):  # the edges: one covariate, no noise; and everything at its largest
        for slider in box.locator("input[type=range]").all():
            slider.press(key)
        assert "NaN" not in curves(box)
        check(box, on_page)
    said = f"[data-explorable={box.get_attribute('data-explorable')}] [role=status]"
    page.wait_for_function("(said) => /\\d/.test(document.querySelector(said).innerText)", arg=said)  # announced
    assert page.wrong == []


@on_a_desktop
@on_every_explorable
def test_a_link_restores_the_state_and_reset_undoes_it(sheet, explorable):
    chapter, page, box = explorable
    start, first = values(box), numbers(box)
    name, slider = box.get_attribute("data-explorable"), box.locator("input[type=range]").last
    slider.press("PageUp" if slider.input_value() != slider.get_attribute("max") else "PageDown")
    for select in box.locator("select").all():
        select.select_option(index=select.locator("option").count() - 1)
    moved = values(box)
    assert moved != start
    link = addressed(page, *(f"{name}.{key}=" for key in moved if moved[key] != start[key]))
    copy, other = open_explorable(sheet, chapter, link), sheet
    assert values(copy) == moved and numbers(copy) == numbers(box)
    other.wait_for_function("scrollY > 0")  # the link leads to the explorable, not at once
    assert copy.is_visible()
    copy.get_by_role("button", name="Reset").click()
    other.wait_for_function("(name) => !location.hash.includes(name)", arg=name)
    assert values(copy) == start and numbers(copy) == first
    assert page.wrong == [] and other.wrong == []


def test_another_explorable_s_state_is_left_alone(sheet):
    page, box = sheet, open_explorable(sheet, "01_one_step_gd", "#other.k=3&one_step_gd.n=2&one_step_gd.d=%zz")
    assert values(box)["n"] == 2 and values(box)["d"] == 5, "a damaged part is passed over"
    box.locator("input[name=sigma2]").press("End")
    addressed(page, "one_step_gd.sigma2=20")
    assert {"other.k=3", "one_step_gd.n=2", "one_step_gd.sigma2=20"} == set(
        page.evaluate("location.hash.slice(1)").split("&")
    )
    page.evaluate("location.hash = '#one_step_gd.n=7'")
    page.wait_for_function("document.querySelector('[data-explorable] [name=n]').value !== '2'")
    assert values(box)["n"] == 7 and values(box)["sigma2"] == 0.25
    assert page.wrong == []


def test_the_link_is_copied_or_said_to_be_in_the_address(sheet):
    sheet.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, box = sheet, open_explorable(sheet, "04_mlp_benefit")
    box.locator("input[name=beta_norm]").press("End")
    box.locator("[data-copy]").click()
    page.wait_for_timeout(700)  # the numbers, a pause after the slider, do not take the words' place
    status = box.locator("[role=status]").inner_text()
    if status == "Link copied.":
        assert page.evaluate("navigator.clipboard.readText()").endswith("#mlp_benefit.beta_norm=100")
    else:
        assert status == "The link is in the address bar." and "beta_norm=100" in page.evaluate("location.hash")


# The size of every box of an explorable; with the page's file, of what stands in its place before a script runs.
_SIZES = """([name, file]) => {
  const box = document.querySelector(`[data-explorable=${name}]`);
  const measured = !file ? box : document.importNode(
    new DOMParser().parseFromString(file, "text/html").querySelector(`[data-explorable=${name}]`), true);
  if (file) box.replaceWith(measured);
  const sizes = [measured, ...measured.querySelectorAll("*")]
    .filter((e) => !e.closest("svg svg, g") && e.matches("div, svg, dl, input, select, label, dd"))
    .map((e) => [e.tagName, e.offsetHeight ?? e.clientHeight]);
  if (file) measured.replaceWith(box);
  return sizes;
}"""


@on_every_explorable
def test_nothing_jumps(explorable):
    """Every box of the explorable has the same size with and without the script, and while sliders move."""
    chapter, page, box = explorable
    name = box.get_attribute("data-explorable")
    without = page.evaluate(_SIZES, [name, (HTML / "notebooks" / f"{chapter}.html").read_text(encoding="utf-8")])
    assert len(without) > 10 and page.evaluate(_SIZES, [name, ""]) == without
    for key in ("Home", "End"):
        for slider in box.locator("input[type=range]").all():
            slider.press(key)
            assert page.evaluate(_SIZES, [name, ""]) == without, (key, slider.get_attribute("name"))


@on_every_explorable
def test_letters_are_readable_and_inside_their_panels(explorable):
    _, page, box = explorable
    letters = box.locator("svg text").evaluate_all(
        """all => all.map((text) => {
             const [t, s] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
             const across = t.left >= s.left - 1 && t.right <= s.right + 6;
             const inside = across && t.top >= s.top - 2 && t.bottom <= s.bottom + 2;
             return [text.textContent, t.height, inside]; })"""
    )
    assert len(letters) > 10
    for text, height, inside in letters:
        assert height >= 11 and inside, (text, height, inside)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (contrast(ground, "rgb(0, 0, 0)") > 10) == (theme == "light")
        fills = box.locator("svg text").evaluate_all("all => all.map((text) => getComputedStyle(text).fill)")
        assert min(contrast(ground, fill) for fill in fills) > 4.5
    for panel in box.locator("svg").all():
        boxes = [label.bounding_box() for label in panel.locator(".label").all()]
        for one, other in combinations(boxes, 2):
            apart = abs(one["y"] - other["y"]) > 9 or _overlap(one, other) < HALOS
            assert apart, f"labels on top of each other: {panel.locator('.label').all_text_contents()}"


HALOS = 4  # px: a letter's box counts the ground's stroke around it


def _overlap(one, other) -> float:
    """Shared width of two boxes, negative when they are apart."""
    return min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])


# Chapter, panel, which of its handles, where to (in the panel's units), and the control that follows.
DRAGGED = [
    ("01_one_step_gd", 0, 0, (120, 150), "step"),
    ("05_gd_beta_gradient_flow", 0, 0, (120, 60), "beta_norm start"),
    ("05_gd_beta_gradient_flow", 2, 0, (60, 90), "beta_norm"),
    ("05_gd_beta_gradient_flow", 3, 0, (260, 120), "n"),
    ("06_newton_transformers", 2, 0, (90, 100), "k"),
]


@on_a_desktop
@pytest.mark.parametrize("chapter, panel, handle, to, control", DRAGGED)
def test_a_point_of_the_picture_is_dragged(sheet, chapter, panel, handle, to, control):
    page, box = sheet, open_explorable(sheet, chapter)
    svg = box.locator(".panels svg").nth(panel)
    svg.scroll_into_view_if_needed()
    scale = svg.bounding_box()["width"] / 340
    centre = "dot => [Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]"
    stands = lambda: svg.locator(".grab").nth(handle).evaluate(centre)
    point = stands()
    place = lambda x, y: (svg.bounding_box()["x"] + scale * x, svg.bounding_box()["y"] + scale * y)
    follow = control.split()
    mine = lambda: {name: values(box)[name] for name in follow}
    others = lambda: {name: value for name, value in values(box).items() if name not in follow}
    before, apart = mine(), others()
    page.mouse.move(*place(*point))
    page.mouse.down()
    for share in (0.3, 0.6, 1):
        page.mouse.move(*place(*(a + share * (b - a) for a, b in zip(point, to, strict=True))))
    page.mouse.up()
    assert all(mine()[name] != before[name] for name in follow) and others() == apart
    moved = stands()
    off = sorted(abs(moved[axis] - to[axis]) for axis in (0, 1))
    assert off[len(follow) - 1] < 12, "the point has followed, as far as the slider's steps allow"
    after = values(box)
    page.mouse.move(*place(*point))
    assert values(box) == after, "let go"
    addressed(page, *(f".{name}=" for name in follow))
    assert page.wrong == []


@on_a_desktop
@on_every_explorable
def test_of_four_sliders_none_stands_alone_in_a_row(explorable):
    tops = explorable[2].locator(".controls > .control").evaluate_all("all => all.map((one) => one.offsetTop)")
    assert len(tops) != 4 or tops.count(max(tops)) > 1, tops


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_film_plays_forward_and_back_and_step_by_step(browser, motion):
    with alone(browser, "desktop") as page:  # its clock and its media are the test's own
        box = open_explorable(page, "06_newton_transformers", "#newton.k=10")
        page.emulate_media(reduced_motion=motion)
        at = lambda: values(box)["k"]
        box.get_by_role("button", name="One layer on").press("Enter")
        assert at() == 11
        for expected in (10, 9):
            box.get_by_role("button", name="One layer back").press("Enter")
            assert at() == expected
        play = box.locator("[data-play]")
        assert play.is_visible() == (motion == "no-preference")
        if play.is_visible():
            page.clock.install(time=0)
            page.clock.pause_at(60_000)  # else it goes on by itself, and on a busy machine a step too far
            play.press("Enter")
            assert play.inner_text() == "Pause"
            page.clock.run_for(2000)
            assert at() == 12 and play.inner_text() == "Play back the layers", "stopped at the end"
            play.click()
            page.clock.run_for(800)
            play.click()
            page.clock.run_for(2000)
            assert at() == 10 and play.inner_text() == "Play the layers", "stopped where it was told to"
        assert page.wrong == []


# Over a grid of the sliders: how many labels hide a curve (more than 3 units of it) or one another.
_LABELS = (Path(__file__).parent / "labels.js").read_text(encoding="utf-8")


@on_a_desktop
@on_every_explorable
def test_labels_keep_off_curves_and_off_each_other(explorable):
    found = explorable[1].evaluate(_LABELS)
    assert found["states"] >= 12 and found["labels"] >= found["states"]
    assert found["between"] == 0 and found["curves"] <= found["labels"] / 500, found["worst"]


def test_without_javascript_the_start_stands_there_and_the_answer_unfolds(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for chapter in CHAPTERS:
        page.goto((HTML / "notebooks" / f"{chapter}.html").as_uri())
        answer = page.locator(".icl-guess details")
        assert not page.locator(".icl-guess input").is_visible() and answer.locator("summary").is_visible()
        answer.locator("summary").click()
        assert measured_text(guessed(chapter)) in answer.inner_text()
        assert page.locator("math:visible").count() > 10
        if chapter not in WITH_EXPLORABLE:
            continue
        box = page.locator(f"{LIGHT}[data-explorable]")
        assert box.locator(".fallback").is_visible() and not box.locator(".controls").is_visible()
        for panel in box.locator(".panels svg").all():
            assert panel.is_visible() and panel.locator("path.line").count(), "the picture at the start stands"
        assert "–" not in box.locator("[data-number]").all_inner_texts()
        assert box.bounding_box()["height"] < 900
    context.close()
