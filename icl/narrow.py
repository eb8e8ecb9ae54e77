"""The same picture for a narrow column, as on a phone: its panels below each other, its letters as large as before.

Axes keep what is drawn in them; only their places, the labels that a neighbour had spared them, and legends change.
"""

import re
from math import ceil

from matplotlib.figure import Figure as Canvas
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text

WIDTH = 4.0  # inches: shown 312 px wide, letters of 8.5 points are 9 px high
LEAST = 8.5  # points
_WIDEST = 0.96  # share of the width that one line of words may take


def narrow(canvas: Canvas) -> None:
    """Lay the canvas out anew, `WIDTH` inches wide; a grid keeps half its columns, one of two or three panels one."""
    axes = [axis for axis in canvas.axes if axis.get_subplotspec()]
    rows, columns = axes[0].get_gridspec().get_geometry() if axes else (1, 1)
    height = canvas.get_figheight()
    if columns > 1:
        height = _regrid(canvas, axes, rows, max(columns // 2, 1))
    canvas.set_size_inches(WIDTH, height)
    for text in canvas.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), LEAST))
    canvas.draw_without_rendering()  # once, for all that is measured below
    within = [axes[0].get_legend()] if len(axes) == 1 and axes[0].get_legend() else []  # of a panel that got narrower
    for legend in [*canvas.legends, *within]:
        _fit_legend(canvas, legend, above=legend in within)
    _fit_words(canvas)


def _regrid(canvas: Canvas, axes: list, rows: int, columns: int) -> float:
    """Move the axes into a grid of fewer columns, rows as high as before; returns the new height in inches."""
    old = axes[0].get_gridspec()
    ratios = old.get_height_ratios() or [1] * rows
    unit = canvas.get_figheight() / sum(ratios)
    at, heights, places = 0, [], []
    for row in range(rows):
        here = [axis for axis in axes if axis.get_subplotspec().rowspan.start == row]
        for k, axis in enumerate(here):
            spans = axis.get_subplotspec().colspan
            whole = len(spans) == old.ncols
            places.append((axis, at + k // columns, None if whole else k % columns))
            if k and k % columns == 0:
                _own_labels(axis, here[0])
        needed = ceil(len(here) / columns)
        heights += [unit * sum(ratios[r] for r in here[0].get_subplotspec().rowspan)] * needed
        at += needed
    grid = GridSpec(at, columns, figure=canvas, height_ratios=heights)
    for axis, row, column in places:
        axis.set_subplotspec(grid[row, :] if column is None else grid[row, column])
    return sum(heights)


def _own_labels(axis, first) -> None:
    """What stood once beside a row of panels stands beside each."""
    if axis.get_shared_y_axes().joined(axis, first):
        axis.tick_params(axis="y", labelleft=True)
        axis.set_ylabel(axis.get_ylabel() or first.get_ylabel(), fontsize=first.yaxis.label.get_fontsize())


def _fit_legend(canvas: Canvas, legend, *, above: bool) -> None:
    """A legend beside all panels, or `above` them, in as many columns as there is room for."""
    words = [text.get_text() for text in legend.get_texts()]
    # what was drawn, where it can be had: the legend's own copy of a line with error bars has lost its mark
    drawn = {word: one for axis in canvas.axes for one, word in zip(*axis.get_legend_handles_labels(), strict=True)}
    handles = [drawn.get(word, copy) for word, copy in zip(words, legend.legend_handles, strict=True)]
    options = {"fontsize": legend.get_texts()[0].get_fontsize(), "columnspacing": 1.2, "handlelength": 1.6}
    if title := legend.get_title().get_text():
        options["title"] = title
    box, widest = legend.get_window_extent(), max(text.get_window_extent().width for text in legend.get_texts())
    side = "upper" if above or box.y0 + box.y1 > canvas.bbox.height else "lower"
    beside = 3.8 * options["fontsize"] * canvas.dpi / 72  # a handle, and what keeps it from its neighbours
    legend.remove()
    count = int(canvas.bbox.width // (widest + beside))
    count = min(max(count, 1), len(words))
    canvas.legend(handles, words, loc=f"outside {side} center", ncols=count, **options)
    if above:  # its room is not the panel's
        canvas.set_figheight(canvas.get_figheight() + 0.21 * ceil(len(words) / count))


def _fit_words(canvas: Canvas) -> None:
    """Titles and labels that are wider than the figure go on in a second line."""
    room = _WIDEST * canvas.bbox.width
    labels = [text for text in (getattr(canvas, name) for name in ("_suptitle", "_supxlabel")) if text]
    labels += [text for axis in canvas.axes for text in (axis.title, axis._left_title, axis.xaxis.label)]
    for text in labels:
        box = text.get_window_extent()
        if box.width > room or (text.get_text() and box.x1 > canvas.bbox.width):
            text.set_text(_two_lines(text.get_text()))


def _two_lines(words: str) -> str:
    """Broken at the blank nearest to the middle that is in no formula."""
    outside = re.sub(r"\$[^$]*\$", lambda formula: "x" * len(formula[0]), words)
    blanks = [k for k, letter in enumerate(outside) if letter == " "]
    if not blanks:
        return words
    at = min(blanks, key=lambda k: abs(k - len(words) / 2))
    return f"{words[:at]}\n{words[at + 1 :]}"
