"""The built book in headless Chromium, opened from the disk: desktop and phone, light and dark."""

import re
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import contrast, window

from icl.chapters import CHAPTERS, read_all
from icl.ledger import claims_of
from press.layout import HTML, ROOT, pages, run_folder
from press.pages import moved

pytestmark = [pytest.mark.book, pytest.mark.browser]

SETTINGS = {
    "desktop-light": dict(viewport={"width": 1280, "height": 900}, color_scheme="light"),
    "phone-dark": dict(viewport={"width": 360, "height": 740}, color_scheme="dark"),
}
# Adds up what moves without the reader's doing, and what moved most.
_WATCH_SHIFTS = """
  window.shifts = { sum: 0, worst: '' };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      window.shifts.sum += entry.value;
      const moved = entry.sources.map((source) => source.node && (source.node.className || source.node.nodeName));
      window.shifts.worst += ` ${entry.value.toFixed(4)}: ${moved.join(', ')};`;
    }
  }).observe({ type: 'layout-shift', buffered: true });
"""
# Of what a page has by the thousand, and all alike, the first of each kind stays; what is inside a figure or a drawn
# equation has no roles, and figures are checked as a whole. Nine in ten elements go, and minutes with them. All is
# looked at before anything goes: each look after a change would lay the whole page out anew.
_THIN_OUT = """() => {
  const seen = new Set();
  const first = (kind) => !seen.has(kind) && !!seen.add(kind);
  const code = "pre span[class]:not(.icl-line), dt.sig > :not(a), dt.sig > :not(a) *, .icl-together";
  const alike = [...document.querySelectorAll(code)].filter((token) => {
    const block = token.closest("pre, dt, p, li, dd, summary, figcaption, td, div");
    const kind = token.className + getComputedStyle(block).color + getComputedStyle(block).backgroundColor;
    const judged = token.innerText.trim().length > 1; // of a hidden token, or of a single letter, axe says nothing
    return !judged || !token.checkVisibility({ checkVisibilityCSS: true }) || !first(kind);
  });
  const widest = new Set(); // line of its block, by which that scrolls
  for (const block of document.querySelectorAll("pre:has(.icl-line)")) {
    const lines = [...block.querySelectorAll(".icl-line")];
    widest.add(lines.reduce((a, b) => (b.textContent.length > a.textContent.length ? b : a)));
  }
  const many = "pre .icl-line, .icl-card, .icl-claims details, tbody tr, article dl.py, nav li li, svg circle";
  const plain = "article li, article p:not(.icl-links), article div.cell"; // links let a figure scroll
  const rows = [...document.querySelectorAll(`${many}, ${plain}`)].filter((row) => {
    const parts = [...row.querySelectorAll("*")].filter((e) => !e.closest("mjx-container, svg, pre"));
    const kinds = new Set([row, ...parts].map((e) => e.tagName + e.className + (e.getAttribute("role") ?? "")));
    const { color, backgroundColor } = getComputedStyle(row);
    const kind = color + backgroundColor + [...kinds].sort().join();
    return (row.matches(many) || !row.querySelector("[id]")) && !widest.has(row) && !first(kind);
  });
  const formulas = [...document.querySelectorAll("mjx-container")].filter(
    (e) => !first(e.getAttribute("tabindex") + e.getAttribute("display") + getComputedStyle(e).color)
  );
  const drawn = document.querySelectorAll("svg.icl-figure > g, mjx-container > svg > *");
  for (const token of alike) token.replaceWith(...token.childNodes);
  for (const formula of formulas) (formula.closest("span.math, div.math") ?? formula).replaceWith("formula");
  for (const gone of [...rows, ...drawn]) gone.remove();
}"""
# Of every frame that is seen: who its drawings are, how high their letters are, how far they go beyond their room.
_DRAWINGS = """() => {
  const visible = (e) => e.checkVisibility({ checkVisibilityCSS: true });
  const shown = (root, kind) => [...root.querySelectorAll(kind)].filter(visible);
  return shown(document, ".icl-frame:has(svg.icl-figure)").map((frame) => {
    const seen = shown(frame, "svg.icl-figure");
    const words = seen.flatMap((svg) => [...svg.querySelectorAll("g[transform*=scale]:not(g[transform*=scale] *)")]);
    const letters = words.map((word) => word.getScreenCTM()).map((m) => 100 * Math.hypot(m.a, m.b)); // 100 units high
    const widths = seen.map((svg) => svg.getBoundingClientRect().width - frame.clientWidth);
    return { told: seen.map((svg) => svg.getAttribute("aria-label")), letter: Math.min(...letters),
             words: words.length, beyond: Math.max(frame.scrollWidth - frame.clientWidth, ...widths) };
  });
}"""
_WIDE_TABLES = """(most) => [...document.querySelectorAll("article table")].filter((table) =>
  !table.querySelector(`tr > :nth-child(${most + 1})`) && table.offsetWidth > table.parentElement.clientWidth + 1
).map((table) => table.textContent.trim().slice(0, 40))"""
# Code and what it printed whose lines have at most 80 letters and scroll all the same, folded code too.
_CUT_LINES = """() => {
  const folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
  const cut = [...document.querySelectorAll("article pre")].filter((pre) =>
    pre.scrollWidth > pre.clientWidth + 1 && pre.textContent.split("\\n").every((line) => line.length <= 80)
  ).map((pre) => pre.textContent.slice(0, 40));
  for (const one of folded) one.open = false;
  return cut;
}"""
_STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
_AXE = {"resultTypes": ["violations"], "runOnly": _STANDARDS, "preload": False}  # no fetching from a disk
# All rules; but of words that have the same size and weight, colour and ground, the contrast of the first is told once:
# axe looks for each word's ground among all that lies there, and takes as long for it as for all other rules.
_RUN_AXE = """(options) => {
  const seen = new Set();
  const ground = (e) => {
    const under = [];
    for (let solid = false; e; e = e.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
      if (!solid) under.push(backgroundColor, backgroundImage);
      under.push(opacity);
      solid ||= backgroundColor.startsWith("rgb(");
    }
    return under.join();
  };
  for (const e of document.querySelectorAll("body *")) {
    e.classList.remove("of-its-kind");
    if (![...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    const judged = e.textContent.trim().length > 1 && e.checkVisibility({ checkVisibilityCSS: true });
    const kind = [color, fontSize, fontWeight, textShadow, ground(e)].join();
    if (judged && !seen.has(kind)) e.classList.add("of-its-kind");
    if (judged) seen.add(kind);
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: ".of-its-kind" }] });
  return axe.run(document, options).then((found) => found.violations);
}"""


