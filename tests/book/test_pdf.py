"""The PDF, printed from two of the book's pages: numbers, links, equations and figures are whole."""

import os
import re
from contextlib import nullcontext

import pytest
from pypdf import PdfReader

from press import pdf
from press.layout import HTML, WorkflowError
from press.pages.downloads import PDF_MISSING

pytestmark = [pytest.mark.book, pytest.mark.browser]
PAGES = ["book/notation", "book/map", "book/take_along"]


@pytest.fixture(scope="module")
def printed(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pdf")
    small = folder / "html"
    (small / "book").mkdir(parents=True)
    os.symlink(HTML / "_static", small / "_static")
    for name in [*PAGES, "index"]:
        (small / f"{name}.html").write_bytes((HTML / f"{name}.html").read_bytes())
    patch = pytest.MonkeyPatch()
    replaced = {"HTML": small, "BUILD": folder, "PDF": folder / "icl.pdf", "pages": lambda: PAGES}
    replaced["chromium"] = lambda: nullcontext(browser)  # playwright runs once a thread
    for name, value in replaced.items():
        patch.setattr(pdf, name, value)
    path = pdf.build_pdf()
    patch.undo()
    return path, small


def test_contents_give_the_page_on_which_each_section_stands(printed):
    reader = PdfReader(printed[0])
    texts = [page.extract_text() for page in reader.pages]
    contents = next(text for text in texts if text.startswith("Contents"))
    flowing = [" ".join(text.split()) for text in texts]
    lines = re.findall(r"^(.+?)\s+(\d+)$", contents, flags=re.M)
    assert [title for title, _ in lines[:2]] == ["Setup and notation", "The task"] and len(lines) >= 8
    for title, number in lines:
        assert title in flowing[int(number) - 1], f"{title} is not on page {number}"
    for number, text in enumerate(texts, 1):
        assert text.rstrip().endswith(str(number)) or f"\n{number}\n" in text, f"page {number} does not say so"


def test_links_stay_within_the_document_and_headings_are_its_outline(printed):
    reader = PdfReader(printed[0])
    titles = [item.title for item in reader.outline if not isinstance(item, list)]
    assert any("map" in title for title in titles)
    assert {"book-notation", "book-map", "book-take_along"} <= {name.strip("/") for name in reader.named_destinations}
    addresses = [
        note.get_object().get("/A", {}).get("/URI", "") for page in reader.pages for note in page.get("/Annots", [])
    ]
    assert addresses and not any(address.startswith("file:") for address in addresses)
    assert "CreationDate" not in str(reader.metadata) and reader.metadata.title == "In-context learning, executed"


def test_the_page_of_downloads_links_it(printed):
    path, html = printed
    page = (html / "book" / "take_along.html").read_text()
    assert PDF_MISSING not in page and 'href="../icl.pdf"' in page
    assert (html / "icl.pdf").read_bytes() == path.read_bytes()


def test_ids_and_links_get_the_page_they_come_from():
    text = (
        '<a href="#x"></a><b id="x"></b><g clip-path="url(#p)"></g><use xlink:href="#p"></use><a href="#!b--y"></a>'
        '<style>#icl-f *{}</style><svg id="icl-f" aria-label="A map" aria-labelledby="x y"></svg>'
    )
    assert pdf._prefixed(text, "a") == (
        '<a href="#a--x"></a><b id="a--x"></b><g clip-path="url(#a--p)"></g><use xlink:href="#a--p"></use>'
        '<a href="#b--y"></a><style>#a--icl-f *{}</style><svg id="a--icl-f" aria-label="A map" '
        'aria-labelledby="a--x a--y"></svg>'
    )


def test_without_a_book_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "HTML", tmp_path)
    with pytest.raises(WorkflowError, match="run `make book` first"):
        pdf.build_pdf()
