"""The points: corners and Sobol's, inside what the chapters declare, the same for ever."""

import math

import pytest

from icl.chapters import CHAPTERS
from icl.validation import InputError
from press.atlas import points

CONDITIONED = "02_preconditioned_gd"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_s_points_are_its_parameters_and_of_the_atlas_s_size(chapter):
    found = points.points(chapter, 60)
    assert len({tuple(sorted(one.model_dump().items())) for one in found}) == 60
    assert [one.seed for one in found] == list(range(60)) and {one.profile for one in found} == {"claims"}
    assert max(one.d for one in found) == 20 and max(one.n for one in found) == 200


def test_more_points_begin_with_the_fewer():
    assert points.points(CONDITIONED, 300)[:40] == points.points(CONDITIONED, 40)


def test_corners_are_among_them():
    found = [one.model_dump() for one in points.points(CONDITIONED, 40)]
    for corner in ({"d": 1}, {"n": 1}, {"sigma2": 0.0}, {"sigma2": 1e6}, {"condition": 1.0}, {"condition": 1e6}):
        assert any(one.items() >= corner.items() for one in found[:20]), corner
    assert any(one["n"] < one["d"] and one["sigma2"] == 0 for one in found[:20])


def test_logarithmic_ranges_are_filled_by_magnitude_and_begin_with_zero():
    found = points.points(CONDITIONED, 1000)
    noise = sorted(one.sigma2 for one in found)
    assert 0.03 < sum(value == 0 for value in noise) / 1000 < 0.08
    assert math.log10(noise[500]) == pytest.approx(1.3, abs=0.3), "half of them below the middle, 1e-3 to 1e6"
    sizes = [one.d for one in found]
    assert sizes.count(1) > 150 and 1 <= min(sizes) and {*range(1, 21)} == set(sizes)


def test_the_file_is_read_as_it_was_written(tmp_path):
    points.write(tmp_path / "p.csv", list(CHAPTERS), 25)
    assert points.read(tmp_path / "p.csv") == {name: points.points(name, 25) for name in CHAPTERS}


@pytest.mark.parametrize(
    "line, complaint",
    [("no_chapter,0,5", "out of order"), ("01_one_step_gd,7,5", "out of order"), ("01_one_step_gd,0,five", "a value"),
     ("01_one_step_gd,0,0", "d = 0 does not fit")],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(tmp_path, line, complaint):
    (tmp_path / "p.csv").write_text(f"chapter,point,d\n{line}\n")
    with pytest.raises(InputError, match=complaint):
        points.read(tmp_path / "p.csv")