@pytest.fixture(scope="module", params=SETTINGS)
def setting(request):
    return SETTINGS[request.param]


@contextmanager
def watched(browser, setting):
    """A page that keeps what went wrong, requests that leave the disk too, and adds up what moves by itself."""
    with window(browser, **setting) as page:
        page.add_init_script(_WATCH_SHIFTS)
        yield page


@pytest.fixture(scope="module")
def one_page(browser, setting):
    with watched(browser, setting) as page:
        yield page


@pytest.fixture
def page(one_page):
    """The page of all tests, for a new one takes as long to begin as to load; nothing of the last test is on it."""
    one_page.goto("about:blank")
    one_page.wrong.clear()
    return one_page


@pytest.fixture(scope="module")
def first_chapter(browser, setting):
    """Chapter 1, opened once for the tests that look at it."""
    with watched(browser, setting) as page:
        open_page(page, "notebooks/01_one_step_gd")
        yield page


def open_page(page, name):
    name, _, fragment = name.partition("#")
    page.goto((HTML / f"{name}.html").as_uri() + (f"#{fragment}" if fragment else ""))
    page.wait_for_function("document.documentElement.classList.contains('icl-settled')")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")


def test_a_first_visit_has_its_colours_before_anything_is_drawn(browser, setting):
    note = "() => { window.theme ??= document.body && document.documentElement.dataset.theme; }"
    with watched(browser, setting) as page:  # the page of all tests remembers its theme from the one before
        page.add_init_script(f"new MutationObserver({note}).observe(document, {{ childList: true, subtree: true }})")
        open_page(page, "notebooks/12_your_own_model")
        assert page.evaluate("window.theme") == setting["color_scheme"]
        assert page.evaluate("window.shifts.sum") <= 0.05


@pytest.fixture(scope="module")
def turned_page(browser):
    """A phone in the dark at first, then a desktop in the light: the same page, loaded once."""
    with watched(browser, SETTINGS["phone-dark"]) as page:
        yield page


