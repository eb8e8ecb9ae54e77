"""Every solver on the same prompts, at parameters of the test's own."""

import pytest

from icl.chapters import check_parameters
from icl.chapters.trained_transformers import solver_comparison
from icl.solvers import linear

parameters = lambda **values: check_parameters("07_trained_transformers", **values)


def test_solvers_section(rng):
    p = parameters(d=3, n=9, condition=4.0, sigma2=0.1)
    data = solver_comparison.sequences(p, 30, rng)
    assert data.X.shape == (30, 10, 3) and data.n == 9
    same, step_apart = solver_comparison.disagreement(data)
    assert same < 1e-12 < 0.01 < step_apart
    found = solver_comparison.distance_from_conjugate_gradients(data)
    assert found["exact"] < 1e-8 < 0.01 < found["backtracking"]
    errors = solver_comparison.errors(data)
    least = errors["least_squares"][1].mean[0]
    assert errors["newton"][1].mean[-1] == pytest.approx(least, rel=1e-6)
    assert errors["cg"][1].mean[3] == pytest.approx(least, rel=1e-6)
    assert errors["gd"][1].mean[0] == pytest.approx((data.y[:, -1] ** 2).mean())
    lengths = solver_comparison.errors_by_length(data, (2,))
    assert lengths["ridge"].mean[-1] == pytest.approx(errors["ridge"][1].mean[0])


def test_errors_of_the_learners_are_means_with_their_errors(rng):
    data = solver_comparison.sequences(parameters(d=3, n=9, condition=4.0, sigma2=0.1), 25, rng)
    guess = (linear.ridge(data.X[:, :-1], data.y[:, :-1], 0.1) * data.X[:, -1]).sum(1)
    squares = (guess - data.y[:, -1]) ** 2
    found = solver_comparison.errors(data)["ridge"][1]
    assert found.mean[0] == pytest.approx(squares.mean()) and found.count == 25
    assert found.stderr[0] == pytest.approx(squares.std(ddof=1) / 5)
