"""The PDF, printed from a few of the book's pages: numbers, links, equations and figures are whole."""

import re
from contextlib import nullcontext

import nbformat
import pytest
from browser import alone
from bs4 import BeautifulSoup
from pypdf import PdfReader

from press import pdf
from press.layout import HTML, WorkflowError
from press.pages.downloads import PDF_MISSING

pytestmark = [pytest.mark.book, pytest.mark.browser]
PAGES = ["book/map", "book/notation", "book/take_along"]  # beside the front page


@pytest.fixture(scope="module")
def printed(browser, tmp_path_factory):
    """The path of a PDF of some pages, and the folder of the built book that links it."""
    folder = tmp_path_factory.mktemp("pdf")
    html = folder / "html"
    (html / "book").mkdir(parents=True)
    for name in ("index", "book/take_along"):
        (html / f"{name}.html").write_bytes((HTML / f"{name}.html").read_bytes())
    render, write_source = pdf.render, pdf.write_source
    replaced = {"HTML": html, "BUILD": folder, "PDF": folder / "icl.pdf"}
    replaced["write_source"] = lambda *arguments: _less_to_read(write_source(*arguments))
    replaced["chromium"] = lambda: nullcontext(browser)  # playwright runs once a thread
    replaced["render"] = lambda *arguments: _fewer_pages(render(*arguments))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in replaced.items():
            patch.setattr(pdf, name, value)
        return pdf.build_pdf("quick"), html


def _less_to_read(source):
    """Of pages that are not printed only headings, what links lead to, and numbers: most of Sphinx's time."""
    for path in (source / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        words = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        kept = re.findall(r"^(?:#+ .*|\(.*\)=)$", words, flags=re.M)
        numbers = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for cell in numbers:
            cell.source = ""
            cell.outputs = [output for output in cell.outputs if "scrapbook" in output.get("metadata", {})]
        notebook.cells = [nbformat.v4.new_markdown_cell("\n".join(kept)), *(cell for cell in numbers if cell.outputs)]
        nbformat.write(notebook, path)
    (source / "generated" / "reference.md").write_text("", encoding="utf-8")
    return source


def _fewer_pages(built):
    path = built / "book" / "introduction.html"
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    for start in soup.select("span[id^=document-]"):
        if start["id"].removeprefix("document-") not in PAGES:
            start.find_next_sibling("section").decompose()
            start.decompose()
    path.write_text(str(soup), encoding="utf-8")
    return built


def test_contents_give_the_page_on_which_each_section_stands(printed):
    reader = PdfReader(printed[0])
    texts = [page.extract_text() for page in reader.pages]
    contents = next(text for text in texts if text.startswith("Contents"))
    flowing = [" ".join(text.split()) for text in texts]
    lines = re.findall(r"^(.+?)\s+(\d+)$", contents, flags=re.M)
    titles = [title for title, _ in lines]
    assert titles[:2] == ["In-context learning, executed", "The theorems"] and len(lines) >= 14
    for title, number in lines:
        assert title in flowing[int(number) - 1], f"{title} is not on page {number}"
    started = [int(dict(lines)[title]) for title in ("The map", "Setup and notation")]
    assert all(flowing[number - 1].startswith(("The map", "Setup")) for number in started), "a page begins a sheet"
    for number, text in enumerate(texts, 1):
        assert text.rstrip().endswith(str(number)) or f"\n{number}\n" in text, f"page {number} does not say so"


def test_links_stay_within_the_document_and_headings_are_its_outline(printed):
    reader = PdfReader(printed[0])
    titles = [item.title for item in reader.outline if not isinstance(item, list)]
    assert {"The map", "Setup and notation"} <= set(titles) and "The task" not in titles, "a chapter is at the top"
    assert {f"document-{page}" for page in PAGES} <= {name.strip("/") for name in reader.named_destinations}
    notes = [note.get_object() for page in reader.pages for note in page.get("/Annots", [])]
    addresses = [note.get("/A", {}).get("/URI", "") for note in notes]
    assert addresses and not any(address.startswith("file:") for address in addresses)
    leads = {str(note.get("/Dest")).strip("/") for note in notes}
    assert "document-book/take_along" in leads, "a link of the front page"
    assert "CreationDate" not in str(reader.metadata) and reader.metadata.title == "In-context learning, executed"


def test_the_page_of_downloads_links_it(printed):
    path, html = printed
    page = (html / "book" / "take_along.html").read_text()
    assert PDF_MISSING not in page and 'href="../icl.pdf"' in page
    assert (html / "icl.pdf").read_bytes() == path.read_bytes()


def test_pages_written_as_html_are_linked_within_the_document_and_files_are_not():
    soup = BeautifulSoup(
        '<section><h1>First</h1><a href="../book/trust.html">o</a><a href="trust.html#x">x</a><a href="a.csv">f</a>'
        '<span id="document-book/trust"></span><section><h2>Other<a class="headerlink" href="#">#</a></h2><section>'
        "<h3>Part</h3></section><details></details></section></section>",
        "html.parser",
    )
    contents = pdf._for_paper(soup)
    assert [(level, title) for level, _, title in contents] == [(1, "First"), (1, "Other"), (2, "Part")]
    assert [link["href"] for link in soup.select("a")] == ["#document-book/trust", "#x"] and "f" in soup.text
    assert soup.select_one("section.page h1") and soup.details.has_attr("open")


def test_claims_stand_in_a_line_that_leads_to_their_card_and_the_set_up_is_left_out():
    soup = BeautifulSoup(
        '<section><h1>First</h1><details class="icl-strip"><summary><code>a.<wbr/>claim</code></summary><p>Body</p>'
        "</details><section><h2>Set-up</h2><p>Folded.</p></section></section>",
        "html.parser",
    )
    assert [title for _, _, title in pdf._for_paper(soup)] == ["First"] and "Folded" not in soup.text
    assert soup.select_one("summary > a")["href"] == "#claim-a.claim" and not soup.details.has_attr("open")


def test_on_paper_an_explorable_is_drawn_as_it_starts_and_a_solution_goes_on_on_the_next_page(browser, tmp_path):
    soup = BeautifulSoup((HTML / "notebooks" / "04_mlp_benefit.html").read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article")
    pdf._for_paper(article)
    (tmp_path / "notebooks").mkdir()
    for folder in (tmp_path, tmp_path / "notebooks"):  # the document's own sheets, and those of the page it is made of
        (folder / "_static").symlink_to(HTML / "_static")
    (tmp_path / "notebooks" / "print.html").write_text(pdf._document(soup, "", article), encoding="utf-8")
    with alone(browser, "desktop") as page:
        page.emulate_media(media="print")
        page.goto((tmp_path / "notebooks" / "print.html").as_uri())
        assert page.locator(".icl-explorable .panels svg").first.is_visible()
        filled = "lines => lines.filter((line) => getComputedStyle(line).fill !== 'none').length"
        assert page.locator(".icl-explorable path.line").evaluate_all(filled) == 0, "without its colours"
        assert not page.locator(".icl-explorable .controls").is_visible()
        kept = "all => all.map((box) => getComputedStyle(box).breakInside)"
        assert set(page.locator(".solution").evaluate_all(kept)) == {"auto"}
        size = "one => parseFloat(getComputedStyle(one).fontSize)"
        caption, text = (page.locator(one).first.evaluate(size) for one in ("figcaption p", "section > p"))
        assert caption < text


def test_without_a_book_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "HTML", tmp_path)
    with pytest.raises(WorkflowError, match="run `make book` first"):
        pdf.build_pdf("quick")
