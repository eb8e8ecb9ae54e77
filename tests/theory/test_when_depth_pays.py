"""What depth buys when every prompt has a covariance of its own: numbers known by hand, other routes, and samples."""

import numpy as np
import pytest

from icl.chapters.when_depth_pays.experiments import prompts
from icl.estimates import monte_carlo
from icl.theory import when_depth_pays as theory
from icl.theory.depth_ladder import DepthLadder
from icl.validation import InputError

FIVE = theory.spectrum(5, 100)


def looped(eigenvalues, layers):
    return theory.excess(np.full(layers, theory.shared_step(eigenvalues, layers)), eigenvalues)


def test_the_known_numbers():
    """d = 5, condition number 100, sum 5, as found once by other programs."""
    own = [theory.least_excess(FIVE, L) for L in range(1, 6)]
    assert own == pytest.approx([0.8998, 0.2346, 0.0610, 0.0112, 0], abs=5e-5)
    assert [looped(FIVE, L) for L in range(1, 6)] == pytest.approx([0.8998, 0.4789, 0.2994, 0.2162, 0.1681], abs=5e-5)


def test_the_spectrum():
    assert FIVE.sum() == pytest.approx(5) and FIVE[0] / FIVE[-1] == pytest.approx(100)
    assert np.diff(np.log(FIVE)) == pytest.approx(np.full(4, -np.log(100) / 4))
    assert theory.spectrum(1, 50) == pytest.approx([1]) and theory.spectrum(3, 1) == pytest.approx(np.ones(3))
    with pytest.raises(InputError, match="at least 1"):
        theory.spectrum(3, 0.5)


@pytest.mark.parametrize("d, condition, layers", [(2, 7, 1), (6, 30, 3), (9, 1000, 5), (40, 100, 12)])
def test_three_routes_to_the_least(d, condition, layers):
    """Christoffel's function, the product of the steps, and least squares over the coefficients."""
    lam = theory.spectrum(d, condition)
    steps = theory.free_steps(lam, layers)
    least = theory.least_excess(lam, layers)
    assert theory.excess(steps, lam) == pytest.approx(least, rel=1e-9)
    assert (steps >= 1 / lam.max()).all() and (steps <= 1 / lam.min()).all() and (np.diff(steps) > 0).all()
    columns = np.sqrt(lam)[:, None] * np.stack(
        [np.cos(k * np.arccos(1 - lam / lam.max())) - 1 for k in range(1, layers + 1)], 1
    )
    free = np.linalg.lstsq(columns, -np.sqrt(lam), rcond=None)[0]  # 1 + Σ c_k (T_k(1 − λ/λ_max) − 1): 1 at 0
    assert np.sum((np.sqrt(lam) + columns @ free) ** 2) == pytest.approx(least, rel=1e-7)
    assert least < theory.chebyshev_bound(lam, layers)


def test_one_layer_by_hand():
    lam = np.array([2.0, 1.0])
    assert theory.least_excess(lam, 1) == pytest.approx(3 - 25 / 9)  # S_1 − S_2²/S_3
    assert theory.free_steps(lam, 1) == pytest.approx([5 / 9]) and theory.shared_step(lam, 1) == pytest.approx(5 / 9)
    assert theory.least_excess(lam, 0) == pytest.approx(3)


def test_as_many_layers_as_eigenvalues_leave_nothing():
    lam = theory.spectrum(4, 50)
    assert theory.least_excess(lam, 4) == 0 and theory.least_excess(lam, 3) > 1e-3
    for layers in (4, 6):
        steps = theory.free_steps(lam, layers)
        assert len(steps) == layers and theory.excess(steps, lam) < 1e-25
    equal = np.ones(3)
    assert theory.least_excess(equal, 1) == 0 and theory.free_steps(equal, 2) == pytest.approx([1, 1])
    assert looped(equal, 3) < 1e-30 and theory.chebyshev_bound(equal, 2) == 0


def test_chebyshev_by_hand():
    """T_2(x) = 2x² − 1 with x = (9 + 1)/(9 − 1)."""
    lam = np.array([9.0, 1.0])
    assert theory.chebyshev_bound(lam, 2) == pytest.approx(10 / (2 * 1.25**2 - 1) ** 2)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_the_shared_step_is_the_lowest_of_a_grid(layers):
    lam, best = theory.spectrum(6, 40), theory.shared_step(theory.spectrum(6, 40), layers)
    values = [theory.excess(np.full(layers, a), lam) for a in best * np.array([0.99, 0.999, 1, 1.001, 1.01])]
    assert np.argmin(values) == 2


@pytest.mark.parametrize("k", [0, 1, 3, 60])
def test_newton_is_least_at_its_alpha(k):
    lam = theory.spectrum(6, 40)
    best = theory.newton_alpha(lam, k)
    if k < 10:
        values = [theory.newton_excess(lam, k, a) for a in best * np.array([0.99, 1, 1.01])]
        assert np.argmin(values) == 1
    M, H = best * np.diag(lam), np.diag(lam)
    for _ in range(min(k, 10)):
        M = 2 * M - M @ H @ M
    rest = np.eye(6) - M @ H
    assert theory.newton_excess(lam, min(k, 10), best) == pytest.approx(np.trace(H @ rest @ rest), rel=1e-6, abs=1e-12)


