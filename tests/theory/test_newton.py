"""Newton in closed form against the iteration, against known numbers, and its bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icl.theory import newton
from icl.validation import InputError


def iterated(S, k, alpha):
    M = alpha * S
    for _ in range(k):
        M = 2 * M - M @ S @ M
    return M


@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 9), st.floats(0.05, 2.3), st.integers(0, 2**32 - 1))
def test_residual_is_the_iteration_s(d, n, k, factor, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    found, U = np.linalg.eigh(X.T @ X)
    alpha = factor / found[-1] ** 2
    expected = np.diag(U.T @ (np.eye(d) - iterated(X.T @ X, k, alpha) @ X.T @ X) @ U)
    np.testing.assert_allclose(newton.residual(found, k, alpha), expected, rtol=1e-7, atol=1e-9)


def test_residual_at_the_ends_of_the_range():
    assert newton.residual(3.0, 0, 2 / 9) == -1.0 and newton.residual(3.0, 5, 2 / 9) == 1.0
    assert newton.residual(3.0, 0, 1 / 9) == 0.0 == newton.residual(3.0, 4, 1 / 9)
    assert newton.residual(0.0, 7, 1.0) == 1.0 and newton.residual(3.0, 12, 1.0) == np.inf
    assert newton.gd_residual(0.5, 3, 1.0) == 0.125


@pytest.mark.parametrize(
    "kappa,steps,gd", [(2, 7, 17), (10, 11, 92), (1e2, 18, 922), (1e3, 25, 9211), (1e4, 31, 92104)]
)
def test_steps_at_known_condition_numbers(kappa, steps, gd):
    assert newton.steps_to_eps(kappa, 1e-8) == steps and newton.gd_steps_to_eps(kappa, 1e-8) == gd


@given(st.floats(1, 1e5), st.floats(1e-12, 0.9))
def test_step_counts_are_the_least_that_suffice(kappa, eps):
    k, s = newton.steps_to_eps(kappa, eps), newton.gd_steps_to_eps(kappa, eps)
    slow, best = 1 / kappa, 2 / (1 + 1 / kappa)
    assert newton.residual(slow, k, 1.0) <= eps * (1 + 1e-9)
    assert k == 0 or newton.residual(slow, k - 1, 1.0) > eps * (1 - 1e-9)
    assert abs(newton.gd_residual(slow, s, best)) <= eps * (1 + 1e-6)
    assert abs(newton.gd_residual(slow, s - 1, best)) > eps * (1 - 1e-6)


def test_mean_risk_at_known_values():
    alpha = newton.whole_range_alpha(5, 20)
    assert alpha == pytest.approx((np.sqrt(20) + np.sqrt(5)) ** -4)
    found = [newton.mean_risk(5, 20, 0.25, k, alpha) for k in range(5)]
    assert found == pytest.approx([3.36787, 2.64203, 1.93947, 78.8183, 9.38400351e15], rel=1e-5)


@pytest.mark.parametrize("d,n,k", [(3, 8, 1), (4, 2, 2), (1, 5, 2)])
def test_mean_risk_is_that_of_sampled_prompts(rng, d, n, k):
    alpha = 0.2 * newton.whole_range_alpha(d, n)  # small: no heavy tail yet
    B = 40_000
    X = rng.standard_normal((B, n, d))
    S = X.mT @ X
    M = iterated(S, k, alpha)
    risks = 0.3 + ((np.eye(d) - M @ S) ** 2).sum((1, 2)) + 0.3 * np.einsum("bij,bjk,bki->b", M, S, M)
    assert abs(risks.mean() - newton.mean_risk(d, n, 0.3, k, alpha)) < 5 * risks.std() / np.sqrt(B)


def test_mean_risk_by_hand_for_one_covariate_and_one_example():
    """λ is chi-squared with one degree of freedom: E λ^m = (2m − 1)!!."""
    alpha, sigma2 = 0.1, 0.7
    bias = 1 - 2 * alpha * 3 + alpha**2 * 105  # E (1 − alpha λ²)²
    assert newton.mean_risk(1, 1, sigma2, 0, alpha) == pytest.approx(sigma2 + bias + sigma2 * alpha**2 * 15)
    assert newton.mean_risk(1, 1, sigma2, 12, 1.0) == np.inf == newton.mean_risk(1, 1, 0.0, 12, 1.0)


@pytest.mark.parametrize(
    "call,sentence",
    [
        (lambda: newton.steps_to_eps(0.9, 1e-8), "kappa must be at least 1, not 0.9"),
        (lambda: newton.gd_steps_to_eps(0.5, 1e-8), "kappa must be at least 1"),
        (lambda: newton.steps_to_eps(-3, 1e-8), "kappa must be at least 1, not -3"),
        (lambda: newton.steps_to_eps(1e151, 1e-8), "kappa must be at most 1e\\+150"),
        (lambda: newton.steps_to_eps(float("nan"), 0.1), "kappa must be a finite number"),
        (lambda: newton.steps_to_eps(2, 1.0), "eps must lie strictly between 0 and 1"),
        (lambda: newton.residual(1.0, -1, 0.1), "k must be a whole number of at least 0, not -1"),
        (lambda: newton.gd_residual(1.0, -1, 0.1), "steps must be a whole number"),
        (lambda: newton.mean_risk(3, 5, 0.1, 1, 0.0), "alpha must be above 0"),
        (lambda: newton.mean_risk(3, 5, -0.1, 1, 0.1), "sigma2 must be a finite number of at least 0"),
        (lambda: newton.whole_range_alpha(0, 5), "d must be a whole number"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
