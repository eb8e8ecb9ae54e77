"""A page's figures, made light: every letter's outline stands once on the page, whatever figures it is in.

Files that are downloaded stay whole; this is for what is inlined, each figure twice (`icl.narrow`).
"""

import re
import zlib
from collections.abc import Iterable

_NAMED = r"\w+?(?:-narrow)?-"  # the figure's name, which is no part of the letter's
_OUTLINE = re.compile(rf'<path id="{_NAMED}([^"]+)" (d="[^"]*" transform="scale\(0\.015625\)"/>)')
_USE = re.compile(rf'<use xlink:href="#{_NAMED}([^"]+)"')
_SCALE, _THICKER = 0.015625, 1.8
_DECIMALS = re.compile(r"(\.\d\d)\d+")
_DRAWN = re.compile(r'(?<= )d="[^"]*"|translate\([^)]*\)|(?<= )[xy]="[^"]*"')
_MARK = re.compile(r"(?<=[\"#])[\w-]+-m[0-9a-f]{10}(?=\")")
_TICK = re.compile(r'<path id="([^"]+)" d="M 0 0 L [-\d. ]+"')  # a line alone: it has its own stroke, and no inside
# Marks of one style in a row; opacity is not inherited, and of a group would be one veil over all.
_ALIKE = re.compile(r'<use [^>]*?( style="(?!(?:[^"]* )?opacity)[^"]*")/>(?:<use [^>]*?\1/>)+')
_NUMBERED = re.compile(r'<g id="[\w-]+-(?:[xy]tick|line2d|text|LineCollection)_\d+">')  # nobody asks for these by name


def lightened(drawings: Iterable[str]) -> tuple[str, list[str]]:
    """The letters' outlines as an SVG of its own, and the drawings, which refer to it."""
    outlines: dict[str, str] = {}
    drawings = [_light(svg, outlines) for svg in drawings]
    paths = "".join(f'<path id="{name}" {rest}' for name, rest in sorted(outlines.items()))
    return (
        f'<svg width="0" height="0" style="position: absolute" aria-hidden="true"><defs>{paths}</defs></svg>',
        drawings,
    )


def _light(svg: str, outlines: dict[str, str]) -> str:
    def take(found: re.Match) -> str:
        outlines[_short(found[1])] = _seen(re.sub(r"\s+", " ", found[2]))
        return ""

    def use(found: re.Match) -> str:
        return f'<use xlink:href="#{_short(found[1])}"' if _short(found[1]) in outlines else found[0]

    svg = _USE.sub(use, _OUTLINE.sub(take, _cropped(svg)))
    svg = _NUMBERED.sub("<g>", _DRAWN.sub(lambda found: _DECIMALS.sub(r"\1", found[0]), svg))
    svg = re.sub(r">\s+<", "><", re.sub(r"<!--.*?-->", "", svg, flags=re.S))
    svg = _ungrouped(re.sub(r"\s*\n\s*", " ", svg).replace("<defs></defs>", ""))
    ticks = "|".join(map(re.escape, _TICK.findall(svg)))
    svg = re.sub(rf'(<use xlink:href="#(?:{ticks})"[^>]*?) style="[^"]*"', r"\1", svg) if ticks else svg
    svg = _ALIKE.sub(lambda found: f"<g{found[1]}>{found[0].replace(found[1], '')}</g>", svg)
    return _MARK.sub(lambda found: f"m{zlib.crc32(found[0].encode()):x}", svg).replace("<use xlink:href", "<use href")


def _ungrouped(svg: str) -> str:
    """Without the groups that say nothing of what is in them."""
    kept = []

    def tag(found: re.Match) -> str:
        if found[0] != "</g>":
            kept.append(found[0] != "<g>")
            return found[0] if kept[-1] else ""
        return found[0] if kept.pop() else ""

    return re.sub(r"<g(?: [^>]*[^/>])?>|</g>", tag, svg)


def _cropped(svg: str) -> str:
    """Without the empty strips that panels of fixed proportions leave above and below in a narrow column."""
    size = re.search(r'height="([\d.]+)pt" viewBox="0 0 ([\d.]+) \1"', svg)
    drawn = re.sub(r'<defs>.*?</defs>|<g id="[\w-]*patch_1">.*?</g>|<use [^>]*transform=[^>]*>', "", svg, flags=re.S)
    heights = [float(y) for y in re.findall(r'(?:[ML] [-\d.]+ |translate\([-\d.]+ |\by=")([-\d.]+)', drawn)]
    if size is None or not heights or "<image" in drawn:
        return svg
    top, bottom = max(min(heights) - 14, 0), min(max(heights) + 6, float(size[1]))
    if float(size[1]) - (bottom - top) < 30:
        return svg
    return svg.replace(size[0], f'height="{bottom - top:g}pt" viewBox="0 {top:g} {size[2]} {bottom - top:g}"')


def _seen(outline: str) -> str:
    """A letter's outline; a minus sign or a dash, thinner than a pixel in an exponent, nearly twice as thick."""
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", outline.split('"')[1])]
    across, up = numbers[::2], numbers[1::2]
    if not up or max(up) - min(up) > 0.08 * (max(across) - min(across)):
        return outline
    lower = (1 - _THICKER) * (max(up) + min(up)) / 2 * _SCALE
    return outline.replace(f"scale({_SCALE})", f"translate(0 {lower:g}) scale({_SCALE} {_THICKER * _SCALE})")


def _short(name: str) -> str:
    return f"g{zlib.crc32(name.encode()):x}"
