"""A chapter's picture in little, for the map: the first panel of its explorable or figure, without letters."""

import re
from xml.etree import ElementTree

from bs4 import BeautifulSoup

from icl.chapters import CHAPTERS
from press.finished import FinishedChapter
from press.pages.panels import drawn

_PANEL = "43 25 285 180"  # what a panel's axes enclose
_HREF = "{http://www.w3.org/1999/xlink}href"
_BOOKKEEPING = re.compile(r"-(text|legend|matplotlib\.axis)_\d+$")
ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def thumbnail(chapter: FinishedChapter, x: float, y: float, width: float, height: float) -> str:
    """The drawing as an SVG to be put into another, at its place there; a screen reader passes over it."""
    view, shapes = _panel(chapter) or _axes(chapter)
    box = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" viewBox="{view}" preserveAspectRatio="none"'
    return f'<svg class="icl-explorable icl-thumbnail" {box} aria-hidden="true">{shapes}</svg>'


def _panel(chapter: FinishedChapter) -> tuple[str, str] | None:
    shown = (
        out.get("data", {}).get("text/html", "") for cell in chapter.notebook.cells for out in cell.get("outputs", [])
    )
    page = next((text for text in shown if "data-explorable=" in text), None)
    if page is None:
        return None
    panel = BeautifulSoup(drawn(page), "html.parser").select_one(".panels svg")
    frame, *_ = panel.select("path.axis")
    points = [(dot["cx"], dot["cy"], " ".join(dot["class"])) for dot in panel.select("circle.point")]
    dots = [f'<path class="dot {look}" d="M{x} {y}h0"/>' for x, y, look in points]  # round, however it is stretched
    return _PANEL, "".join(map(str, [frame, *panel.select("path.line, path.band"), *dots]))


def _axes(chapter: FinishedChapter) -> tuple[str, str]:
    guess = CHAPTERS[chapter.name].guess
    name = guess.picture if guess and guess.picture else next(iter(chapter.figures), "")
    shown = chapter.figures.get(name, {}).get("svg", "<svg/>")
    picture = ElementTree.fromstring(shown)
    axes = picture.find(f".//*[@id='{name}-axes_1']")
    if axes is None:
        return "0 0 1 1", ""
    ground = axes.find(f"./*[@id='{name}-patch_2']/*").get("d")
    corners = [tuple(map(float, pair)) for pair in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", ground)]
    (left, right), (top, bottom) = ((min(c), max(c)) for c in zip(*corners, strict=True))
    for part in list(axes):
        if _BOOKKEEPING.search(part.get("id", "")):
            axes.remove(part)
    for part in axes.iter():
        part.attrib.pop("clip-path", None)  # what leaves the axes leaves the thumbnail
        for key, mark in (("id", ""), (_HREF, "#")):
            if part.get(key, "").startswith(f"{mark}{name}"):
                part.set(key, f"{mark}map-{part.get(key).removeprefix(mark)}")
    shapes = ElementTree.tostring(axes, encoding="unicode")
    return f"{left:g} {top:g} {right - left:g} {bottom - top:g}", shapes
