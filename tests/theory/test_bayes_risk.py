"""The exact Bayes risk: closed forms in special cases, reference numbers, limits, Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import exp1, expn
from support import assert_within_errors, estimate

from icl.prompts import PromptLaw
from icl.solvers.linear import ridge
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.validation import InputError


@pytest.mark.parametrize(
    "d, n, sigma2, m, risk, digits",
    [
        (5, 20, 0.25, 2.0, 0.33812918, 5e-9),
        (8, 8, 0.01, 1.0, 0.38279, 5e-6),
        (20, 40, 1.0, 1.0, 1.950140, 5e-7),
        (1, 4, 0.5, 1.0, 0.6661946597, 5e-11),
    ],
)
def test_reference_numbers(d, n, sigma2, m, risk, digits):
    assert isotropic_bayes_risk(d, n, sigma2, m) == pytest.approx(risk, abs=digits)


@given(st.integers(1, 10), st.floats(0.05, 5), st.floats(0.2, 4))
def test_one_dimension_has_a_closed_form(half, sigma2, m):
    """n = 2 half: sigma2 + sigma2/2 e^{q/2} E_{half}(q/2), q = sigma2/m, E the exponential integral."""
    q = sigma2 / m
    integral = exp1(q / 2) if half == 1 else expn(half, q / 2)
    closed = sigma2 + sigma2 / 2 * np.exp(q / 2) * integral
    assert isotropic_bayes_risk(1, 2 * half, sigma2, m) == pytest.approx(closed, rel=1e-10)


@pytest.mark.parametrize("d, n, sigma2", [(4, 9, 0.4), (7, 3, 0.2), (2, 2, 1.0)])
def test_ridge_on_random_prompts_attains_it(rng, d, n, sigma2):
    law = PromptLaw.isotropic(d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        return ((ridge(batch.X, batch.y, sigma2) * batch.x_query).sum(1) - batch.y_query) ** 2

    assert_within_errors(estimate(draw, 100_000), isotropic_bayes_risk(d, n, sigma2))


@given(st.integers(1, 12), st.integers(1, 30))
def test_noiseless_limit(d, n):
    """What n noiseless examples leave unseen is d − n directions of variance 1."""
    assert isotropic_bayes_risk(d, n, 0.0) == max(d - n, 0)
    assert isotropic_bayes_risk(d, n, 1e-9) == pytest.approx(max(d - n, 0), abs=2e-3)


@given(st.integers(1, 12), st.integers(1, 30), st.floats(0.01, 10), st.floats(0.1, 10), st.floats(0.1, 10))
def test_scaling(d, n, sigma2, m, scale):
    """Scaling all labels by s multiplies every risk by s²."""
    scaled = isotropic_bayes_risk(d, n, scale * sigma2, scale * m)
    assert scaled == pytest.approx(scale * isotropic_bayes_risk(d, n, sigma2, m), rel=1e-9)


@given(st.integers(1, 12), st.integers(1, 30), st.floats(0.01, 10))
def test_more_examples_help(d, n, sigma2):
    assert isotropic_bayes_risk(d, n + 1, sigma2) < isotropic_bayes_risk(d, n, sigma2)


def test_bad_input():
    with pytest.raises(InputError, match="m must be positive"):
        isotropic_bayes_risk(3, 5, 0.1, 0.0)
    with pytest.raises(InputError, match="sigma2"):
        isotropic_bayes_risk(3, 5, float("inf"))
