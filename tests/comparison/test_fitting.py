"""The number at which an algorithm comes nearest: inside the range, beyond it, and where there is none."""

import numpy as np
import pytest

from icl.comparison.fitting import least


@pytest.mark.parametrize("where", [1e-7, 1e-3, 0.3, 4.0, 1e6])
def test_the_least_is_found_in_the_range_and_beyond_it(where):
    assert least(lambda x: np.log(x / where) ** 2, 1e-3, 4.0) == pytest.approx(where, rel=1e-6)


def test_what_falls_for_ever_is_left_alone_after_a_while():
    tried = []
    least(lambda x: tried.append(x) or x, 1e-3, 4.0)
    assert 1e-15 < min(tried) < 1e-12


def test_where_nothing_depends_on_the_number_the_range_is_kept():
    tried = []
    least(lambda x: tried.append(x) or 1.0, 1e-3, 4.0)
    assert 1e-3 <= min(tried) and max(tried) <= 4.0 + 1e-12


@pytest.mark.parametrize("where", [1e-3, 0.3, 4.0])
def test_a_smooth_least_is_found_to_rounding_not_to_its_root(where):
    bowl = lambda x: 1.0 + np.cosh(np.log(x / where)) ** 2  # by values alone: 1e-8
    assert least(bowl, 1e-4, 9.0) == pytest.approx(where, rel=1e-11)


def test_a_corner_is_found_and_left():
    assert least(lambda x: abs(np.log(x / 0.3)), 1e-3, 4.0) == pytest.approx(0.3, rel=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_where_it_is_level_rounding_does_not_choose(seed):
    """From 1e-2 on all have converged, and past 1 they diverge: any two machines keep off both edges."""
    rng = np.random.default_rng(seed)
    kept = lambda x: 0.5 * max(0.0, np.log(1e-2 / x)) + (0.9 if x > 1 else 0.1) + 1e-16 * rng.integers(9)
    assert least(kept, 1e-3, 4.0) == pytest.approx(0.1, rel=0.3)


def test_where_it_is_level_at_an_end_the_range_is_kept():
    tried = []
    least(lambda x: tried.append(x) or max(x, 1e-2), 1e-3, 4.0)
    assert min(tried) >= 1e-3
