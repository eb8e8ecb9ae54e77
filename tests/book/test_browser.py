"""The built book in headless Chromium, opened from the disk: desktop and phone, light and dark."""

import pytest

from icl.workflow.layout import HTML
from icl.workflow.stage import pages

pytestmark = [pytest.mark.book, pytest.mark.browser]

SETTINGS = {
    "desktop-light": dict(viewport={"width": 1280, "height": 900}, color_scheme="light"),
    "phone-dark": dict(viewport={"width": 360, "height": 740}, color_scheme="dark"),
}
# The theme preloads its icon font in a way that browsers refuse for files, then loads it by its style sheet; and it
# declares one variable twice. Neither is ours, and nothing is missing from the page.
_THEME = ("webfonts/fa-", "THEBE_JS_URL")


@pytest.fixture(params=SETTINGS)
def page(browser, request):
    """A page that records console errors, uncaught exceptions and requests that leave the disk."""
    context = browser.new_context(**SETTINGS[request.param])
    page = context.new_page()
    page.complaints, page.outside = [], []

    def console(message):
        words = f"{message.text} {message.location.get('url', '')}"
        if message.type in ("error", "warning") and not any(known in words for known in _THEME):
            page.complaints.append(words)

    page.on("console", console)
    page.on("pageerror", lambda error: page.complaints.append(str(error)) if "THEBE_JS_URL" not in str(error) else None)
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else page.outside.append(r.url))
    page.phone = request.param.startswith("phone")
    yield page
    context.close()


def open_page(page, name):
    page.goto((HTML / f"{name}.html").as_uri())
    page.wait_for_load_state("networkidle")
    page.wait_for_function("!window.MathJax || !window.MathJax.startup || window.MathJax.startup.promise !== undefined")
    page.evaluate("window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => true) : true")


@pytest.mark.parametrize("name", pages())
def test_page_is_whole(page, name):
    open_page(page, name)
    assert page.outside == [], "a request left the page"
    assert page.complaints == [], "the console complained"
    raw = page.locator("span.math, div.math")
    rendered = page.locator("mjx-container")
    assert rendered.count() >= raw.count() > 0 or raw.count() == 0, "an equation was not rendered"
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0, "an equation has an error"
    width = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width[0] <= width[1] + 1, f"the page is {width[0]} px wide in a window of {width[1]} px"


def test_figures_are_seen_on_both_grounds(page):
    open_page(page, "notebooks/01_one_step_gd")
    ground, ink, box = page.evaluate(
        """() => { const svg = document.querySelector('svg.icl-figure');
                   return [getComputedStyle(document.body).backgroundColor, getComputedStyle(svg).color,
                           svg.getBoundingClientRect().width]; }"""
    )
    assert contrast(ground, ink) > 7 and box > 300


def test_claims_table_is_readable(page):
    open_page(page, "notebooks/01_one_step_gd")
    colours = page.evaluate(
        """() => { const seen = (e) => { for (; e; e = e.parentElement) {
                     const c = getComputedStyle(e).backgroundColor;
                     if (!/, 0\\)$|transparent/.test(c)) return c; } };
                   return [...document.querySelectorAll('.icl-claims td, .icl-claims td *')].map(
                     (e) => [getComputedStyle(e).color, seen(e)]); }"""
    )
    assert min(contrast(ink, ground) for ink, ground in colours) > 4.5, "WCAG AA asks for 4.5"


def test_search_finds_a_word_of_the_chapter(page):
    page.goto((HTML / "search.html").as_uri() + "?q=preconditioner")
    page.wait_for_selector("#search-results li a", timeout=15_000)
    links = page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
    assert any("notebooks/" in link or "book/" in link for link in links) and page.outside == []


def test_the_proof_unfolds(page):
    open_page(page, "notebooks/01_one_step_gd")
    proof = page.locator(".admonition.dropdown").first
    before = proof.bounding_box()["height"]
    proof.locator("button.toggle-button").click()
    page.wait_for_timeout(400)
    assert proof.bounding_box()["height"] > before + 200


def contrast(first: str, second: str) -> float:
    """The WCAG contrast ratio of two CSS rgb colours."""

    def luminance(colour):
        channels = [float(part) / 255 for part in colour[colour.index("(") + 1 :].rstrip(")").split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)