def test_a_turn_solves_two_eigenvalues():
    lam = theory.spectrum(2, 30)
    a, b = theory.turn(lam)
    N = np.eye(2) - np.array([[a, -b], [b, a]]) @ np.diag(lam)
    assert b > 1 and np.abs(N @ N).max() < 1e-12
    assert theory.turn(np.ones(2)) == pytest.approx((1, 0))


def test_moments_of_white_covariates():
    """E tr S^k/n^k for k ≤ 3 in closed form, H = I."""
    d, n = 4, 7
    third = (n**2 + d**2 + 3 * n * d + 3 * n + 3 * d + 4) / n**2
    assert theory.moments(np.ones(d), n, 3) == pytest.approx([d, d, d * (n + d + 1) / n, d * third], rel=1e-12)


def test_moments_against_samples(rng):
    lam, n = theory.spectrum(3, 5), 6
    exact = theory.moments(lam, n, 4)
    S_1, S_2, S_3 = (np.sum(lam**k) for k in (1, 2, 3))
    assert exact[:3] == pytest.approx([S_1, S_2, (n + 1) / n * S_3 + S_1 * S_2 / n], rel=1e-12)

    def draw(B):
        X = rng.standard_normal((B, n, 3)) * np.sqrt(lam)
        S, power, found = X.mT @ X / n, np.broadcast_to(np.diag(lam), (B, 3, 3)), []
        for _ in range(5):
            found.append(np.einsum("bii->b", power))
            power = power @ S
        return np.stack(found, axis=1)

    sampled = monte_carlo(draw, 100_000)
    assert (np.abs(sampled.mean - exact) <= 5 * sampled.stderr + 1e-12).all()


@pytest.mark.parametrize("d, n, sigma2", [(5, 20, 0.25), (3, 2, 1.5), (1, 1, 0.0)])
def test_short_contexts_without_condition_are_the_depth_ladder(d, n, sigma2):
    ladder, m = DepthLadder(d, n, sigma2), theory.moments(np.ones(d), n, 8)
    for layers in (1, 2, 3, 4):
        found = theory.short_excess(theory.short_steps(m, sigma2 / n, layers), m, sigma2 / n)
        assert found + sigma2 == pytest.approx(ladder.free_steps(layers).risk, rel=1e-7)


def test_short_contexts_get_long_and_one_layer_has_its_formula():
    for n, sigma2 in ((1, 0.0), (13, 2.0)):
        m = theory.moments(FIVE, n, 2)
        found = theory.short_excess(theory.short_steps(m, sigma2 / n, 1), m, sigma2 / n)
        assert found == pytest.approx(theory.one_layer_excess(FIVE, n, sigma2), rel=1e-10)
    m = theory.moments(FIVE, 10_000_000, 6)
    assert theory.short_steps(m, 0.0, 3) == pytest.approx(theory.free_steps(FIVE, 3), rel=1e-2)


def test_short_excess_is_that_of_the_steps(rng):
    """Three steps on sampled prompts, against the moments."""
    lam, n, sigma2 = theory.spectrum(3, 8), 9, 0.7
    steps = theory.short_steps(theory.moments(lam, n, 6), sigma2 / n, 3) * [1.1, 0.8, 1.2]

    def errors(B):
        batch = prompts(lam, n, sigma2, rng, B)
        w = np.zeros((B, 3))
        for a in steps:
            w = w + a * np.einsum("bni,bn->bi", batch.X, batch.y - np.einsum("bni,bi->bn", batch.X, w)) / n
        return (np.einsum("bi,bi->b", batch.x_query, w) - batch.y_query) ** 2

    measured = monte_carlo(errors, 200_000)
    predicted = sigma2 + theory.short_excess(steps, theory.moments(lam, n, 6), sigma2 / n)
    assert abs(measured.mean - predicted) <= 5 * measured.stderr < 0.1 * predicted


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="positive"):
        theory.excess([1.0], [1.0, 0.0])
    with pytest.raises(InputError, match="at most 4"):
        theory.short_steps(theory.moments(FIVE, 3, 10), 0.0, 5)
    with pytest.raises(InputError, match="layers"):
        theory.free_steps(FIVE, 0)


def test_moments_are_exact_up_to_the_eighth():
    """Two examples of two covariates by Gauss and Hermite's nodes, exact for polynomials of degree 2·8 in each."""
    lam, (nodes, weights) = np.array([1.7, 0.3]), np.polynomial.hermite_e.hermegauss(9)
    grid = np.stack(np.meshgrid(*[nodes] * 4, indexing="ij"), axis=-1).reshape(-1, 2, 2) * np.sqrt(lam)
    weight = np.prod(
        np.stack(np.meshgrid(*[weights / weights.sum()] * 4, indexing="ij"), axis=-1).reshape(-1, 4), axis=1
    )
    S, power = grid.mT @ grid / 2, np.broadcast_to(np.diag(lam), (len(grid), 2, 2))
    for exact in theory.moments(lam, 2, 8):
        assert weight @ np.einsum("bii->b", power) == pytest.approx(exact, rel=1e-10)
        power = power @ S
