"""What the search page shows below a page it found: the sections that hold the words, with an excerpt.

Sphinx's own excerpts are fetched from the pages, which browsers forbid to a book opened from the disk. Here every
page's text lies beside its search index as a script, loaded only for the pages that were found.
"""

import json
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from icl.files import write_atomically

_NO_WORDS = "pre, svg, script, style, a.headerlink, .icl-filter, .icl-strips, .icl-explorable .live, .icl-plain"
_SCRIPT = '<script src="_static/search.js"></script>'


def complete_search(built: Path, pages: list[str]) -> None:
    """Write the text of the built pages beside the search index, and let the search page show it."""
    for page in pages:
        soup = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        content = json.dumps([page, sections(soup.select_one("article"))], ensure_ascii=False)
        write_atomically(built / "_static" / "search" / f"{page.replace('/', '-')}.js", f"iclFound(...{content});\n")
    path = built / "search.html"
    write_atomically(path, path.read_text(encoding="utf-8").replace("</body>", f"{_SCRIPT}</body>"))


def sections(article: Tag) -> list[tuple[str, str, str]]:
    """(anchor, title, words) of every section and claim's card, inner ones apart; takes the article to pieces."""
    for gone in article.select(_NO_WORDS):
        gone.decompose()
    found = []  # the innermost first, so that what is left of a section is its own
    for section in reversed(article.select("section[id], article.icl-card")):
        heading = section.find(["h1", "h2", "h3", "h4"])
        title = _words(heading.extract()) if heading else ""
        found.append((section["id"], title, _words(section.extract())))
    return found[::-1]


def _words(tag: Tag) -> str:
    return re.sub(r"\\[()\[\]]", "", re.sub(r"\s+", " ", tag.get_text(" "))).strip()
