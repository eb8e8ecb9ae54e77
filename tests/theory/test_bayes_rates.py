"""Lemma 6.1 and Corollary 6.2: closed forms of the Bayes risk, the deterministic equivalent, bounds and rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icl.estimates import monte_carlo
from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.theory import bayes_rates, gd_beta
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.validation import InputError

spectra = st.lists(st.floats(0, 1e3), min_size=1, max_size=8)


@pytest.mark.parametrize(("n", "sigma2", "m"), [(4, 0.5, 1), (1, 1e-6, 1), (2, 0.3, 2.5), (3000, 0.25, 1), (7, 1e3, 1)])
def test_one_covariate_is_the_pfaffian_formula(n, sigma2, m):
    closed = bayes_rates.bayes_risk_one_covariate(n, sigma2, m)
    assert closed == pytest.approx(isotropic_bayes_risk(1, n, sigma2, m), rel=1e-11)


def test_reference_numbers_of_small_problems():
    assert bayes_rates.bayes_risk_one_covariate(4, 0.5) == pytest.approx(0.6661946597, abs=1e-10)
    assert bayes_rates.bayes_risk_one_example([2, 1, 0.3], 0.4) == pytest.approx(2.56577973, abs=1e-8)


@pytest.mark.parametrize(("d", "sigma2"), [(1, 0.5), (3, 0.02), (6, 40.0), (4, 0.0)])
def test_one_example_is_the_pfaffian_formula(d, sigma2):
    assert bayes_rates.bayes_risk_one_example(np.ones(d), sigma2) == pytest.approx(
        isotropic_bayes_risk(d, 1, sigma2), rel=1e-10
    )


def test_one_example_without_noise_leaves_what_one_direction_cannot_tell():
    rng = np.random.default_rng(2)
    phi = np.array([3.0, 1.0, 0.2])

    def draw(B):
        z = rng.standard_normal((B, 3))
        return phi.sum() - (z**2 @ phi**2) / (z**2 @ phi)

    found = monte_carlo(draw, 200_000)
    assert abs(found.mean - bayes_rates.bayes_risk_one_example(phi, 0.0)) < 5 * found.stderr


def test_bayes_solver_against_the_exact_risk_and_in_a_general_law():
    rng = np.random.default_rng(3)
    A, B_ = rng.standard_normal((2, 3, 3))
    general = PromptLaw(6, A @ A.T, B_ @ B_.T, rng.standard_normal(3), 0.3)
    isotropic = PromptLaw.isotropic(3, 6, 0.3, np.ones(3))
    for law in (general, isotropic):

        def draw(B, law=law):
            batch = law.sample(rng, B)
            error = linear.bayes(batch.X, batch.y, law) - batch.beta
            return law.sigma2 + np.einsum("bi,ij,bj->b", error, law.H, error)

        found = monte_carlo(draw, 50_000)
        phi = gd_beta.spectrum(law)
        if law is isotropic:
            assert abs(found.mean - isotropic_bayes_risk(3, 6, 0.3)) < 5 * found.stderr
        bounds = bayes_rates.sandwich(phi, 6, 0.3)
        assert bounds.lower - 5 * found.stderr < found.mean - 0.3 < bounds.gd_beta


@pytest.mark.parametrize(("d", "n", "sigma2"), [(5, 20, 0.25), (20, 40, 1.0), (10, 20, 0.5), (40, 10, 1.0)])
def test_deterministic_equivalent_is_a_few_per_cent_low(d, n, sigma2):
    ratio = bayes_rates.deterministic_equivalent(np.ones(d), n, sigma2) / isotropic_bayes_risk(d, n, sigma2)
    assert 0.95 < ratio < 1


def test_deterministic_equivalent_fails_at_d_equal_n_with_little_noise():
    ratio = bayes_rates.deterministic_equivalent(np.ones(8), 8, 0.01) / isotropic_bayes_risk(8, 8, 0.01)
    assert ratio == pytest.approx(0.752, abs=0.01)


def test_deterministic_equivalent_without_noise():
    assert bayes_rates.deterministic_equivalent(np.ones(5), 3, 0.0) == pytest.approx(2.0, rel=1e-10)
    assert bayes_rates.deterministic_equivalent([1.0, 0.5, 0.0], 2, 0.0) == 0.0


@given(phi=spectra, n=st.integers(1, 500), sigma2=st.floats(0.001, 100))
def test_order_of_the_bounds(phi, n, sigma2):
    bounds = bayes_rates.sandwich(phi, n, sigma2)
    tau = sum(phi) + sigma2
    shape = bayes_rates.rate(phi, tau / (n + 1))
    slack = 1 + 1e-12
    assert bounds.lower <= bounds.gd_beta * slack
    assert bounds.gd_beta <= bounds.upper * slack
    assert shape / 2 <= bounds.gd_beta * slack
    assert bounds.gd_beta <= 2 * shape * slack


def test_exact_bayes_lies_in_the_sandwich():
    for d, n, sigma2 in ((1, 1, 0.3), (4, 9, 0.05), (7, 3, 2.0), (3, 200, 10.0)):
        bounds = bayes_rates.sandwich(np.ones(d), n, sigma2)
        assert bounds.lower < isotropic_bayes_risk(d, n, sigma2) - sigma2 < bounds.gd_beta


def test_limits_of_noise():
    phi = [2.0, 1.0]
    assert bayes_rates.sandwich(phi, 5, 0.0).upper == np.inf
    loud = bayes_rates.sandwich(phi, 5, 1e9)
    assert loud.lower == pytest.approx(3.0, rel=1e-7) == pytest.approx(loud.gd_beta, rel=1e-6)
    assert bayes_rates.sandwich([0.0], 3, 0.0) == (0, 0, 0)


@pytest.mark.parametrize("phi", [[], [-1.0], [np.nan], [[1.0]]])
def test_bad_spectra_are_refused(phi):
    with pytest.raises(InputError, match="phi must be"):
        bayes_rates.sandwich(phi, 3, 0.1)


def test_bad_numbers_are_refused():
    with pytest.raises(InputError, match="n must be"):
        bayes_rates.bayes_risk_one_covariate(0, 0.1)
    with pytest.raises(InputError, match="m must be positive"):
        bayes_rates.bayes_risk_one_covariate(3, 0.1, 0.0)
    with pytest.raises(InputError, match="sigma2 must be"):
        bayes_rates.deterministic_equivalent([1.0], 3, -1.0)
