"""Exact spectral sums against Wishart moments, inverse moments, one-dimensional integrals and Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2
from support import assert_within_errors, estimate

from icl.theory.wishart import expected_spectral_sum
from icl.validation import InputError


@pytest.mark.parametrize(
    "d, n", [(1, 1), (1, 7), (7, 1), (2, 2), (5, 20), (8, 8), (20, 40), (33, 80), (3, 5000), (80, 80)]
)
def test_moments_of_the_trace(d, n):
    assert expected_spectral_sum(lambda lam: lam, d, n) == pytest.approx(n * d, rel=1e-12)
    assert expected_spectral_sum(lambda lam: lam**2, d, n) == pytest.approx(n * d * (n + d + 1), rel=1e-12)
    cube = n * d * (n**2 + d**2 + 3 * n * d + 3 * n + 3 * d + 4)
    assert expected_spectral_sum(lambda lam: lam**3, d, n) == pytest.approx(cube, rel=1e-12)


@given(st.integers(1, 25), st.integers(2, 25))
def test_inverse_moment(p, gap):
    assert expected_spectral_sum(lambda lam: 1 / lam, p, p + gap) == pytest.approx(p / (gap - 1), rel=1e-10)


@given(st.integers(1, 12), st.integers(1, 12))
def test_the_law_depends_on_the_pair_only(d, n):
    f = lambda lam: np.log1p(lam)
    assert expected_spectral_sum(f, d, n) == pytest.approx(expected_spectral_sum(f, n, d), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_one_eigenvalue_is_chi_squared(n):
    f = lambda lam: 1 / (0.3 + lam)
    integral, _ = quad(lambda lam: f(lam) * chi2.pdf(lam, n), 0, np.inf, epsabs=1e-13, limit=400)
    assert expected_spectral_sum(f, 1, n, finest=np.sqrt(0.3)) == pytest.approx(integral, rel=1e-8)


@pytest.mark.parametrize("d, n", [(4, 4), (3, 9), (9, 2)])
def test_against_monte_carlo(rng, d, n):
    f = lambda lam: np.exp(-lam / 3)

    def draw(B):
        Z = rng.standard_normal((B, n, d))
        small = Z @ np.swapaxes(Z, 1, 2) if n < d else np.swapaxes(Z, 1, 2) @ Z
        return f(np.linalg.eigvalsh(small)).sum(1)

    assert_within_errors(estimate(draw, 100_000), expected_spectral_sum(f, d, n))


def test_bad_sizes():
    with pytest.raises(InputError, match="n must be a whole number"):
        expected_spectral_sum(np.log, 3, 0)
