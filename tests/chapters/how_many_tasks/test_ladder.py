"""Chapter 10's ladders: what they keep, what they tend to, and the straight lines through them."""

import numpy as np
import pytest

from icl.chapters import check_parameters
from icl.chapters.how_many_tasks import experiments as chapter
from icl.chapters.how_many_tasks import ladder
from icl.estimates import NotRun
from icl.randomness import Streams

NAME = "10_how_many_tasks"


def small_ladder(monkeypatch, count=(60, 30), sizes=(4, 8)):
    monkeypatch.setattr(ladder, "SIZES", sizes)
    monkeypatch.setitem(chapter.BUDGETS, "quick", chapter.Budget(1000, count, 200))


def test_the_ladder_keeps_both_ratios_and_nears_one(monkeypatch):
    small_ladder(monkeypatch)
    parameters = check_parameters(NAME, d=6, n=9, sigma2=0.9)
    found = ladder.ladder(parameters, (3.0, 6.0), np.random.default_rng)
    assert list(found.lengths) == [6, 12] and found.ratio.shape == found.stderr.shape == (2, 2)
    assert (found.ratio > 1).all() and (found.ratio[1] < found.ratio[0]).all()
    assert chapter.scaled(parameters, 20) == (30, pytest.approx(3.0))


def test_few_fits_take_the_spread_of_the_size_before(monkeypatch):
    small_ladder(monkeypatch, (40, 4))
    found = ladder.ladder(check_parameters(NAME), (4.0,), np.random.default_rng)
    assert found.stderr[1, 0] == pytest.approx(found.stderr[0, 0] * (4 * np.sqrt(40)) / (8 * np.sqrt(4)))
    short = ladder.ladder(check_parameters(NAME), (4.0,), np.random.default_rng, share=0.3)
    assert list(short.sizes) == [4], "one fit has no error"


def test_the_ladder_with_few_tasks_and_a_ridge(monkeypatch):
    small_ladder(monkeypatch, (80, 80), (8, 16))
    found = ladder.ladder(
        check_parameters(NAME, d=1, n=3, sigma2=0.2), (2.0,), np.random.default_rng, kappa=0.5, ridge=0.3
    )
    assert np.abs(found.ratio[:, 0] - 1).max() < 0.1


def test_straight_lines_are_found():
    sizes = np.array([8, 16, 32])
    ratio = 1 + 3 / sizes + 5 / sizes**2
    found = ladder.Ladder(sizes, sizes, np.ones(1), ratio[:, None], np.full((3, 1), 1e-3))
    assert ladder.coefficient(found, 0).mean == pytest.approx(3)
    assert ladder.at_infinity(found, 0).mean == pytest.approx(1)
    pure = ladder.Ladder(sizes, sizes, np.ones(1), (1 + 3 / sizes**1.5)[:, None], np.full((3, 1), 1e-3))
    assert ladder.exponent(pure, 0).mean == pytest.approx(-1.5)


def test_errors_of_a_line_are_those_of_its_noise(rng):
    basis, errors = np.stack([np.ones(4), np.arange(4.0)], axis=1), np.array([0.1, 0.2, 0.1, 0.3])
    slopes = [ladder.weighted_fit(basis, errors * rng.standard_normal(4), errors)[1] for _ in range(4000)]
    assert np.std([slope.mean for slope in slopes]) == pytest.approx(slopes[0].stderr, rel=0.05)


def test_averages_over_sets_of_tasks(monkeypatch):
    small_ladder(monkeypatch, sizes=(10, 40))
    found = ladder.task_averages(check_parameters(NAME, d=4, n=12, sigma2=1.0), 0.7, np.random.default_rng)
    assert np.abs(found.ratio[:, 0] - 1).max() < 0.05 and abs(found.ratio[1, 0] - 1) < abs(found.ratio[0, 0] - 1)
    by_tasks = ladder.along_tasks(check_parameters(NAME), (0.5, 2.0), np.random.default_rng(2), d=6)
    assert list(by_tasks) == [(6, 0.5), (6, 2.0)] and by_tasks[6, 0.5] > by_tasks[6, 2.0]


def test_the_ladder_is_not_judged_for_short_contexts(monkeypatch):
    small_ladder(monkeypatch, (60, 30, 20))
    monkeypatch.setattr(ladder, "SIZES", (3, 4, 5))
    short, long = (
        ladder.climb(check_parameters(NAME, d=4, n=n), (0.5, 3.0), 0.2, Streams("a test", 1)) for n in (3, 4)
    )
    for answer in (short.tends("ridge", 0, 1.0), short.coefficient("few tasks", 0), short.exponent("endless tasks", 1)):
        assert isinstance(answer, NotRun)
    plain = ladder.at_infinity(long.ladders["endless tasks"], 1)
    scaled = long.tends("endless tasks", 1, 2.5)
    assert (scaled.mean, scaled.stderr) == pytest.approx((2.5 * plain.mean, 2.5 * plain.stderr))
    assert long.coefficient("few tasks", 0) == ladder.coefficient(long.ladders["few tasks"], 0)
    assert long.exponent("sets of tasks", 0) == ladder.exponent(long.ladders["sets of tasks"], 0)
