"""What the pages around the chapters read off their notebooks: title and reading time."""

import math
import re

import nbformat

from press.layout import NOTEBOOKS

# Mathematical prose is read slowly: words a minute, minutes a displayed equation, a figure, a line of visible code.
_WORDS, _EQUATION, _FIGURE, _LINE = 150, 0.25, 0.5, 1 / 30
READING_RULE = "150 words a minute, 15 seconds an equation, 30 a figure, 2 a line of code, rounded up to five minutes"


def title(name: str) -> str:
    """The chapter's heading, from its notebook."""
    source = (NOTEBOOKS / f"{name}.py").read_text(encoding="utf-8")
    return re.search(r"^# # (.+)$", source, flags=re.M).group(1)


def reading_minutes(notebook: nbformat.NotebookNode) -> int:
    """Minutes to read a chapter, estimated from its text by READING_RULE."""
    cells = notebook.cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    hidden = {"hide-input", "remove-cell", "remove-input"}
    code = [
        cell.source for cell in cells if cell.cell_type == "code" and not hidden & set(cell.metadata.get("tags", []))
    ]
    equations = len(re.findall(r"^\s*\$\$\s*$", prose, flags=re.M)) // 2 + prose.count("```{math}")
    figures = prose.count("```{glue:figure}")
    words = len(re.sub(r"\$\$.*?\$\$|\$[^$]*\$", " x ", prose, flags=re.S).split())
    lines = sum(cell.count("\n") + 1 for cell in code)
    minutes = words / _WORDS + equations * _EQUATION + figures * _FIGURE + lines * _LINE
    return 5 * math.ceil(minutes / 5)
