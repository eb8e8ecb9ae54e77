"""The built pages as files: complete, linked, numbered, every number from the run."""

import json
import re
from urllib.parse import unquote, urlparse

import pytest

from icl.parameters import CHAPTERS
from icl.workflow.layout import HTML, repository, run_folder
from icl.workflow.ledgers import claims_of, read_all, read_ledger
from icl.workflow.stage import pages

pytestmark = pytest.mark.book
RUN = run_folder("quick")


def test_index_leads_to_the_introduction():
    assert "book/introduction.html" in (HTML / "index.html").read_text()


def test_internal_links_and_anchors_resolve(soups):
    ids = {page: {tag["id"] for tag in soup.find_all(id=True)} for page, soup in soups.items()}
    for page, soup in soups.items():
        here = HTML / f"{page}.html"
        for tag in soup.select("a[href], link[href], img[src], script[src]"):
            target = urlparse(tag.get("href") or tag.get("src"))
            if target.scheme or target.netloc:
                continue
            path = (here.parent / unquote(target.path)).resolve() if target.path else here.resolve()
            assert path.exists(), f"{page} links to {target.geturl()}, which is not there"
            name = str(path.relative_to(HTML.resolve())).removesuffix(".html")
            if target.fragment and name in ids:
                assert target.fragment in ids[name], (
                    f"{page} links to {name}#{target.fragment}, an anchor that is not there"
                )


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
    soup = soups[f"notebooks/{chapter}"]
    titles = [tag.get_text() for tag in soup.select(".proof .admonition-title")]
    assert any(re.match(r"Theorem \d", title) for title in titles)
    assert soup.select(".math .eqno"), "no numbered equation"
    assert soup.select("a.citation, .reference.internal[href*=references]"), "no citation"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_figures_are_vector_have_words_and_data(soups, chapter):
    figures = read_ledger(RUN, chapter)["figures"]
    shown = soups[f"notebooks/{chapter}"].select("figure svg.icl-figure")
    assert len(shown) == len(figures) > 0, "every figure of the ledger is on the page, once"
    for svg in shown:
        assert svg["role"] == "img" and len(svg["aria-label"]) > 40
        assert len(svg.find_parent("figure").select_one("figcaption").get_text()) > 60
    for name in figures:
        for suffix in ("csv", "svg"):
            assert (HTML / "data" / chapter / f"{name}.{suffix}").read_bytes() == (
                RUN / chapter / f"{name}.{suffix}"
            ).read_bytes()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_claim_is_on_its_page_and_in_the_list(soups, chapter):
    for claim in claims_of(read_ledger(RUN, chapter)):
        for page in (f"notebooks/{chapter}", "book/claims"):
            assert any(code.get_text() == claim.id for code in soups[page].select(".icl-claims code")), claim.id


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_pasted_numbers_are_those_of_the_ledger(chapter):
    """The source of every pasted number of the prose exists, so that none is typed under a stale name."""
    ledger = read_ledger(RUN, chapter)
    known = {"d", "n", "sigma2", "seed", *ledger["parameters"], *ledger["numbers"]}
    known |= {f"{claim['id']}.{key}" for claim in ledger["claims"] for key in ("predicted", "measured", "stderr")}
    notebook = json.loads((RUN / f"{chapter}.ipynb").read_text())
    text = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    pasted = re.findall(r"\{glue:text\}`([^`:]+):[^`]*`", text)
    assert len(pasted) > 10 and set(pasted) <= known


def test_one_pasted_number_by_hand(soups):
    ledger = {claim.id: claim for claim in claims_of(read_ledger(RUN, "01_one_step_gd"))}
    text = soups["notebooks/01_one_step_gd"].select_one("article").get_text()
    assert f"{ledger['thm1.risk'].predicted:.6f}" in text and "1.440476" in text


def test_launch_source_and_download_buttons(soups):
    for chapter in CHAPTERS:
        soup = soups[f"notebooks/{chapter}"]
        addresses = [tag["href"] for tag in soup.select("a[href]")]
        name = repository().removeprefix("https://github.com/")
        for start in ("https://mybinder.org/v2/gh/", "https://colab.research.google.com/github/"):
            button = next(address for address in addresses if address.startswith(start))
            assert name in button and f"notebooks/{chapter}.ipynb" in button
        download = next(a for a in addresses if a.endswith(f"{chapter}.ipynb") and not a.startswith("http"))
        assert (HTML / "notebooks" / download).read_bytes() == (RUN / f"{chapter}.ipynb").read_bytes()
        assert repository() in addresses


def test_claims_page_counts_all(soups):
    ledgers = read_all(RUN)
    total = sum(len(ledger["claims"]) for ledger in ledgers)
    assert f"{total} claims:" in soups["book/claims"].get_text()


def test_pages_are_light():
    for page in pages():
        assert (HTML / f"{page}.html").stat().st_size < 1.5e6, f"{page} is heavy"


def test_citation_carries_the_address():
    assert repository() in (HTML / "CITATION.cff").read_text()
