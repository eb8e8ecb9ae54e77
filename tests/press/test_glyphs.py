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
    assert len(page) < 0.6 * sum(map(len, whole)) and "xtick" not in page and "axes_1" in page
    assert "scale(0.105 -0.105)" in page, "sizes of letters keep their decimals"


def test_no_letter_is_lost():
    count = lambda svg: len(re.findall("<use ", svg))
    whole = drawings()
    assert list(map(count, lightened(whole)[1])) == list(map(count, whole))
    (short,) = lightened(whole[:1])[1]
    assert 'aria-label="alt"' in short and lightened(["<svg></svg>"])[1] == ["<svg></svg>"]


def test_a_minus_sign_in_an_exponent_is_thick_enough_to_be_seen():
    with style():
        figure, axis = canvas()
        axis.set_title("$10^{-2}$")
    letters, _ = lightened([Figure("demo_3", figure, {"x": np.zeros(1)}, "alt").svg()])
    thick = re.findall(r'd="([^"]*)" transform="translate\(0 ([-\d.]+)\) scale\(0.015625 0.028125\)"', letters)
    assert len(thick) == 1, "the minus, and no digit"
    heights = [float(y) for y in re.findall(r"-?[\d.]+ (-?[\d.]+)", thick[0][0])]
    middle = (max(heights) + min(heights)) / 2
    assert abs(middle * 0.028125 + float(thick[0][1]) - middle * 0.015625) < 0.1, "it stays where it was"


def test_panels_of_fixed_proportions_leave_no_empty_strips():
    def heights(aspect):
        with style():
            figure, axis = canvas(width=4, height=4)
            axis.set(xlim=(0, 6), ylim=(0, 2), aspect=aspect, xlabel="below it")
        whole = Figure("demo_4", figure, {"x": np.zeros(1)}, "alt").svg()
        size = lambda svg: [float(n) for n in re.search(r'viewBox="([^"]*)"', svg)[1].split()]
        return size(whole), size(lightened([whole])[1][0])

    whole, cropped = heights("equal")
    assert cropped[1] > 30 and 100 < cropped[3] < whole[3] - 60 and cropped[::2] == whole[::2]
    assert heights("auto")[0] == heights("auto")[1]


def test_groups_that_say_nothing_go_and_what_is_in_them_stays():
    svg = '<svg><g><g id="axes_1"><g><g style="fill: red"><use/></g></g><g/><path/></g></g><!-- 10 --><g>x</g></svg>'
    assert lightened([svg])[1] == ['<svg><g id="axes_1"><g style="fill: red"><use/></g><g/><path/></g>x</svg>']


def test_marks_of_one_style_in_a_row_have_it_once():
    mark = '<use href="#m" x="{}" style="{}"/>'.format
    row = lambda *styles: "<svg>" + "".join(mark(x, style) for x, style in enumerate(styles)) + "</svg>"
    (light,) = lightened([row("fill: red", "fill: red", "fill: blue")])[1]
    assert light == (
        '<svg><g style="fill: red"><use href="#m" x="0"/><use href="#m" x="1"/></g>'
        '<use href="#m" x="2" style="fill: blue"/></svg>'
    )
    for kept in ("opacity: 0.5", "fill: red; opacity: 0.5"):  # of a group it would be one veil over all
        assert lightened([row(kept, kept)])[1] == [row(kept, kept)]
    assert "<g style" in lightened([row("fill-opacity: 0.5", "fill-opacity: 0.5")])[1][0]
