"""One look for all pictures: vector, right on light and dark pages, with the plotted numbers beside each.

A figure is drawn with matplotlib, its ink becomes the page's own text colour, and its data go into a CSV file.
The same numbers give the same bytes.
"""

import html
import io
import pickle
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.figure import Figure as Canvas

from icl.estimates import DRIFT
from icl.files import csv_text, sha256, write_atomically
from icl.narrow import narrow
from icl.validation import InputError

# One colour per predictor throughout the book (Okabe and Ito's colour-blind-safe palette, adjusted so that
# each keeps a contrast of 3:1 on white and on the dark page).
COLOURS = {
    "zero": "#8c8c8c",
    "gd": "#d55e00",
    "newton": "#0f8fa8",
    "preconditioned": "#7b5fe0",
    "bayes": "#0072b2",
    "least_squares": "#b0629e",
    "attention_only": "#806040",
    "block": "#c2417c",
    "trained_exact": "#009e73",
    "trained_sampled": "#c98200",
}
# Heat maps: blue below 0, orange above, nothing at 0, so that the page itself is the zero, white or dark.
SIGNED = LinearSegmentedColormap.from_list(
    "signed",
    [
        (0.0, (0.0, 0.45, 0.7, 1.0)),
        (0.5, (0.0, 0.45, 0.7, 0.0)),
        (0.5, (0.84, 0.37, 0.0, 0.0)),
        (1.0, (0.84, 0.37, 0.0, 1.0)),
    ],
)
font_manager.fontManager.addfont(Path(__file__).parent / "fonts" / "cmu-serif-regular.ttf")
_INK = "#010203"  # stands for the page's text colour; no other element may use it

