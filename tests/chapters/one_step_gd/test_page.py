"""The mathematics on chapter 1's page against the package's own."""

import pytest
from numpy.polynomial import Polynomial
from page_code import functions

from icl.theory import landscape

PAGE = functions("01_one_step_gd", "second_valley", Polynomial=Polynomial)


@pytest.mark.parametrize("n, sigma2", [(1, 0.25), (1, 0.0), (2, 0.0), (3, 2.0), (17, 0.4), (900, 0.1)])
def test_the_second_valley_is_the_profile_s_last(n, sigma2):
    """After one example it lies at the end c = 0."""
    valleys = landscape.valleys(2, n, sigma2)
    assert len(valleys) == 2 and PAGE.second_valley(n, sigma2) == pytest.approx(valleys[-1].risk, rel=1e-9)
