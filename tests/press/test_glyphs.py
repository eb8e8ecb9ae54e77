"""Letters' outlines shared by a page's figures."""

import re

import numpy as np

from icl.figures import Figure, canvas, style
from press.pages.glyphs import lightened


def drawings():
    with style():
        figure, axis = canvas()
        axis.plot([0, 1], [1, 2], "o-")
        axis.set_title("a word and $x^2$")
    drawn = Figure("demo_2", figure, {"x": np.zeros(1)}, "alt")
    return [drawn.svg(), drawn.narrow_svg()]


def test_every_letter_stands_once_and_every_reference_leads_somewhere():
    whole = drawings()
    letters, light = lightened(whole)
    page = letters + "".join(light)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)
    assert len(page) < 0.65 * sum(map(len, whole))
    assert "scale(0.105 -0.105)" in page, "sizes of letters keep their decimals"


def test_no_letter_is_lost():
    count = lambda svg: len(re.findall("<use ", svg))
    whole = drawings()
    assert list(map(count, lightened(whole)[1])) == list(map(count, whole))
    (short,) = lightened(whole[:1])[1]
    assert 'aria-label="alt"' in short and lightened(["<svg></svg>"])[1] == ["<svg></svg>"]
