"""Exact rungs of the depth ladder: against Theorem 1, integrals, inequalities and awkward sizes."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from icl.theory import one_step_gd
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.theory.depth_ladder import DepthLadder
from icl.theory.wishart import spectral_measure
from icl.validation import InputError

SIZES = [(5, 20, 0.25), (6, 3, 0.0), (1, 1, 0.0), (4, 4, 2.0), (3, 90, 30.0), (2, 9, 1e4)]


@pytest.mark.parametrize("d, n, sigma2", SIZES)
def test_one_layer_is_theorem_1(d, n, sigma2):
    ladder = DepthLadder(d, n, sigma2)
    for rung in (ladder.shared_step(1), ladder.free_steps(1), ladder.gd_plus_plus(1)):
        assert rung.risk == pytest.approx(one_step_gd.minimal_risk(d, n, sigma2), rel=1e-12)
        assert rung.a[0] == pytest.approx(one_step_gd.step_size(d, n, sigma2), rel=1e-5)


@pytest.mark.parametrize("d, n, sigma2", SIZES)
def test_order_and_bound(d, n, sigma2):
    ladder, bayes = DepthLadder(d, n, sigma2), isotropic_bayes_risk(d, n, sigma2)
    free_steps = {L: ladder.free_steps(L).risk for L in (1, 2, 3)}
    for L in (2, 3):
        plus, free, shared = ladder.gd_plus_plus(L).risk, free_steps[L], ladder.shared_step(L).risk
        slack = 1e-11 * shared
        assert bayes <= plus + slack and plus <= free + slack and free <= shared + slack
        assert ladder.best_polynomial(L - 1) <= free + slack
        assert ladder.best_polynomial((3**L - 3) // 2) <= plus + slack
        assert free < free_steps[L - 1] + slack


@pytest.mark.parametrize(
    "sigma2, expected",
    [(0.25, (0.672440, 0.457413, 0.385057, 0.791925, 0.574110, 0.387972, 0.337721)),
     (0.0, (0.361240, 0.133608, 0.054953, 0.499007, 0.268342, 0.057501, 0.000961))],
)  # fmt: skip
def test_reference_numbers(sigma2, expected):
    ladder = DepthLadder(5, 20, sigma2)
    found = [ladder.free_steps(L).risk for L in (2, 3, 4)] + [ladder.shared_step(L).risk for L in (2, 3)]
    found += [ladder.gd_plus_plus(L).risk for L in (2, 3)]
    assert found == pytest.approx(expected, abs=6e-7)


def test_noiseless_free_steps_are_the_best_polynomial():
    for d, n in [(5, 20), (7, 7), (1, 4)]:
        ladder = DepthLadder(d, n, 0.0)
        for L in (2, 3, 5):
            assert ladder.free_steps(L).risk == pytest.approx(ladder.best_polynomial(L - 1), rel=1e-9)


def test_with_noise_they_need_not_be():
    ladder = DepthLadder(1, 3, 1.0)
    assert ladder.free_steps(3).risk - ladder.best_polynomial(2) > 5e-4


def test_gradient(rng):
    ladder = DepthLadder(3, 7, 0.4)
    steps = rng.uniform(0.1, 1.0, 6)
    numeric = [(ladder._risk(steps + h)[0] - ladder._risk(steps - h)[0]) / 2e-6 for h in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(ladder._risk(steps)[1], numeric, rtol=1e-6, atol=1e-8)


def test_risk_of_two_layers_in_one_dimension():
    a, gamma, sigma2 = np.array([0.1, 0.3]), np.array([0.05, 0.0]), 0.7

    def integrand(lam):
        rho = (1 - a[0] * lam) * (1 - a[1] * lam * (1 - gamma[0] * lam) ** 2)
        return (rho**2 + sigma2 * (1 - rho) ** 2 / lam) * chi2.pdf(lam, 5)

    expected = sigma2 + quad(integrand, 0, 200, epsabs=1e-12, limit=300)[0]
    assert DepthLadder(1, 5, sigma2).risk(a, gamma) == pytest.approx(expected, rel=1e-9)


def test_the_measure_reaches_far_enough():
    """E λ^k of one chi-squared eigenvalue is a product of n, n + 2, …"""
    for n, k in [(1, 26), (6, 40), (50, 12)]:
        eigenvalues, weights = spectral_measure(1, n, degree=k)
        assert weights @ eigenvalues**k == pytest.approx(np.prod(n + 2.0 * np.arange(k)), rel=1e-11)


def test_bad_input():
    ladder = DepthLadder(2, 3, 0.1)
    for call in (
        lambda: DepthLadder(2, 0, 0.1),
        lambda: DepthLadder(2, 3, -1.0),
        lambda: ladder.free_steps(0),
        lambda: ladder.free_steps(13),
        lambda: ladder.gd_plus_plus(4),
        lambda: ladder.risk([0.1, np.nan]),
        lambda: ladder.risk([0.1, 0.2], [0.1]),
        lambda: ladder.risk([]),
    ):
        with pytest.raises(InputError):
            call()
