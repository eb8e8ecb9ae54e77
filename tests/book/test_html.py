"""The built pages as files: complete, linked, numbered, every number from the run."""

import json
import re
from urllib.parse import urlparse

import nbformat
import pytest
from bs4 import BeautifulSoup
from site_links import dead_links

from icl import cite
from icl.chapters import CHAPTERS, catalogue, read_all, read_ledger
from icl.claims import NOT_RUN, measured_text, predicted_text
from icl.ledger import claims_of
from icl.ledger import summary as ledgers_summary
from press.finished import read_chapter
from press.layout import BASELINES, HTML, NOTEBOOKS, repository, run_folder
from press.pages import moved
from press.pages.strips import said

pytestmark = pytest.mark.book
RUN = run_folder("quick")


def test_index_leads_to_the_introduction():
    assert "book/introduction.html" in (HTML / "index.html").read_text()


def test_internal_links_and_anchors_resolve(soups):
    """On every page, those that Sphinx adds (search, index) too."""
    parsed = lambda path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    files = [path for path in HTML.rglob("*.html") if "_static" not in path.parts]
    names = {str(path.relative_to(HTML).with_suffix("")): path for path in files}
    assert set(names) > set(soups)
    assert dead_links(HTML, {name: soups.get(name) or parsed(path) for name, path in names.items()}) == []


def test_old_addresses_lead_to_what_they_named(soups):
    """Every id that left chapter 6's page is there still, empty, and names an element of chapter 7's."""
    old, new = soups[f"notebooks/{moved.OLD}"], soups[f"notebooks/{moved.NEW}"]
    left, there = old.find_all(id=set(moved.ANCHORS).__contains__), {tag["id"] for tag in new.find_all(id=True)}
    assert sorted(span["id"] for span in left) == sorted(moved.ANCHORS)
    for span in left:
        target = moved.ANCHORS[span["id"]]
        assert span["data-moved"] == f"{moved.NEW}.html#{target}" and target in there, span["id"]
    section = old.find(id=next(iter(moved.ANCHORS))).find_next("section")
    assert section.find("a", href=f"{moved.NEW}.html"), "without a script, the link is beside the anchors"
    for name in moved.FIGURES:
        for suffix in ("csv", "svg"):
            places = [HTML / "data" / folder / f"{name}.{suffix}" for folder in (moved.OLD, moved.NEW)]
            assert places[0].read_bytes() == places[1].read_bytes()


def test_nothing_is_loaded_from_elsewhere(soups):
    for page, soup in soups.items():
        for tag in soup.select(
            "script[src], link[rel=stylesheet], link[rel=preload], img[src], iframe[src], source[src]"
        ):
            address = tag.get("src") or tag.get("href")
            assert not urlparse(address).netloc, f"{page} loads {address}"


def test_no_source_leaks_into_the_text(soups):
    for page, soup in soups.items():
        text = soup.select_one("article").get_text()
        leak = re.search(r"\{(glue|prf|doc|cite|eq|numref)\b|```|\bnan\b|\?\?", text)
        assert leak is None, f"{page} shows {leak.group()!r}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_is_numbered_and_cross_referenced(soups, chapter):
    soup, source = soups[f"notebooks/{chapter}"], (NOTEBOOKS / f"{chapter}.py").read_text(encoding="utf-8")
    titles = [tag.get_text() for tag in soup.select(".proof .admonition-title")]
    assert sum(bool(re.match(r"Theorem \d", title)) for title in titles) == source.count("{prf:theorem}")
    equations = [tag.get_text().rstrip("#") for tag in soup.select(".math .eqno")]
    assert len(equations) >= len(re.findall(r"```\{math\}\n# :label:", source))
    number = CHAPTERS[chapter].number
    figures = [tag.get_text().strip() for tag in soup.select("figcaption .caption-number")]
    assert figures == [f"Figure {number}.{k}" for k in range(1, len(figures) + 1)]
    numbers = [title for title in titles if re.match(r"Theorem|Lemma", title)] + equations
    assert all(re.match(rf"(Theorem |Lemma |\(){number}\.\d+", found) for found in numbers), numbers
    assert soup.select_one("article h1").get_text().startswith(f"{number}. ")
    assert soup.select_one("nav.bd-links .current > a.current").get_text(strip=True).startswith(f"{number}. ")
    assert soup.select("a.citation, .reference.internal[href*=references]"), "no citation"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_figures_are_vector_have_words_and_data(soups, chapter):
    figures = read_ledger(RUN, chapter)["figures"]
    shown = soups[f"notebooks/{chapter}"].select("figure svg.icl-figure:not(.icl-narrow)")
    assert len(shown) == len(figures) > 0, "every figure of the ledger is on the page, once"
    for svg in shown:
        assert svg["role"] == "img" and len(svg["aria-label"]) > 40
        assert len(svg.find_parent("figure").select_one("figcaption").get_text()) > 60
    for name in figures:
        for suffix in ("csv", "svg"):
            assert (HTML / "data" / chapter / f"{name}.{suffix}").read_bytes() == (
                RUN / chapter / f"{name}.{suffix}"
            ).read_bytes()


