"""Every bad argument gets one sentence that names it."""

import numpy as np
import pytest

from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.validation import (
    InputError,
    check_contexts,
    check_count,
    check_covariance,
    check_generator,
    check_nonnegative,
    check_vector,
)


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True, float("nan")])
def test_counts(value):
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        check_count("n", value)


def test_numpy_integers_are_counts():
    assert check_count("n", np.int64(4)) == 4


@pytest.mark.parametrize("value", [-1e-9, float("nan"), float("inf"), "1", None, False])
def test_nonnegative_numbers(value):
    with pytest.raises(InputError, match="sigma2 must be a finite number of at least 0"):
        check_nonnegative("sigma2", value)


@pytest.mark.parametrize(
    "value, complaint",
    [
        (np.eye(2), "shape"),
        (np.diag([1.0, 1.0, -0.1]), "positive semi-definite"),
        (np.triu(np.ones((3, 3))), "symmetric"),
        (np.full((3, 3), np.nan), "finite"),
        (np.diag([1.0, np.inf, 1.0]), "finite"),
        ("identity", "array of numbers"),
    ],
)
def test_covariances(value, complaint):
    with pytest.raises(InputError, match=complaint):
        check_covariance("H", value, 3)


def test_singular_covariances_are_valid():
    ones = np.ones((3, 3))
    np.testing.assert_array_equal(check_covariance("H", ones, 3), ones)
    np.testing.assert_array_equal(check_covariance("H", np.zeros((2, 2)), 2), np.zeros((2, 2)))


def test_rounding_is_forgiven_and_removed():
    nearly = np.eye(2) + np.array([[0, 1e-14], [0, 0]])
    checked = check_covariance("H", nearly, 2)
    assert (checked == checked.T).all()


def test_vectors():
    with pytest.raises(InputError, match=r"beta_star must have shape \(3,\)"):
        check_vector("beta_star", [1.0, 2.0], 3)


def test_the_least_allowed_values_are_allowed():
    assert check_nonnegative("sigma2", 0) == 0 and check_count("n", 1) == 1 and check_count("n", 2, least=2) == 2
    with pytest.raises(InputError, match="at least 2"):
        check_count("n", 1, least=2)


def test_contexts_are_many():
    X, y = check_contexts(np.ones((2, 3, 4)).tolist(), np.ones((2, 3)))
    assert X.shape == (2, 3, 4) and y.shape == (2, 3)
    with pytest.raises(InputError, match=r"not \(3, 4\) and \(3,\); for one prompt give X\[None\] and y\[None\]"):
        linear.ridge(np.ones((3, 4)), np.ones(3), 1.0)
    with pytest.raises(InputError, match=r"not \(2, 3, 4\) and \(3, 2\)\."):
        linear.least_squares(np.ones((2, 3, 4)), np.ones((3, 2)))


def test_generators_are_asked_for():
    rng = np.random.default_rng(0)
    assert check_generator(rng) is rng
    with pytest.raises(InputError, match="such as np.random.default_rng\\(0\\), not 0"):
        PromptLaw.isotropic(2, 3, 0.1).sample(0, 5)
