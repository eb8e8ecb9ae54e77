"""A Sphinx extension: a chapter's symbols say what they are, on hover and focus, in the words of the page of notation.

The style sheet shows them in the margin, where there is one. The keyboard stops at a symbol's first place on a page.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.typing import ExtensionMetadata

_TABLE = re.compile(r"^## From paper to code$(.*?)^## ", flags=re.M | re.S)
_ROW = re.compile(r"^\| \$([^$,]+)\$ \| (.*?) \|(.*)", flags=re.M)
_AMBIGUOUS = "other meanings"


def meanings(notation: str) -> dict[str, str]:
    """TeX of a symbol → what it is, from the page of notation; none of what takes a formula to say."""
    found = {}
    for row in _ROW.finditer(_TABLE.search(notation)[1]):
        words = re.sub(r"( on|[:,][^$]*)? *\$.*", "", row[2])
        if words and not words.endswith(" of") and _AMBIGUOUS not in row[3]:
            found[row[1]] = words
    return found


def setup(app) -> ExtensionMetadata:
    """Connect to the writer of formulas; Sphinx calls this."""
    app.connect("builder-inited", _name_symbols, priority=950)  # after press.plain_formulas
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _name_symbols(app) -> None:
    known = meanings((Path(app.srcdir) / "book" / "notation.md").read_text(encoding="utf-8"))
    visit, depart = app.registry.html_inline_math_renderers["mathjax"]

    def visited(self, node) -> None:
        try:
            visit(self, node)
        except nodes.SkipNode:
            words = known.get(node.astext().strip())
            if words and self.docnames[0].startswith("notebooks/"):
                seen = self.__dict__.setdefault("named_symbols", set())
                stop = "" if words in seen else ' tabindex="0"'
                seen.add(words)
                self.body[-1] = self.body[-1].replace("<span", f'<span title="{html.escape(words)}"{stop}', 1)
            raise

    app.registry.html_inline_math_renderers["mathjax"] = (visited, depart)