_STYLE = {
    "svg.fonttype": "path",
    "font.size": 11,  # the face is cut a tenth larger than formulas: its small letters are low
    "font.family": ["CMU Serif", "DejaVu Serif"],  # the pages' face; the second for signs that it lacks
    "mathtext.fontset": "cm",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.5,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "legend.fontsize": 10.5,
    "axes.titlelocation": "left",
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
INK = _INK
WORDS = "color-mix(in srgb, {} 60%, currentColor)"  # a colour as that of letters: 4.5:1 on both grounds
NARROW = "narrow.svg"  # suffix of the second drawing


@contextmanager
def style():
    """Matplotlib in the book's look, independent of any local configuration."""
    with warnings.catch_warnings(), matplotlib.rc_context():
        # told by the clock: on a machine that stalls for a second it would be an error of any build
        warnings.filterwarnings("ignore", 'Creating legend with loc="best" can be slow')
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def canvas(rows: int = 1, columns: int = 1, *, width: float = 7.2, height: float = 3.4, **options):
    """A matplotlib figure (width × height inches) and its axes; call it inside `style()`."""
    figure = Canvas(figsize=(width, height))
    return figure, figure.subplots(rows, columns, **options)


def heat_maps(matrices: dict[str, np.ndarray], *, height: float):
    """Matrices side by side under their names, all on one colour scale around 0; call it inside `style()`.

    Returns the figure, its axes, and the matrices as columns for the CSV, named by what stands before a comma.
    """
    top = max(np.abs(matrix).max() for matrix in matrices.values())
    figure, axes = canvas(1, len(matrices), height=height, sharey=True)
    for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
        mesh = axis.pcolormesh(matrix, cmap=SIGNED, norm=TwoSlopeNorm(0, -top, top), edgecolors="none")
        axis.set(title=name, xticks=[], yticks=[], aspect="equal")
        axis.invert_yaxis()
        axis.spines[:].set_visible(False)
    bar = figure.colorbar(mesh, ax=axes, fraction=0.03, shrink=0.85)
    bar.outline.set_visible(False)
    columns = {name.split(",")[0].replace(" ", "_"): matrix.ravel() for name, matrix in matrices.items()}
    return figure, axes, columns


@contextmanager
def _laid_out(canvas: Canvas):
    """With its panels in their places: of a canvas that has yet to find them, `savefig` makes two drawings."""
    FigureCanvasSVG(canvas)  # words are as wide as in the file
    engine, dpi, canvas.dpi = canvas.get_layout_engine(), canvas.dpi, 72
    if engine:
        engine.execute(canvas)
    with matplotlib.rc_context({"figure.constrained_layout.use": False}):
        canvas.set_layout_engine(None)
        yield
        canvas.set_layout_engine(engine)
    canvas.dpi = dpi


def _unclip(canvas: Canvas) -> None:
    """Marks on the edge of a frame are drawn whole; a line that leaves the frame, or is nowhere, is still cut there."""
    for axis in canvas.axes:
        (left, right), (low, high) = sorted(axis.get_xlim()), sorted(axis.get_ylim())
        for line in axis.lines:
            x, y = (np.ma.masked_invalid(np.asarray(data, dtype=float)) for data in line.get_data(orig=False))
            inside = (x >= left) & (x <= right) & (y >= low) & (y <= high)
            marked = line.get_marker() not in ("None", None, "", " ") and line.get_transform() == axis.transData
            if marked and inside.count() and inside.all():
                line.set_clip_on(False)


@dataclass(frozen=True)
class Figure:
    """A picture with its numbers.

    name : file stem; canvas : the matplotlib figure; columns : name → 1-D numbers, the plotted data; alt : the
    sentence a screen reader says; method : how the numbers were made (`exact`, `monte-carlo` or `trained`), which
    sets how far they may drift.
    """

    name: str
    canvas: Canvas
    columns: dict[str, np.ndarray]
    alt: str
    method: str = "exact"

    def __post_init__(self):
        if not re.fullmatch(r"\w+", self.name, flags=re.ASCII):  # it becomes a file's name and a link
            raise InputError(f"a figure's name is letters, digits and _, not {self.name!r}.")
        if self.method not in DRIFT:
            raise InputError(f"method must be one of {', '.join(DRIFT)}, not {self.method!r}.")
        for name, column in self.columns.items():
            if np.ndim(column) != 1:
                raise InputError(f"the column {name!r} of {self.name} must be 1-D, not {np.ndim(column)}-D.")

    def write(self, folder: Path):
        """Write `<name>.svg`, `.narrow.svg` and `.csv` into `folder`; returns the `ledger.FigureRecord` of them."""
        from icl.ledger import FigureRecord  # drawing needs no ledger, and the library installs without what it needs

        files = {"svg": self.svg(), NARROW: self.narrow_svg(), "csv": self.csv()}
        for suffix, content in files.items():
            write_atomically(folder / f"{self.name}.{suffix}", content)
        return FigureRecord(
            alt=self.alt,
            columns=list(self.columns),
            rows=files["csv"].count("\n") - 1,
            rtol=DRIFT[self.method],
            sha256={suffix: sha256(content) for suffix, content in files.items()},
        )

    def csv(self) -> str:
        """The columns as CSV with 17 significant digits; see `files.csv_text`."""
        return csv_text(self.columns)

    def svg(self) -> str:
        """The picture as SVG for inlining: the page's text colour as ink, ids of its own, an alternative text."""
        return self._svg

    def narrow_svg(self) -> str:
        """The same picture for a narrow column, with ids of its own: see `icl.narrow`."""
        return self._narrow_svg

    @cached_property  # like the next: for its file, and for the page that shows it too; drawing takes most of its time
    def _svg(self) -> str:
        return self._drawn(self.canvas, self.name)

    @cached_property
    def _narrow_svg(self) -> str:
        copy = pickle.loads(pickle.dumps(self.canvas))  # matplotlib's way, so no lambda may hang on its axes
        with style():
            narrow(copy)
        return self._drawn(copy, f"{self.name}-narrow").replace("icl-figure", "icl-figure icl-narrow", 1)

    def _drawn(self, canvas: Canvas, id: str) -> str:
        _unclip(canvas)
        buffer = io.StringIO()
        with style(), matplotlib.rc_context({"svg.hashsalt": id, "svg.id": f"icl-{id}"}), _laid_out(canvas):
            canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        svg = buffer.getvalue()
        svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
        # words in a predictor's colour: what is enough for a line is too pale for letters
        letters = r'(?<=<g style="fill: )#\w{6}(?=" transform="translate)'
        svg = re.sub(letters, lambda colour: f"{colour[0]}; fill: {WORDS.format(colour[0])}", svg)
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
        # matplotlib's rule is for every element, so once inline it would reach the whole page
        svg = re.sub(r'<style type="text/css">\*\{([^}]*)\}</style>', rf"<style>#icl-{id} *{{\1}}</style>", svg)
        svg = re.sub(r'(\bid="|href="#|url\(#)(?!icl-)', rf"\1{id}-", svg)  # ids are the page's, not the file's
        label = html.escape(self.alt, quote=True)
        return svg.replace("<svg", f'<svg class="icl-figure" role="img" aria-label="{label}"', 1)

    def _repr_mimebundle_(self, **_) -> dict:
        return {"text/html": self.svg(), "text/plain": f"{self.name}: {self.alt}"}