def plain(statement):
    return BeautifulSoup(said(statement), "html.parser").get_text()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_claim_has_a_card_that_leads_to_its_cell_and_back(soups, chapter):
    page, backs = soups[f"notebooks/{chapter}"], {}
    cards, places = ({tag["id"]: tag for tag in soup.find_all(id=True)} for soup in (soups["book/claims"], page))
    for code in page.select(".icl-claims a[href] code"):
        backs.setdefault(code.find_parent("a")["href"], code.get_text())
    for claim in claims_of(read_ledger(RUN, chapter)):
        card = cards[f"claim-{claim.id}"]
        facts = card.get_text()
        assert plain(claim.statement) in facts and claim.source in facts and claim.verdict in facts, claim.id
        if claim.verdict != NOT_RUN:
            assert measured_text(claim) in facts and predicted_text(claim) in facts, claim.id
        cell = f"cell-{claim.id}"
        assert card.find("a", href=f"../notebooks/{chapter}.html#{cell}"), claim.id
        assert places[cell].find_next(class_="cell") is not None, f"no cell follows the anchor of {claim.id}"
        assert backs.get(f"../book/claims.html#claim-{claim.id}") == claim.id


def test_the_cell_that_decides_a_claim_names_it(soups):
    """By hand, for claims whose id is written in the cell."""
    for chapter, id in (("01_one_step_gd", "thm1.risk"), ("05_gd_beta_gradient_flow", "thm52.minimal_risk")):
        cell = soups[f"notebooks/{chapter}"].find(id=f"cell-{id}").find_next(class_="cell")
        assert f'"{id}"' in cell.select_one(".cell_input").get_text()


def test_the_front_page_has_every_theorem_and_chapter(soups):
    front, ledgers = soups["book/introduction"], read_all(RUN)
    rows = [row.get_text(" ", strip=True).replace("\xa0", " ") for row in front.select(".icl-theorems tbody tr")]
    for ledger in ledgers:
        entries, claims = catalogue(ledger["chapter"]), claims_of(ledger)
        for claim in [claim for claim in claims if entries[claim.id]["headline"]] or claims[:1]:
            (row,) = [row for row in rows if (entries[claim.id]["headline"] or claim.statement) in row]
            assert claim.verdict in row and claim.source in row
        link = front.select_one(f'ol a[href="../notebooks/{ledger["chapter"]}.html"]')
        assert re.search(r"\d+ minutes, \d+ claims", link.find_parent("li").get_text())
    assert ledgers_summary(ledgers) in front.get_text()
    assert front.select_one("figure svg.icl-figure")["aria-label"]


def test_how_it_was_made_says_nothing_of_this_build(soups):
    """Times and machines differ between builds; only committed ones may stand on a page."""
    text = soups["book/how_it_was_made"].select_one("article").get_text().replace("\xa0", " ")
    for chapter in CHAPTERS:
        assert chapter in text
        committed = BASELINES / "quick" / chapter / "provenance.json"
        if committed.exists():
            assert f"{json.loads(committed.read_text())['seconds']:.0f} s" in text
    assert "numpy" in text and "2.13.0" in text


