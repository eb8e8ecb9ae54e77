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
    app.connect("autodoc-process-signature", _sign)
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


def readable(signature: str) -> str:
    """A signature in which a default that is a function or class goes by its name, which can be read and stays."""
    return re.sub(r"<(?:function|class) '?([\w.]+)'?(?: at 0x\w+)?>", r"\1", signature)


def _plain(line: str) -> str:
    """One line with its backticks doubled and all else that has a meaning escaped."""
    parts = re.split(r"(`[^`]+`)", line.strip())
    return "".join(f"``{part[1:-1]}``" if part[:1] == "`" else re.sub(r"([\\*_|`])", r"\\\1", part) for part in parts)


def _process(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def _sign(app, what, name, obj, options, signature: str | None, returns: str | None):
    if what == "class" and hasattr(obj, "model_fields"):  # of a file's schema: pydantic's own words say nothing here
        return "", None
    return signature and readable(signature), returns
