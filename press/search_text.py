"""What the search page shows below a page it found: the sections that hold the words, with an excerpt.

Sphinx's own excerpts are fetched from the pages, which browsers forbid to a book opened from the disk. Here every
page's text lies beside its search index as a script, loaded only for the pages that were found.
"""

import json
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from icl.files import write_atomically

# Half of a page's tags, none with words that are looked for; left in, they would take the parser most of its time.
_DRAWN = re.compile(r"<(svg|script|style|pre)\b(?:(?!<\1\b).)*?</\1>", re.DOTALL)  # the innermost of its kind
_NO_WORDS = ("headerlink", "icl-filter", "icl-strips", "live", "icl-plain")
_SCRIPT = '<script src="_static/search.js"></script>'


def complete_search(built: Path, pages: list[str]) -> None:
    """Write the text of the built pages beside the search index, and let the search page show it."""
    for page in pages:
        content = json.dumps([page, sections((built / f"{page}.html").read_text(encoding="utf-8"))], ensure_ascii=False)
        write_atomically(built / "_static" / "search" / f"{page.replace('/', '-')}.js", f"iclFound(...{content});\n")
    path = built / "search.html"
    write_atomically(path, path.read_text(encoding="utf-8").replace("</body>", f"{_SCRIPT}</body>"))


def sections(markup: str) -> list[tuple[str, str, str]]:
    """(anchor, title, words) of every section and claim's card in a page's article, inner ones apart."""
    article = markup[markup.index("<article") : markup.rindex("</article>")]
    while article != (article := _DRAWN.sub("", article)):
        pass
    soup = BeautifulSoup(article, "html.parser")
    for gone in soup.find_all(class_=_NO_WORDS):
        gone.decompose()
    found = []  # the innermost first, so that what is left of a section is its own
    for section in reversed(soup.find_all(_is_part)):
        heading = section.find(["h1", "h2", "h3", "h4"])
        title = _words(heading.extract()) if heading else ""
        found.append((section["id"], title, _words(section.extract())))
    return found[::-1]


def _is_part(tag: Tag) -> bool:
    return tag.name == "section" and "id" in tag.attrs or tag.name == "article" and "icl-card" in tag.get("class", ())


def _words(tag: Tag) -> str:
    return re.sub(r"\\[()\[\]]", "", re.sub(r"\s+", " ", tag.get_text(" "))).strip()