def test_the_book_can_be_cited(soups):
    text = soups["book/take_along"].select_one("article").get_text()
    assert cite("book").splitlines()[1] in text and cite("zhang2024block").splitlines()[1] in text
    assert "CC" not in text or "Creative Commons" in text


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_pasted_numbers_are_those_of_the_ledger(chapter):
    """The source of every pasted number of the prose exists, so that none is typed under a stale name."""
    ledger = read_ledger(RUN, chapter)
    known = {"d", "n", "sigma2", "seed", "reading_minutes", *ledger["parameters"], *ledger["numbers"]}
    known |= {f"{claim['id']}.{key}" for claim in ledger["claims"] for key in ("predicted", "measured", "stderr")}
    notebook = json.loads((RUN / f"{chapter}.ipynb").read_text())
    text = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    pasted = re.findall(r"\{glue:text\}`([^`:]+):[^`]*`", text)
    assert pasted and set(pasted) <= known


def test_one_pasted_number_by_hand(soups):
    ledger = {claim.id: claim for claim in claims_of(read_ledger(RUN, "01_one_step_gd"))}
    text = soups["notebooks/01_one_step_gd"].select_one("article").get_text()
    assert f"{ledger['thm1.risk'].predicted:.6f}" in text and "1.440476" in text


def test_the_notebook_to_download_is_the_one_that_ran(soups):
    for chapter in CHAPTERS:
        addresses = [tag["href"] for tag in soups[f"notebooks/{chapter}"].select("a[href]")]
        download = next(a for a in addresses if a.endswith(f"{chapter}.ipynb") and not a.startswith("http"))
        text = (HTML / "notebooks" / download).read_text(encoding="utf-8")
        assert text == nbformat.writes(read_chapter(RUN, chapter).notebook) + "\n"


def test_buttons_are_there_when_their_address_is(soups):
    launched = ("https://mybinder.org/v2/gh/", "https://colab.research.google.com/github/")
    address = repository()
    for page, soup in soups.items():
        addresses = [tag["href"] for tag in soup.select("a[href]")]
        found = [a for a in addresses if a.startswith(launched)]
        if address is None:
            assert found == [] and not soup.select(".dropdown-launch-buttons, .btn-source-repository-button"), page
            continue
        assert address in addresses, page
        if page.startswith("notebooks/"):
            place = address.removeprefix("https://github.com/")
            assert len(found) == 2 and all(place in button and f"{page}.ipynb" in button for button in found)


def test_claims_page_counts_all(soups):
    ledgers = read_all(RUN)
    total = sum(len(ledger["claims"]) for ledger in ledgers)
    assert f"{total} claims:" in soups["book/claims"].get_text()


def test_no_page_runs_a_long_script(soups):
    """At most 100 kB each, but the weights of the model that runs on the front page, MathJax and the theme's icons."""
    known = {"live_weights.js", "tex-svg-full.js", "all.min.js"}
    for page, soup in soups.items():
        files = {(HTML / page).parent / tag["src"].partition("?")[0] for tag in soup.select("script[src]")}
        assert {path.name for path in files if path.stat().st_size > 100_000} <= known, page
        inline = [len(tag.get_text()) for tag in soup.select("script:not([src])")]
        assert max(inline, default=0) < 100_000, page


def test_pages_are_light(soups):
    """A page and what only it loads: at most 1.5 MB; style sheets and scripts that every page loads are shared."""
    loaded = "script[src], img[src], link[rel~=stylesheet], link[rel~=preload]"  # not links to the next page
    loads = {
        page: {tag.get("src") or tag["href"].split("?")[0] for tag in soup.select(loaded)}
        for page, soup in soups.items()
    }
    shared = set.intersection(*({address.split("?")[0] for address in addresses} for addresses in loads.values()))
    for page in soups:
        own = {address.split("?")[0] for address in loads[page]} - shared
        files = [(HTML / page).parent / address for address in own if address.startswith("..") and "mjx" not in address]
        extra = sum(path.stat().st_size for path in files if path.is_file() and "tex-svg" not in path.name)
        assert (HTML / f"{page}.html").stat().st_size + extra < 1.5e6, f"{page} is heavy"
