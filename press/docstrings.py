"""A Sphinx extension that reads the house's docstrings: plain words, `code` in single backticks, formulas indented.

Sphinx takes them for reStructuredText, in which |b|², x_t' and X* mean something else; here they mean themselves.
"""

import re
from collections.abc import Iterable

from sphinx.util.typing import ExtensionMetadata

_START = "\\ "  # nothing, but no line that begins with it is a list, a field or a heading


def setup(app) -> ExtensionMetadata:
    """Connect the step; Sphinx calls this."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.autosummary")
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def as_rst(lines: Iterable[str]) -> list[str]:
    """A docstring's lines as reStructuredText that shows what they say."""
    found: list[str] = []
    for block in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines).strip("\n")):
        if block.startswith("    "):  # a formula or an example, as it stands
            found += [".. code-block:: text", "", *(f"    {line}" for line in block.splitlines()), ""]
        elif block.strip():
            found += [_START + "\n".join(map(_plain, block.splitlines())), ""]
    return "\n".join(found).splitlines()


def _plain(line: str) -> str:
    """One line with its backticks doubled and all else that has a meaning escaped."""
    parts = re.split(r"(`[^`]+`)", line.strip())
    return "".join(f"``{part[1:-1]}``" if part[:1] == "`" else re.sub(r"([\\*_|`])", r"\\\1", part) for part in parts)


def _process(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = as_rst(lines)
