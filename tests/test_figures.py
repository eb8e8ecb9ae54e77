"""Figures: same bytes, ink that follows the page, ids of their own, numbers beside them."""

import re
from itertools import combinations, count
from types import SimpleNamespace

import numpy as np
import pytest
from browser import contrast
from matplotlib import legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

from icl.figures import COLOURS, INK, SIGNED, WORDS, Figure, canvas, heat_maps, style
from icl.narrow import LEAST, narrow
from icl.validation import InputError


def draw(name="demo", alt='a line & a "dot"'):
    with style():
        figure, axis = canvas()
        axis.plot([0, 1], [1, 2], color=COLOURS["gd"])
        axis.plot([0.5], [1.5], "o", color=INK)
    return Figure(name, figure, {"x": np.array([0.0, 1.0]), "y": np.array([1 / 3])}, alt)


def test_same_numbers_same_bytes():
    assert draw().svg() == draw().svg()


def test_a_drawing_leaves_the_canvas_as_it_was():
    """So that the narrow drawing, made of the same canvas, is the same before the wide one and after it."""
    first, second = two_panels(), two_panels()
    engine, dpi = first.canvas.get_layout_engine(), first.canvas.dpi
    wide, narrow = first.svg(), first.narrow_svg()
    assert (narrow, wide) == (second.narrow_svg(), second.svg())
    assert first.canvas.get_layout_engine() is engine and first.canvas.dpi == dpi


def test_a_canvas_without_a_layout_is_drawn_as_it_stands():
    figure = two_panels()
    figure.canvas.set_layout_engine("none")
    assert figure.svg() != two_panels().svg() and "<svg" in figure.narrow_svg()
    bare = two_panels()
    bare.canvas.set_layout_engine(None)
    assert bare.svg() == figure.svg() and bare.canvas.get_layout_engine() is None


def test_marks_on_the_edge_are_whole_and_lines_that_leave_the_frame_are_cut():
    with style():
        figure, axis = canvas()
        (edge,) = axis.plot([0, 1], [1, 2], "o")
        (leaves,) = axis.plot([0, 2], [1, 2], "o-")
        (plain,) = axis.plot([0, 1], [1, 2])
        axis.set(xlim=(0, 1), ylim=(1, 2))
    Figure("demo", figure, {"x": np.array([0.0])}, "alt").svg()
    assert [line.get_clip_on() for line in (edge, leaves, plain)] == [False, True, True]


def two_panels():
    with style():
        figure, (left, right) = canvas(1, 2, height=3.0, sharey=True)
        left.plot([0, 1], [1, 2], label="a line with many words")
        right.plot([0, 1], [1, 3], label="another line with many words")
        left.set_ylabel("risk", fontsize=7)
        right.set_title("a title that is so long that it has no room in a narrow column, and an $x + y$")
        figure.legend(loc="outside lower center", ncols=2)
    return Figure("two", figure, {"x": np.zeros(1)}, "alt")


def test_the_narrow_drawing_has_its_panels_below_each_other():
    figure = two_panels()
    assert figure.narrow_svg() == two_panels().narrow_svg()
    assert figure.canvas.get_figwidth() == 7.2, "it takes nothing from the other"
    narrow(figure.canvas)
    figure.canvas.draw_without_rendering()
    above, below = (axis.get_tightbbox() for axis in figure.canvas.axes)
    assert above.y0 > below.y1 and abs(above.x0 - below.x0) < 5
    assert [axis.get_ylabel() for axis in figure.canvas.axes] == ["risk", "risk"]
    (legend,) = figure.canvas.legends
    parts = [above, below, legend.get_window_extent()]
    assert min(part.x0 for part in parts) >= 0 and max(part.x1 for part in parts) <= figure.canvas.bbox.width
    assert min(text.get_fontsize() for text in figure.canvas.findobj(Text)) >= LEAST
    assert "\n" in figure.canvas.axes[1].get_title(loc="left")


def test_a_title_starts_where_its_panel_was_drawn():
    """A tall matrix with square cells gives up room at its left, and its title with it, only when it is drawn."""
    with style():
        tall = np.arange(12.0).reshape(6, 2)
        figure, axes, _ = heat_maps({"one head": tall, "with its mirror image": tall, "all turns": tall}, height=3.6)
        axes[0].set_yticks(np.arange(6) + 0.5, 6 * ["$x_1 x_1$"])
        for axis in axes:
            axis.set_xticks([0.5, 1.5], ["$x_1$", "$x_2$"])
        narrow(figure)
    assert [axis.get_title(loc="left") for axis in axes] == ["one head", "with its\nmirror image", "all turns"]


