"""The whole book as one PDF: the built pages in one document, printed by Chromium.

The pages of `_build/html` go, in the order of the table of contents, into one HTML document with ids and links of its
own. It is printed twice: the first print tells on which page each section starts, the second carries these numbers in
its table of contents.
"""

import html
import re
import shutil
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag
from pypdf import PdfReader, PdfWriter

from icl.files import write_atomically
from press.chromium import HOW_TO_GET_ONE, chromium, ready
from press.layout import BUILD, HTML, ROOT, WorkflowError
from press.pages.downloads import PDF_LINK, PDF_MISSING
from press.stage import pages

PDF = BUILD / "icl.pdf"
_MARGIN = {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}
_FOOTER = (
    '<div style="font: 8pt sans-serif; width: 100%; margin: 0 18mm; display: flex; justify-content: space-between">'
    '<span class="title"></span><span class="pageNumber"></span></div>'
)
_REFERENCES = re.compile(r'(\bid="|\bfor="|\baria-\w+="|(?:xlink:)?href="#|url\(#)([^")]+)|#(icl-\w+)(?= \*)')


def build_pdf() -> Path:
    """Print the built book to `_build/icl.pdf` and link it from the page of downloads; returns its path.

    Raises WorkflowError where the book was not built, no Chromium is there, or an equation was not rendered.
    """
    if not (HTML / "index.html").exists():
        raise WorkflowError(f"there is no book in {HTML}; run `make book` first.")
    if not ready():
        raise WorkflowError(f"the PDF is printed by Chromium, and none was found; {HOW_TO_GET_ONE}, then `make pdf`.")
    contents, body = _book()
    folder = BUILD / "print"
    numbers: dict[str, int] = {}
    with chromium() as browser:
        for name in ("first", "second"):
            document = write_atomically(folder / "book.html", _document(_contents_page(contents, numbers), body))
            _print(browser, document, folder / f"{name}.pdf")
            numbers = _page_numbers(folder / f"{name}.pdf")
    _finish(folder / "second.pdf")
    shutil.copy(PDF, HTML / PDF.name)
    page = HTML / "book" / "take_along.html"
    page.write_text(page.read_text(encoding="utf-8").replace(PDF_MISSING, PDF_LINK), encoding="utf-8")
    return PDF


def _book() -> tuple[list[tuple[int, str, str]], str]:
    """The contents as (level, id, title), and all articles with ids and links that are unique in one document."""
    names, contents, parts = pages(), [], []
    for name in names:
        soup = BeautifulSoup((HTML / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        article = soup.select_one("article.bd-article")
        slug = _slug(name)
        _rewrite_links(article, name, names)
        for mark in article.select("a.headerlink, script, .icl-filter, noscript"):
            mark.decompose()
        for folded in article.select("details:not(.hide)"):
            folded["open"] = ""
        for heading in article.select("h1, h2"):
            section = heading.find_parent("section")
            target = slug if heading.name == "h1" else f"{slug}--{section['id']}"
            contents.append((int(heading.name[1]), target, heading.decode_contents()))
        parts.append(f'<section class="page" id="{slug}">{_prefixed(article.decode_contents(), slug)}</section>')
    return contents, "\n".join(parts)


def _slug(name: str) -> str:
    return name.replace("/", "-")


def _rewrite_links(article: Tag, name: str, names: list[str]) -> None:
    """Links between pages become links within the document; files that do not travel along lose theirs."""
    for link in article.select("a[href]"):
        address = link["href"]
        path, _, fragment = address.partition("#")
        if not path or re.match(r"\w+:", address):
            continue  # _prefixed sees to links within a page
        target = (Path(name).parent / path).as_posix()
        parts: list[str] = []
        for part in target.split("/"):
            parts = parts[:-1] if part == ".." else [*parts, part]
        target = "/".join(part for part in parts if part != ".").removesuffix(".html")
        if target in names:
            link["href"] = f"#!{_slug(target)}--{fragment}" if fragment else f"#!{_slug(target)}"
        else:
            link.unwrap()


def _prefixed(markup: str, slug: str) -> str:
    def own(match: re.Match) -> str:
        if match[3]:  # a rule of an inlined figure
            return f"#{slug}--{match[3]}"
        if match[2].startswith("!"):
            return f"{match[1]}{match[2][1:]}"
        if match[1].startswith("aria-") and not re.match(r"aria-(labelledby|describedby|controls)", match[1]):
            return match[0]
        return match[1] + " ".join(f"{slug}--{id}" for id in match[2].split())

    return _REFERENCES.sub(own, markup)


def _contents_page(contents: list[tuple[int, str, str]], numbers: dict[str, int]) -> str:
    lines = "".join(
        f'<li class="level-{level}"><a href="#{id}">{text}</a><span>{numbers.get(id, 100)}</span></li>'
        for level, id, text in contents
    )
    return f'<section class="page" id="contents"><h1>Contents</h1><ol>{lines}</ol></section>'


def _document(contents: str, body: str) -> str:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    static = (HTML / "_static").resolve().as_uri()
    first = (HTML / f"{pages()[0]}.html").read_text(encoding="utf-8")
    sheets = re.findall(r'<link[^>]*href="\.\./_static/([^"]+\.css)[^"]*"', first)
    styles = "".join(f'<link rel="stylesheet" href="{static}/{sheet}">' for sheet in [*sheets, "print.css"])
    mathjax = re.search(r"<script>window\.MathJax = .*?</script>", first).group()
    title = html.escape(config["title"])
    cover = f'<section id="cover"><h1>{title}</h1><p>{config["author"]}</p><p>{config["copyright"]}</p></section>'
    return (
        f'<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{title}</title>{styles}'
        f'{mathjax}<script defer src="{static}/{config["sphinx"]["config"]["mathjax_path"]}"></script></head>'
        f'<body class="icl-print"><main>{cover}{contents}{body}</main></body></html>'
    )


def _print(browser, document: Path, target: Path) -> None:
    page = browser.new_page(viewport={"width": 660, "height": 900})
    page.set_default_timeout(600_000)
    page.goto(document.resolve().as_uri())
    page.evaluate("MathJax.startup.promise.then(() => true)")
    wrong = page.locator("mjx-merror, [data-mjx-error]").count()
    if wrong or not page.locator("mjx-container").count():
        raise WorkflowError(f"the book was not printed: {wrong or 'all'} equations were not rendered.")
    page.pdf(
        path=str(target), format="A4", margin=_MARGIN, print_background=True, outline=True, tagged=True,
        display_header_footer=True, header_template="<span></span>", footer_template=_FOOTER,
    )  # fmt: skip
    page.close()


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
    temporary = printed.with_name("icl.pdf")
    writer.write(temporary)
    temporary.replace(PDF)