@pytest.mark.parametrize("name", pages())
def test_page_is_whole(turned_page, name):
    page = turned_page
    page.goto("about:blank")
    page.set_viewport_size(SETTINGS["phone-dark"]["viewport"])
    page.emulate_media(color_scheme="dark")
    page.wrong.clear()
    open_page(page, name)
    assert page.wrong == [], "the console complained, or a request left the disk"
    raw = page.locator("span.math, div.math")
    rendered = page.locator("mjx-container")
    assert rendered.count() >= raw.count() > 0 or raw.count() == 0, "an equation was not rendered"
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0, "an equation has an error"
    shifts = page.evaluate("window.shifts")
    assert shifts["sum"] <= 0.05, f"the page jumps while it loads:{shifts['worst']}"
    assert page.locator("article img:not([alt])").count() == 0
    fits(page)
    is_read_without_swiping(page, name)
    turn(page, "desktop-light")
    fits(page)
    assert page.evaluate(_WIDE_TABLES, 20) == [], "a table goes on beyond the edge"
    assert page.evaluate(_CUT_LINES) == [], "code of 80 columns goes on beyond the edge"
    page.evaluate(_THIN_OUT)
    page.evaluate(Axe().axe_script)
    breaks_no_rule(page)
    turn(page, "phone-dark")
    breaks_no_rule(page)


def turn(page, name):
    """The page that is open, on another device and ground, once no colour is on its way any more."""
    page.set_viewport_size(SETTINGS[name]["viewport"])
    page.emulate_media(color_scheme=SETTINGS[name]["color_scheme"])
    page.wait_for_function(f"document.documentElement.dataset.theme === '{SETTINGS[name]['color_scheme']}'")
    page.evaluate("document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish())")
    page.wait_for_timeout(350)  # the theme looks a moment later what scrolls now, and makes it a stop of the keyboard


def fits(page):
    """Nothing goes beyond the window, and every figure that is seen has words."""
    width = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width[0] <= width[1] + 1, f"the page is {width[0]} px wide in a window of {width[1]} px"
    for label in page.locator("article svg:visible").evaluate_all(
        "all => all.filter((svg) => !svg.closest('mjx-container, [aria-hidden=true], button, summary')"
        " && !svg.parentElement.closest('svg')).map((svg) => svg.getAttribute('aria-label'))"
    ):
        assert label, "a figure has no alternative text"


def is_read_without_swiping(page, name):
    """A figure is drawn twice, for a wide and a narrow column; one is seen, its letters 9 px high or more."""
    page.set_viewport_size({"width": 390, "height": 844})
    names = page.locator(".icl-strip summary code").evaluate_all("all => all.map((id) => id.offsetHeight)")
    assert max(names, default=0) < 60, "a claim's id has room for words beside its verdict"
    assert page.evaluate(_WIDE_TABLES, 3) == [], "a table of three columns goes on beyond the edge"
    frames = page.evaluate(_DRAWINGS)
    for frame in frames:
        assert len(frame["told"]) == 1 and frame["words"], frame
        assert frame["letter"] >= 9 and frame["beyond"] <= 0.5, frame
    assert len(frames) == page.locator(".icl-frame:has(svg.icl-figure)").count(), "a figure is not seen"
    if name.startswith("notebooks"):
        assert len(frames) == (ROOT / f"{name}.py").read_text(encoding="utf-8").count("{glue:figure}") > 0