def test_a_grid_of_small_panels_keeps_half_its_columns():
    with style():
        figure, axes = canvas(2, 6)
        whole = figure.add_subplot(axes[0, 0].get_gridspec()[0, :])
    for axis in axes[0]:
        axis.remove()
    narrow(figure)
    figure.draw_without_rendering()
    places = [axis.get_subplotspec() for axis in axes[1]]
    assert [(place.rowspan.start, place.colspan.start) for place in places] == [(1 + k // 3, k % 3) for k in range(6)]
    assert len(whole.get_subplotspec().colspan) == 3 and whole.get_subplotspec().rowspan.start == 0


def test_letters_are_of_the_pages_face():
    from matplotlib import font_manager

    with style():
        assert font_manager.findfont("CMU Serif").endswith("cmu-serif-regular.ttf")


def test_ink_follows_the_page():
    svg = draw().svg()
    assert INK not in svg and "currentColor" in svg
    assert not re.search(r"#(000000|ffffff)", svg), "black or white is invisible on one of the two themes"


def test_two_figures_on_a_page_share_no_id():
    ids = [set(re.findall(r'\bid="([^"]+)"', draw(name).svg())) for name in ("one", "two")]
    assert ids[0] and not ids[0] & ids[1]
    references = set(re.findall(r'(?:href="#|url\(#)([^")]+)', draw("one").svg()))
    assert references <= ids[0]
    assert not ids[0] & set(re.findall(r'\bid="([^"]+)"', draw("one").narrow_svg()))


def test_alternative_text_is_escaped():
    assert 'aria-label="a line &amp; a &quot;dot&quot;"' in draw().svg()


def test_csv_reads_back_exactly(tmp_path):
    from icl.files import read_csv

    entry = draw().write(tmp_path)
    columns = read_csv(tmp_path / "demo.csv")
    assert columns["y"][0] == 1 / 3 and len(columns["x"]) == 2
    assert entry.columns == ["x", "y"] and entry.rows == 3


def test_heat_maps_show_small_entries_and_leave_the_page_where_there_is_nothing():
    opacity = SIGNED(np.array([0.0, 0.3, 0.45, 0.5, 0.55, 0.7, 1.0]))[:, 3]
    assert opacity == pytest.approx([1, 0.4, 0.1, 0, 0.1, 0.4, 1], abs=0.01)


def _linear(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _oklab(colour):
    """Lightness and the two opponent axes, times 100: Ottosson's OKLab (2020), in which distances are as they look."""
    cones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
             [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
    axes = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip
    return 100 * np.array(axes) @ np.cbrt(np.array(cones) @ _linear(colour))


def test_predictors_have_colours_that_tell_them_apart():
    distances = {
        (one, other): np.linalg.norm(_oklab(COLOURS[one]) - _oklab(COLOURS[other]))
        for one, other in combinations(COLOURS, 2)
    }
    assert min(distances.values()) > 7, min(distances, key=distances.get)


@pytest.mark.parametrize("ground", ["#ffffff", "#14181e"], ids=["light", "dark"])
def test_predictors_are_seen_on_the_page(ground):
    luminance = lambda colour: _linear(colour) @ [0.2126, 0.7152, 0.0722] + 0.05
    for name, colour in COLOURS.items():
        low, high = sorted((luminance(ground), luminance(colour)))
        assert high / low >= 3, name


def test_bad_input():
    with pytest.raises(InputError, match="1-D"):
        Figure("x", None, {"a": np.zeros((2, 2))}, "alt")
    with pytest.raises(InputError, match="method must be"):
        Figure("x", None, {"a": np.zeros(2)}, "alt", method="guess")


@pytest.mark.parametrize("method, rtol", [("exact", 1e-9), ("monte-carlo", 1e-9), ("trained", 1e-5)])
def test_a_figure_says_how_far_its_numbers_may_drift(tmp_path, method, rtol):
    with style():
        figure, _ = canvas()
    entry = Figure("f", figure, {"x": np.zeros(2)}, "alt", method=method).write(tmp_path)
    assert (entry.rtol, entry.alt) == (rtol, "alt")


@pytest.mark.parametrize("name", COLOURS)
@pytest.mark.parametrize("ink, ground", [((34, 40, 50), (255, 255, 255)), ((206, 214, 221), (20, 24, 30))])
def test_words_in_a_colour_are_read_on_both_grounds(name, ink, ground):
    part = float(re.search(r"([\d.]+)%", WORDS)[1]) / 100
    words = [part * int(COLOURS[name][k : k + 2], 16) + (1 - part) * ink[k // 2] for k in (1, 3, 5)]
    assert contrast(f"rgb({words})", f"rgb{ground}") > 4.5


def test_words_are_mixed_with_the_ink_and_lines_are_not():
    with style():
        figure, axis = canvas()
        axis.text(0.5, 0.5, "a word", color=COLOURS["gd"])
        axis.plot([0, 1], [0, 1], "o-", color=COLOURS["gd"])
    assert Figure("words", figure, {"x": np.zeros(1)}, "a word").svg().count(WORDS.format(COLOURS["gd"])) == 1


def test_a_narrow_legend_keeps_the_marks_of_lines_with_error_bars():
    with style():
        figure, axis = canvas()
        axis.errorbar([0, 1], [0, 1], [0.1, 0.1], fmt="D", color=COLOURS["gd"], label="measured")
        figure.legend(loc="outside lower center")
        narrow(figure)
    assert "D" in {line.get_marker() for line in figure.legends[0].findobj(Line2D)}


def test_a_machine_that_stalls_breaks_no_picture(monkeypatch):
    """matplotlib warns of a legend that took more than a second to place, and warnings are errors."""
    with style():
        figure, axis = canvas()
        axis.plot([0, 1], [0, 1], label="a line")
        axis.legend()
    clock = count(step=2)
    monkeypatch.setattr(legend, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    drawn = Figure("stalled", figure, {"x": np.zeros(1)}, "a line")
    assert "<svg" in drawn.svg() and "<svg" in drawn.narrow_svg() and next(clock) > 2
