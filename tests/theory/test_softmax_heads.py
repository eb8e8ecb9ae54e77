"""Softmax heads made of scores: reference numbers, limits, and sums over nodes against random scores."""

import numpy as np
import pytest
from scipy.special import expn, softmax

from icl.estimates import monte_carlo
from icl.theory import one_step_gd
from icl.theory import softmax_heads as theory
from icl.theory.chi_nodes import chi_nodes
from icl.validation import InputError


@pytest.mark.parametrize(
    "q, risk",
    [
        ([0.15, -0.15], 1.11443),
        ([0.01, -0.01], 1.11596),
        ([0.72], 1.82548),
        ([0.01, -0.01, 1.4, -1.4], 1.09760),
        ([s * q for q in (0.01, 0.2, 0.5, 0.8, 1.2, 1.7) for s in (1, -1)], 1.09555),
    ],
)
def test_reference_numbers(q, risk):
    assert theory.least_risk(q, 4, 20, 0.25).risk == pytest.approx(risk, abs=1e-5)


def test_reference_floors():
    assert theory.centred_risk(4, 20, 0.25) == pytest.approx(1.1159793814, abs=1e-10)
    assert theory.score_floor(4, 20, 0.25) == pytest.approx(0.8525294, abs=1e-7)
    assert theory.score_floor(4, 20, 0.25, zero_sum=True) == pytest.approx(0.8813068, abs=1e-7)


@pytest.mark.parametrize("d, n, sigma2", [(3, 2, 0.4), (2, 6, 0.0), (6, 11, 1.7), (1, 5, 0.3)])
def test_moments_are_means_over_random_scores(rng, d, n, sigma2):
    """Every entry of A and b for heads of both signs, from draws of r and z."""
    q = np.array([0.3, -0.5, 1.1]) / np.sqrt(d)

    def draw(B):
        r, z = np.sqrt(rng.chisquare(d, B)), rng.standard_normal((B, n))
        p = softmax(q[:, None] * (r[:, None] * z)[:, None], axis=-1)  # (B, 3, n)
        m = (p * z[:, None]).sum(-1)
        A = m[:, :, None] * m[:, None] + (d - 1 + sigma2) * p @ p.mT
        return np.concatenate([A.reshape(B, 9), r[:, None] * m], axis=1)

    found = monte_carlo(draw, 200_000)
    A, b = theory.moments(q, d, n, sigma2)
    assert np.all(np.abs(found.mean - np.r_[A.ravel(), b]) <= 5 * found.stderr + 1e-9)
    assert np.array_equal(A, A.T)


@pytest.mark.parametrize("d, n, sigma2", [(2, 3, 0.0), (7, 12, 0.9), (4, 150, 0.25), (1, 2, 0.5)])
def test_small_q_is_centred_descent(d, n, sigma2):
    near = theory.pair_risk(2e-3 / np.sqrt(d), d, n, sigma2)
    assert near.risk == pytest.approx(theory.centred_risk(d, n, sigma2), rel=1e-5)
    step = 2 * near.V[0] * 2e-3 / np.sqrt(d) / n  # 2Vq/n = eta
    assert step == pytest.approx(one_step_gd.step_size(d, n - 1, sigma2), rel=1e-4)


@pytest.mark.parametrize("d, n, sigma2", [(3, 6, 0.4), (5, 20, 0.0)])
def test_a_pair_is_the_best_of_two_heads_at_plus_and_minus_q(d, n, sigma2):
    pair, both = theory.pair_risk(0.4, d, n, sigma2), theory.least_risk([0.4, -0.4], d, n, sigma2)
    assert pair.risk == pytest.approx(both.risk, abs=1e-8) and pair.V == pytest.approx(both.V, rel=1e-5)


def test_the_best_of_a_scan():
    for best, risk in (
        (theory.best_pair, lambda q: theory.pair_risk(q, 3, 7, 0.4).risk),
        (theory.best_head, lambda q: theory.least_risk(q, 3, 7, 0.4).risk),
    ):
        q, least = best(3, 7, 0.4)
        assert least == pytest.approx(risk(q), abs=1e-9)
        assert least <= min(risk(each) for each in np.linspace(0.1, 2, 12)) + 1e-6
    q, four = theory.second_pair(3, 7, 0.4)
    assert four.risk < theory.best_pair(3, 7, 0.4)[1] and q[0] == -q[1] and q[2] == -q[3]
    assert four.risk > theory.score_floor(3, 7, 0.4, zero_sum=True)


@pytest.mark.parametrize("d, n, sigma2", [(3, 4, 0.0), (5, 20, 0.25), (1, 6, 0.3), (40, 10, 2.0)])
def test_floors_are_exponential_integrals_and_lie_below(d, n, sigma2):
    c = d - 1 + sigma2
    by_integral = sigma2 + d * c / 2 * np.exp(c / 2) * expn(n // 2, c / 2)  # n even: E_{n/2}
    floor, zero_sum = theory.score_floor(d, n, sigma2), theory.score_floor(d, n, sigma2, zero_sum=True)
    assert floor == pytest.approx(by_integral, rel=1e-9)
    assert floor < zero_sum < theory.centred_risk(d, n, sigma2)
    assert floor < one_step_gd.minimal_risk(d, n, sigma2)


def test_one_example_and_no_noise():
    assert theory.best_pair(1, 1, 0.0) == (0.0, 1.0) and theory.centred_risk(3, 1, 0.5) == 3.5
    assert theory.pair_risk(0.3, 3, 1, 0.5).risk == 3.5
    assert theory.score_floor(1, 4, 0.0) == 0 and theory.score_floor(1, 1, 0.0, zero_sum=True) == 1


def test_one_example_teaches_no_heads_anything():
    found = theory.least_risk(np.array([1, -1, 70, -70]) * 0.02 / np.sqrt(5), 5, 1, 0.25)
    assert found.risk == 5.25 == theory.second_pair(5, 1, 0.25)[1].risk and not found.V.any()


def test_what_is_refused():
    with pytest.raises(InputError, match="at most 4, not 4.5"):
        theory.moments([0.1, 4.5], 1, 3, 0.1)
    with pytest.raises(InputError):
        theory.score_floor(0, 3, 0.1)


@pytest.mark.parametrize("k", [1, 2, 3, 9, 60, 3000])
def test_chi_nodes(k):
    r, weights = chi_nodes(k)
    for power, moment in ((0, 1), (2, k), (4, k * (k + 2)), (6, k * (k + 2) * (k + 4))):
        assert weights @ r**power == pytest.approx(moment, rel=5e-6)
    assert chi_nodes(0)[0] == 0 and len(chi_nodes(k, finer=3)[0]) > 2 * len(r)