def breaks_no_rule(page):
    """None of the accessibility rules that matter."""
    found = page.evaluate(_RUN_AXE, _AXE)
    grave = [
        f"{rule['impact']}: {rule['id']}, {len(rule['nodes'])} times, as in {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert grave == []


def test_the_text_is_read_before_its_formulas_are_set_and_stays_where_it_is(page):
    """With MathJax kept back: the formulas are MathML; when it comes, what the reader looks at does not move."""
    kept = []
    page.route("**/tex-svg-full.js*", lambda route: kept.append(route))
    page.goto((HTML / "notebooks/01_one_step_gd.html").as_uri(), wait_until="commit")
    page.locator("footer").first.wait_for()
    assert page.locator("article p math:visible").count() > 50 and page.locator("h1").last.is_visible()
    assert page.locator(".icl-tex").evaluate_all("all => all.every((tex) => !tex.checkVisibility())")
    caption = page.locator("figcaption").nth(3)
    caption.evaluate(
        "one => scrollBy({ top: one.getBoundingClientRect().top - innerHeight / 3 + 20, behavior: 'instant' })"
    )
    before = caption.bounding_box()["y"]
    kept[0].continue_()
    page.wait_for_function("document.documentElement.classList.contains('icl-settled')")
    assert abs(caption.bounding_box()["y"] - before) < 3
    assert page.locator(".icl-plain").count() == 0 and page.locator("article p mjx-container:visible").count() > 50
    page.unroute("**/tex-svg-full.js*")


def test_figures_are_seen_on_both_grounds(first_chapter):
    ground, ink, box = first_chapter.evaluate(
        """() => { const svg = [...document.querySelectorAll('svg.icl-figure')].find((one) => one.checkVisibility());
                   return [getComputedStyle(document.body).backgroundColor, getComputedStyle(svg).color,
                           svg.getBoundingClientRect().width]; }"""
    )
    assert contrast(ground, ink) > 7 and box > 300


def test_claims_table_is_readable(first_chapter):
    colours = first_chapter.evaluate(
        """() => { const seen = (e) => { for (; e; e = e.parentElement) {
                     const c = getComputedStyle(e).backgroundColor;
                     if (!/, 0\\)$|transparent/.test(c)) return c; } };
                   return [...document.querySelectorAll('.icl-claims summary :not(svg *), .icl-legend')].map(
                     (e) => [getComputedStyle(e).color, seen(e)]); }"""
    )
    assert min(contrast(ink, ground) for ink, ground in colours) > 4.5, "WCAG AA asks for 4.5"


def test_search_finds_a_word_of_the_chapter(page):
    page.goto((HTML / "search.html").as_uri() + "?q=preconditioner")
    page.wait_for_selector("#search-results li a", timeout=15_000)
    links = page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
    assert any("notebooks/" in link or "book/" in link for link in links) and page.wrong == []
    page.wait_for_selector("#search-results li li .context mark")
    section = page.locator("#search-results li li:has(mark) a").first
    assert "#" in section.get_attribute("href") and page.wrong == []
    assert "precondition" in page.locator("#search-results li li .context mark").first.inner_text().lower()
    section.click()
    page.wait_for_function("document.getElementById(decodeURIComponent(location.hash.slice(1)))")


def test_claims_are_filtered_and_the_address_keeps_it(page):
    claims = [claim for ledger in read_all(run_folder("quick")) for claim in claims_of(ledger)]
    open_page(page, "book/claims")
    shown = lambda: page.locator(".icl-card:visible").count()
    assert shown() == len(claims) == len({claim.id for claim in claims})
    for verdict in ("not run at this profile", "undecided", "fails"):
        page.get_by_label("Verdict").select_option(verdict)
        expected = sum(claim.verdict == verdict for claim in claims)
        assert shown() == expected
        said = f"{expected} of {len(claims)}" if expected else "No claim matches"
        assert said in page.locator(".icl-filter output").inner_text()
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function(f"document.querySelectorAll('.icl-card:not([hidden])').length === {len(claims)}")
    page.get_by_label("Chapter").select_option(list(CHAPTERS)[0])
    page.get_by_label("Words").press_sequentially("lsa risk".split()[1])
    expected = [c.id for c in claims_of(read_all(run_folder("quick"))[0]) if "risk" in (c.id + c.statement).lower()]
    assert page.locator(".icl-card:visible h3 code").all_inner_texts() == expected
    assert page.locator("section:visible > .icl-cards").count() == 1, "a chapter without matches keeps its heading"
    address = page.url
    assert re.search(r"chapter=\w+&q=risk", address)
    page.goto("about:blank")
    page.goto(address)
    assert page.locator(".icl-card:visible h3 code").all_inner_texts() == expected
    hidden = next(claim.id for claim in claims if claim.id not in expected)
    page.evaluate(f"location.hash = 'claim-{hidden}'")
    page.wait_for_function(f"!document.getElementById('claim-{hidden}').hidden")


def test_claims_without_scripts(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((HTML / "book" / "claims.html").as_uri())
    assert page.locator(".icl-card").count() == page.locator(".icl-card:visible").count() > 100
    assert not page.locator(".icl-filter").is_visible()
    context.close()


def test_a_card_leads_to_its_cell(page):
    open_page(page, "notebooks/01_one_step_gd#cell-thm1.landscape_d2")
    top = page.evaluate("document.getElementById('cell-thm1.landscape_d2').getBoundingClientRect().top")
    assert -5 < top < page.viewport_size["height"] / 2, "the equations' sizes moved the cell away"


def test_the_picture_of_all_claims_answers(page):
    """To the pointer, to arrow keys and to Enter, with the claim's numbers and the way to its card."""
    open_page(page, "book/introduction")
    marks, line = page.locator(".icl-all-claims svg:visible a"), page.locator(".icl-all-claims > p")
    names = marks.evaluate_all("all => all.map((mark) => mark.getAttribute('aria-label'))")
    claims = {c.id for ledger in read_all(run_folder("quick")) for c in claims_of(ledger)}
    assert len(names) > 100 and {name.split(":")[0] for name in names} <= claims
    assert page.locator(".icl-all-claims svg:visible a[tabindex='0']").count() == 1, "one stop of the keyboard"
    page.locator(".icl-all-claims svg:visible a[tabindex='0']").focus()
    seen = set()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert line.inner_text() == focused
        seen.add(focused)
    assert len(seen) >= 4
    page.keyboard.press("ArrowLeft")
    target = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{target}")
    assert page.locator(f"[id='{target.partition('#')[2]}']").is_visible() and page.wrong == []


def test_an_old_address_goes_on_to_the_new_page(page):
    open_page(page, f"notebooks/{moved.OLD}#fig-lstm")
    page.wait_for_url(f"**/{moved.NEW}.html#fig-lstm")
    assert page.locator("#fig-lstm svg:visible").count() == 1


def test_the_map_is_for_keyboard_and_phone(page):
    open_page(page, "book/map")
    page.evaluate("document.querySelector('.icl-map').closest('section').querySelector('a').focus()")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        link = page.evaluate("(document.activeElement.closest('.icl-map a') || {}).ariaLabel")
        seen += [link] if link else []
    assert [int(re.search(r"\d+", link).group()) for link in seen[: len(CHAPTERS)]] == [int(c[:2]) for c in CHAPTERS]
    page.locator(".icl-map a").first.focus()
    sizes = page.locator(".icl-map text").evaluate_all("all => all.map((text) => text.getBoundingClientRect().height)")
    assert min(sizes) >= 11 and len(sizes) >= 3 * len(CHAPTERS)
    overflow = """link => { const box = link.querySelector("rect").getBBox();
        return Math.max(...[...link.querySelectorAll("text")].map((text) => text.getBBox().width - box.width)); }"""
    room = [link.evaluate(overflow) for link in page.locator(".icl-map a").all()]
    assert max(room) < -6, "words within their box"
    ink = page.locator(".icl-map a text").first.evaluate("text => getComputedStyle(text).fill")
    ground = page.evaluate("getComputedStyle(document.querySelector('.icl-map rect')).fill")
    assert contrast(ground, ink) > 7
    page.locator(".icl-map a").last.press("Enter")
    page.wait_for_url("**/notebooks/*.html")


def test_the_keyboard_stops_at_what_can_be_used(first_chapter):
    """Not at formulas, unless they scroll; what folds is called by what it shows; the sliders are three keys away."""
    page = first_chapter
    page.wait_for_selector("#pst-skip-link a + a", state="attached")
    stops = page.locator("mjx-container[tabindex]")
    assert stops.count() < 0.1 * page.locator("mjx-container").count()
    scrolls = stops.evaluate_all("all => all.map((e) => e.scrollWidth > e.clientWidth)")
    assert all(scrolls)
    names = page.locator("summary, .toggle-button").evaluate_all("all => all.map((e) => e.ariaLabel || e.innerText)")
    assert "Solution of Exercise 1.1" in names and not any("hidden content" in name for name in names)
    page.evaluate("document.getElementById('pst-skip-link').querySelector('a').focus()")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.matches('.icl-explorable :is(input, select)')")


def test_the_proof_unfolds(first_chapter):
    proof = first_chapter.locator(".admonition.dropdown").first
    before = proof.bounding_box()["height"]
    proof.locator("button.toggle-button").click()
    first_chapter.wait_for_timeout(400)
    assert proof.bounding_box()["height"] > before + 100
