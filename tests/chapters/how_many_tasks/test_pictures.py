"""The numbers behind chapter 10's pictures are the ones that their columns name."""

import numpy as np

from icl.chapters import check_parameters
from icl.chapters.how_many_tasks import pictures
from icl.chapters.how_many_tasks.ladder import Climb, Ladder
from icl.theory import how_many_tasks as theory


def test_two_transitions():
    parameters = check_parameters("10_how_many_tasks", d=2, n=6, sigma2=0.4)
    found = {8: [1.0, 0.5], 16: [0.9, 0.4]}
    columns = pictures.drawn_transitions(parameters, found, (0.5, 2.0), {(24, 0.5): 0.7, (24, 2.0): 0.4}).columns
    assert list(columns["fits_d16"]) == [0.9, 0.4] and list(columns["tau_fitted"]) == [0.5, 2.0]
    np.testing.assert_allclose(columns["excess_averaged"], [0.5, 0.2])
    np.testing.assert_allclose(columns["limit"][0], theory.limit(0.1, 3, np.inf, 0.2)[0])
    np.testing.assert_allclose(columns["excess_n_over_d_inf"], np.maximum(0, 1 - columns["kappa"]))
    np.testing.assert_allclose(columns["excess_n_over_d_24"][-1], theory.limit(np.inf, 24, 3, 0.2)[0] - 0.2)


def test_convergence():
    ratio = np.array([[2, 1.3], [3, 1.2]])
    found = Ladder(np.array([8, 16]), np.array([8, 16]), np.array([1.5, 2.0]), ratio, np.full((2, 2), 0.1))
    climb = Climb(check_parameters("10_how_many_tasks"), {"endless tasks": found, "few tasks": found})
    columns = pictures.convergence(climb, {2: 2.0}).columns
    np.testing.assert_allclose(columns["above_P_2d_2"], [0.3, 0.2])
    np.testing.assert_allclose(columns["stderr_P_2d_2"], 0.1)
    np.testing.assert_allclose(columns["above_P_2d_2_K_d_2"], [1, 2])
