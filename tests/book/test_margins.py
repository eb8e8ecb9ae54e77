"""What a wide window and a phone do with side notes, printed lines and names: nothing covers, nothing is cut."""

import pytest
from browser import alone, window

from press.layout import HTML

pytestmark = pytest.mark.book

_NOTES = """() => [...document.querySelectorAll("section > p > .icl-aside")].map((note) => {
  const box = note.getBoundingClientRect(), text = document.createRange();
  const words = [...document.querySelectorAll("article :is(p, pre, figure, table, .cell, .admonition, .icl-strip)")]
    .filter((other) => !other.contains(note) && other.checkVisibility()).map((other) => other.getBoundingClientRect());
  text.setStart(note.parentElement, 0); text.setEndBefore(note);
  const before = Math.max(...[...text.getClientRects()].map((line) => line.right), 0);
  return { said: note.textContent.slice(0, 40), left: box.left, right: box.right, before, wide: innerWidth,
           bracket: getComputedStyle(note, "::before").content, covered: words.filter((w) => w.left < box.right &&
           w.right > box.left && w.top < box.bottom - 1 && w.bottom > box.top + 1).length };
})"""


def notes(browser, width, name):
    with window(browser, viewport={"width": width, "height": 900}) as page:
        page.goto((HTML / f"notebooks/{name}.html").as_uri())
        page.wait_for_function("document.documentElement.classList.contains('icl-settled')")
        found = page.evaluate(_NOTES)
    assert found
    return found


@pytest.mark.parametrize("width", [1440, 1920])
@pytest.mark.parametrize("name", ["01_one_step_gd", "08_how_the_step_is_learned"])
def test_a_side_note_stands_beside_its_paragraph_and_covers_nothing(browser, width, name):
    for note in notes(browser, width, name):
        assert note["left"] > note["before"] and note["right"] < note["wide"] and note["covered"] == 0, note
        assert note["bracket"] == "none", note


def test_in_a_narrow_window_it_is_a_sentence_in_brackets(browser):
    assert {note["bracket"] for note in notes(browser, 820, "01_one_step_gd")} == {'"("'}


def test_on_a_phone_no_printed_line_is_cut_and_no_name_is_broken_inside_a_word(browser):
    with alone(browser, "phone") as page:
        page.set_viewport_size({"width": 390, "height": 844})
        nothing_is_cut(page)
        no_name_is_broken(page)


def test_on_a_phone_code_goes_on_in_the_next_line_and_is_copied_as_it_was(browser):
    with alone(browser, "phone") as page:
        page.goto((HTML / "notebooks/01_one_step_gd.html").as_uri())
        code = page.locator(".cell_input pre, .solution pre")
        assert max(code.evaluate_all("all => all.map((pre) => pre.scrollWidth - pre.clientWidth)")) <= 1
        text = code.all_text_contents()
    with alone(browser, "desktop") as page:
        page.goto((HTML / "notebooks/01_one_step_gd.html").as_uri())
        assert page.locator(".cell_input pre, .solution pre").all_text_contents() == text and len(text) > 20


def test_on_a_phone_an_equation_is_set_smaller_or_in_two_lines_before_it_scrolls(browser):
    with window(browser, viewport={"width": 390, "height": 844}) as page:
        page.goto((HTML / "notebooks/03_nonlinear_targets.html").as_uri())
        page.wait_for_function("document.documentElement.classList.contains('icl-settled')")
        beyond, letters = page.evaluate(
            """() => { const all = [...document.querySelectorAll("article mjx-container[display=true]")];
                 return [all.filter((one) => one.scrollWidth > one.clientWidth).length,
                         Math.min(...all.map((one) => parseFloat(getComputedStyle(one).fontSize)))]; }"""
        )
    assert beyond == 0 and letters >= 12


def nothing_is_cut(page):
    page.goto((HTML / "notebooks/07_trained_transformers.html").as_uri())
    cut = "all => all.filter((pre) => pre.scrollWidth > pre.clientWidth + 1).map((pre) => pre.textContent.slice(0, 30))"
    (columns,) = page.locator(".cell_output pre").evaluate_all(cut)
    assert columns.split() == ["layer", *"01"], "only what is printed in columns scrolls"


def no_name_is_broken(page):
    page.goto((HTML / "book/package.html").as_uri())
    breaks = """all => all.flatMap((code) => {
      const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), one = document.createRange(), torn = [];
      for (let text; (text = walk.nextNode());) for (let i = 1; i < text.length; i++) {
        if (!/[a-z]{2}/i.test(text.data.slice(i - 1, i + 1))) continue;
        const top = (k) => { one.setStart(text, k); one.setEnd(text, k + 1); return one.getBoundingClientRect().top; };
        if (top(i) > top(i - 1) + 4) torn.push(code.textContent);
      }
      return torn; })"""
    assert page.locator("article :not(pre) > code").evaluate_all(breaks) == []


def test_a_comparison_is_whole_on_a_tablet(browser):  # as on a desktop, see test_browser
    with alone(browser, "desktop") as page:
        page.set_viewport_size({"width": 820, "height": 1000})
        page.goto((HTML / "notebooks" / "12_your_own_model.html").as_uri())
        boxes = page.locator(".icl-compare").evaluate_all(
            "all => all.map((table) => [table.parentElement.scrollWidth, table.parentElement.clientWidth])"
        )
    assert len(boxes) >= 3 and all(width <= room for width, room in boxes), boxes


# The numbers of tables that go on in a second line.
_BROKEN = """() => [...document.querySelectorAll("article td.text-right")].filter((cell) => {
  const range = document.createRange(), texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && !texts.currentNode.data.trim());
  range.selectNode(texts.currentNode);
  return /^[\\d,.]+$/.test(cell.innerText.trim()) && range.getClientRects().length > 1;
}).map((cell) => cell.innerText)"""


@pytest.mark.parametrize("width", [390, 820])
def test_no_number_of_a_table_is_broken(browser, width):
    with alone(browser, "desktop") as page:
        page.set_viewport_size({"width": width, "height": 1000})
        page.goto((HTML / "book" / "atlas.html").as_uri())
        assert page.locator("article td.text-right").count() > 50 and page.evaluate(_BROKEN) == []
