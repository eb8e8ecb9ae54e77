"""The whole book as one PDF: Sphinx writes it as one page (`singlehtml`), Chromium prints that.

It is printed twice: the first print tells on which page each section starts, the second carries these numbers in its
table of contents. Its equations are set once.
"""

import html
import logging
import re
import shutil
import tempfile
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag
from pypdf import PdfReader, PdfWriter

from icl.files import write_atomically
from press.book import render, write_source
from press.chromium import HOW_TO_GET_ONE, chromium, ready
from press.layout import BUILD, HTML, ROOT, WorkflowError, pages
from press.pages.downloads import PDF_LINK, PDF_MISSING

PDF = BUILD / "icl.pdf"
_MARGIN = {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}
_FOOTER = (
    '<div style="font: 8pt sans-serif; width: 100%; margin: 0 18mm; display: flex; justify-content: space-between">'
    '<span class="title"></span><span class="pageNumber"></span></div>'
)
# Into the contents: the page of each section, by its id; three digits were in its place.
_NUMBER = """(pages) => {
  for (const line of document.querySelectorAll("#contents li")) {
    const page = pages[line.querySelector("a").hash.slice(1)];
    if (page) line.lastElementChild.textContent = page;
  }
}"""
logging.getLogger("pypdf").setLevel(logging.ERROR)  # what it says of Chromium's count of objects helps nobody


def build_pdf(profile: str) -> Path:
    """Print the profile's book to `_build/icl.pdf` and link it from the built page of downloads; returns its path.

    Raises InputError where a run is missing, WorkflowError where it is of other code, the book was not built, no
    Chromium is there, or an equation was not rendered.
    """
    if not (HTML / "index.html").exists():
        raise WorkflowError(f"there is no book in {HTML}; run `make book` first.")
    if not ready():
        raise WorkflowError(f"the PDF is printed by Chromium, and none was found; {HOW_TO_GET_ONE}, then `make pdf`.")
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=".pdf-") as scratch:
        source = write_source(profile, Path(scratch) / "src")
        _print_page(render(source, Path(scratch) / "sphinx", pages()[:1], "singlehtml"))
    shutil.copy(PDF, HTML / PDF.name)
    page = HTML / "book" / "take_along.html"
    write_atomically(page, page.read_text(encoding="utf-8").replace(PDF_MISSING, PDF_LINK))
    return PDF


def _print_page(folder: Path) -> None:
    """The PDF of the single page that Sphinx built in `folder`."""
    soup = BeautifulSoup((folder / f"{pages()[0]}.html").read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article")
    text = _document(soup, _contents_page(_for_paper(article)), article)
    with chromium() as browser:
        page = _opened(browser, write_atomically(folder / "print.html", text))
        _print(page, folder / "first.pdf")
        page.evaluate(_NUMBER, _page_numbers(folder / "first.pdf"))
        _print(page, folder / "second.pdf")
        page.close()
    _finish(folder / "second.pdf")


def _for_paper(article: Tag) -> list[tuple[int, str, str]]:
    """Make the article what paper can show; returns the contents as (level, id, title).

    Pages begin on new sheets, their headings are no longer below the first page's, links lead within the document, and
    those to files that do not travel along are gone; so are the set-up's code and what claims unfold.
    """
    for gone in article.select("a.headerlink, script, link, .icl-filter, .icl-plain, noscript"):
        gone.decompose()
    for heading in article.select("section > :is(h1, h2, h3)"):
        if heading.get_text().startswith("Set-up"):  # nothing but folded code, which paper leaves out
            heading.parent.decompose()
    for folded in article.select("details:not(.hide, .icl-strip)"):
        folded["open"] = ""
    for strip in article.select("details.icl-strip"):  # what it unfolds stands on its card
        id = strip.summary.code
        id.wrap(Tag(name="a", attrs={"href": f"#claim-{id.get_text()}"}))
    for start in article.select("span[id^=document-]"):
        page = start.find_next_sibling("section")
        page["class"] = [*page.get("class", []), "page"]
        for heading in page.select(":is(section, .page) > :is(h2, h3, h4, h5, h6)"):
            heading.name = f"h{int(heading.name[1]) - 1}"
    starts = {Path(page).name: f"document-{page}" for page in pages()}
    for link in article.select("a[href]"):
        page, _, anchor = link["href"].partition("#")
        if re.match(r"\w+:", page) or not page:
            continue
        if page.endswith(".html"):  # written as raw HTML, from page to page; Sphinx's own are within the document
            link["href"] = f"#{anchor or starts[Path(page).stem]}"
        else:
            link.unwrap()
    contents = []
    for k, heading in enumerate(article.select("section > h1, section > h2")):
        heading["id"] = f"heading-{k}"  # two chapters have a section «The theorem»
        contents.append((int(heading.name[1]), heading["id"], heading.decode_contents()))
    return contents


def _contents_page(contents: list[tuple[int, str, str]]) -> str:
    lines = "".join(
        f'<li class="level-{level}"><a href="#{id}">{text}</a><span>100</span></li>' for level, id, text in contents
    )
    return f'<section class="page" id="contents"><h1>Contents</h1><ol>{lines}</ol></section>'


def _document(soup: BeautifulSoup, contents: str, article: Tag) -> str:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    title, static = html.escape(config["title"]), "_static"
    sheets = "".join(map(str, soup.select("head link[rel=stylesheet]")))
    sheets += "".join(f'<link rel="stylesheet" href="{static}/{name}.css">' for name in ("explorable", "print"))
    mathjax = next(str(script) for script in soup.select("script") if "window.MathJax" in script.text)
    cover = f'<section id="cover"><h1>{title}</h1><p>{config["author"]}</p><p>{config["copyright"]}</p></section>'
    return (
        '<!doctype html><html lang="en" class="icl-typeset" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{title}</title>{sheets}{mathjax}"
        f'<script defer src="{static}/{config["sphinx"]["config"]["mathjax_path"]}"></script></head>'
        f'<body class="icl-print"><main>{cover}{contents}<div class="page" id="document-{pages()[0]}">'
        f"{article.decode_contents()}</div></main></body></html>"
    )


def _opened(browser, document: Path):
    """The document in a window as wide as paper, its equations set; WorkflowError where one is not."""
    page = browser.new_page(viewport={"width": 660, "height": 900})
    page.set_default_timeout(600_000)
    page.goto(document.resolve().as_uri())
    page.evaluate("MathJax.startup.promise.then(() => true)")
    wrong = page.locator("mjx-merror, [data-mjx-error]").count()
    if wrong or not page.locator("mjx-container").count():
        raise WorkflowError(f"the book was not printed: {wrong or 'all'} equations were not rendered.")
    return page


def _print(page, target: Path) -> None:
    page.pdf(
        path=str(target), format="A4", margin=_MARGIN, print_background=True, outline=True, tagged=True,
        display_header_footer=True, header_template="<span></span>", footer_template=_FOOTER,
    )  # fmt: skip


def _page_numbers(path: Path) -> dict[str, int]:
    reader = PdfReader(path)
    return {
        name.removeprefix("/"): reader.get_destination_page_number(destination) + 1
        for name, destination in reader.named_destinations.items()
    }


def _finish(printed: Path) -> None:
    """The printed pages with title and author, without the time of printing."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    writer = PdfWriter(clone_from=PdfReader(printed))
    writer.metadata = {"/Title": config["title"], "/Author": config["author"], "/Producer": "Chromium, pypdf"}
    writer.page_mode = "/UseOutlines"
    temporary = PDF.with_name(f".{PDF.name}.new")
    writer.write(temporary)
    temporary.replace(PDF)
