"""Chapter 11's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest
import torch

from icl.chapters import check_parameters
from icl.chapters.when_depth_pays import experiments as chapter
from icl.chapters.when_depth_pays import matrices, pictures, step_flow
from icl.estimates import Estimate, NotRun, monte_carlo
from icl.theory import when_depth_pays as theory


def looped(eigenvalues, layers):
    return theory.excess(np.full(layers, theory.shared_step(eigenvalues, layers)), eigenvalues)


def test_rotations_are_uniform(rng):
    O = chapter.haar(rng, 40_000, 3)
    assert np.abs(O @ O.mT - np.eye(3)).max() < 1e-12
    assert np.abs(O.mean(0)).max() < 0.02 and np.einsum("bii->b", O).mean() == pytest.approx(0, abs=0.03)
    assert (np.linalg.det(O) > 0).mean() == pytest.approx(0.5, abs=0.02)


def test_prompts_have_covariances_of_their_own(rng):
    lam = theory.spectrum(2, 9)
    batch = chapter.prompts(lam, 400, 0.5, rng, 300)
    S = batch.X.mT @ batch.X / 400
    assert np.linalg.eigvalsh(S).mean(0) == pytest.approx(np.sort(lam), rel=0.05)
    assert S.mean(0) == pytest.approx(np.eye(2), abs=0.12) and S[:, 0, 1].std() > 0.3
    noise = batch.y - np.einsum("bni,bi->bn", batch.X, batch.beta)
    assert noise.var() == pytest.approx(0.5, rel=0.03)
    same = chapter.prompts(lam, 400, 0.5, rng, 300, fixed=True)
    assert (same.X.mT @ same.X / 400)[:, 0, 1].std() < 0.1


def test_endless_contexts_have_exactly_the_eigenvalues(rng):
    lam = theory.spectrum(4, 30)
    batch = chapter.endless(lam, rng, 5000)
    H = batch.X.mT @ batch.X / 4
    assert np.linalg.eigvalsh(H) == pytest.approx(np.broadcast_to(lam[::-1], (5000, 4)), rel=1e-9)
    assert np.abs(batch.y - np.einsum("bni,bi->bn", batch.X, batch.beta)).max() < 1e-12
    along = np.einsum("bi,bij,bj->b", batch.x_query, np.linalg.inv(H), batch.x_query)
    assert along.mean() == pytest.approx(4, abs=0.25)  # the query is N(0, H) as well


def test_mean_squared_error_is_of_the_query(rng):
    lam = theory.spectrum(3, 4)
    zero = chapter.mean_squared_error(
        lambda X, y, x: 0 * x[:, 0], lambda B: chapter.prompts(lam, 2, 1.0, rng, B), 20_000
    )
    assert abs(zero.mean - 4) <= 5 * zero.stderr


@pytest.mark.parametrize("d, condition, layers", [(3, 20, 2), (8, 500, 5), (4, 30, 4), (2, 5, 5)])
def test_a_search_over_steps_ends_at_the_formula(rng, d, condition, layers):
    lam = theory.spectrum(d, condition)
    found = chapter.descend_over_steps(lam, layers, 4, rng)
    assert found == pytest.approx(theory.least_excess(lam, layers), rel=1e-8, abs=1e-12)


def test_what_float64_cannot_hold():
    assert chapter.too_steep(theory.spectrum(7, 100), 7) is None and chapter.too_steep(theory.spectrum(7, 1e4), 12)
    assert "float64" in chapter.too_steep(theory.spectrum(7, 1e6), 6).reason


def test_the_worst_over_depths(monkeypatch):
    monkeypatch.setattr(chapter, "MOST_LAYERS", 4)
    lam = theory.spectrum(6, 70)
    ends, above = chapter.worst_over_depths(lam)
    steps = [theory.free_steps(lam, L) for L in range(1, 5)]
    assert ends == pytest.approx(max(max(1 / lam.max() / a.min(), lam.min() * a.max()) for a in steps))
    ratios = [theory.least_excess(lam, L) / theory.chebyshev_bound(lam, L) for L in range(1, 5)]
    assert ends < 1 and above == pytest.approx(max(ratios)) and above < 1


@pytest.mark.parametrize("layers", [1, 3])
def test_the_flow_ends_at_the_best_step(layers):
    lam = theory.spectrum(4, 12)
    flow = step_flow.flow(lam, layers)
    assert flow.excess == pytest.approx(looped(lam, layers), rel=1e-10)
    assert 0.99 < flow.ratio <= 1 + 1e-6
    best, h = theory.shared_step(lam, layers), 1e-4
    f = lambda a: theory.excess(np.full(layers, a), lam)
    second = (f(best + h) - 2 * f(best) + f(best - h)) / h**2
    assert flow.rate == pytest.approx(second, rel=1e-3) and step_flow.curvature(lam, layers, best) == pytest.approx(
        second, rel=1e-5
    )
    steps = np.linspace(0, 3 * best, 400)
    assert step_flow.least_curvature(lam, layers) == pytest.approx(
        min(step_flow.curvature(lam, layers, a) for a in steps), rel=1e-2
    )


def test_a_flat_end_is_not_followed():
    assert isinstance(step_flow.flow(np.ones(3), 2), NotRun) and isinstance(
        step_flow.flow(np.ones(3), 1), step_flow.Flow
    )
    assert isinstance(step_flow.tail_ratio(np.ones(3))[1], NotRun)


def test_many_looped_layers():
    limit, measured, near = step_flow.tail_ratio(theory.spectrum(4, 15))
    assert limit == pytest.approx(-2 * np.log(14 / 16)) and measured == pytest.approx(limit, rel=1e-4)
    assert near == pytest.approx(-2 * np.log((15**0.5 - 1) / (15**0.5 + 1)))


def test_one_matrix_suffices_for_one_covariance(rng):
    assert chapter.descend_over_one_matrix(theory.spectrum(6, 300), rng) < 1e-15


def test_the_mean_over_rotations_is_exact(rng):
    """Γ any matrices: the quadrature against sampled rotations, and one layer in closed form."""
    lam = theory.spectrum(3, 6)
    Gammas = rng.standard_normal((2, 3, 3)) / 2
    law = matrices.exact_rotations(lam, 2)
    assert law.weights.sum() == pytest.approx(1) and (law.weights > 0).all()
    exact = law.weights @ matrices.excesses(Gammas, law.H)
    sampled = monte_carlo(lambda B: matrices.excesses(Gammas, matrices.sampled_rotations(lam, B, rng).H), 100_000)
    assert abs(exact - sampled.mean) <= 5 * sampled.stderr < 0.05 * exact
    finer = matrices.exact_rotations(lam, 3)
    assert finer.weights @ matrices.excesses(Gammas, finer.H) == pytest.approx(exact, rel=1e-12)


def test_excesses_are_those_of_gradient_steps(rng):
    """E over β and x of (x'(β − w))² with one H, by hand."""
    H, Gammas = np.diag([2.0, 0.5]), rng.standard_normal((2, 2, 2))
    P = (np.eye(2) - Gammas[1] @ H) @ (np.eye(2) - Gammas[0] @ H)  # β − w after both layers, first layer first
    assert matrices.excesses(Gammas, H[None]) == pytest.approx([np.trace(P.T @ H @ P)])


@pytest.mark.parametrize("condition", [4, 60])
def test_matrices_of_their_own_end_at_steps(rng, condition):
    lam = theory.spectrum(3, condition)
    for layers in (1, 2):
        found = matrices.exact_descent(condition, layers, 4, rng, shared=False)
        assert found == pytest.approx(theory.least_excess(lam, layers), rel=1e-7)


def test_a_looped_matrix_beats_the_step(rng):
    found = matrices.exact_descent(10, 2, 4, rng, shared=True)
    assert found == pytest.approx(0.1776409, rel=1e-6) and found < looped(theory.spectrum(3, 10), 2) - 0.04
    assert matrices.exact_descent(10, 1, 3, rng, shared=True) == pytest.approx(
        looped(theory.spectrum(3, 10), 1), rel=1e-8
    )


def test_the_gradient_at_a_step_is_a_step(rng):
    """So a flow of matrices from a multiple of I is the flow of the step, d times slower."""
    lam, layers, a = theory.spectrum(3, 7), 2, 0.4
    law = matrices.exact_rotations(lam, layers)
    Gamma = torch.tensor(a * np.eye(3), requires_grad=True)
    H, P = torch.from_numpy(law.H), torch.eye(3, dtype=torch.float64)
    for _ in range(layers):
        P = P - Gamma @ (H @ P)
    (torch.from_numpy(law.weights) @ (P * (H @ P)).sum((1, 2))).backward()
    slope = (looped_at(a + 1e-6, lam, layers) - looped_at(a - 1e-6, lam, layers)) / 2e-6
    assert Gamma.grad.numpy() == pytest.approx(slope / 3 * np.eye(3), abs=1e-6)


def looped_at(a, lam, layers):
    return theory.excess(np.full(layers, a), lam)


def test_sampled_descents(rng):
    lam = theory.spectrum(4, 10)
    sizes = chapter.Budget(0, 300, 5000, 2)
    own = matrices.sampled_descent(lam, 2, sizes, rng, shared=False)
    assert own.mean == pytest.approx(theory.least_excess(lam, 2), rel=0.01) and own.mean > theory.least_excess(lam, 2)
    assert matrices.sampled_descent(lam, 2, sizes, rng, shared=True).mean < looped(lam, 2) - 0.01


def test_where_the_step_becomes_a_minimum():
    kappa = step_flow.turned_saddle()
    for factor, sign in ((0.9, -1), (1.1, 1)):
        pair = theory.spectrum(2, factor * kappa)
        a, b = theory.shared_step(pair, 2), 1e-3
        change = pictures.turned_excess(pair, a, b) - pictures.turned_excess(pair, a, 0.0)
        assert np.sign(change) == sign


def test_the_excess_of_a_turn():
    pair = theory.spectrum(2, 8)
    a, b = 0.7, 0.4
    expected = matrices.excesses(np.array([[[a, -b], [b, a]]] * 2), np.diag(pair)[None])
    assert pictures.turned_excess(pair, np.array([a]), b) == pytest.approx(expected)


def test_where_newton_overtakes():
    lam = theory.spectrum(20, 50)
    found = chapter.overtakes(lam)
    newton = lambda L: theory.newton_excess(lam, L - 2, theory.newton_alpha(lam, L - 2))
    for name, other in (
        ("past_free", lambda L: theory.least_excess(lam, L)),
        ("past_shared", lambda L: looped(lam, L)),
    ):
        L = found[name]
        assert newton(L) < other(L) and newton(L - 1) >= other(L - 1)


def test_budget_shrinks_with_the_size_of_a_prompt():
    assert chapter.budget(check_parameters("11_when_depth_pays")).prompts == 100_000
    assert chapter.budget(check_parameters("11_when_depth_pays", d=100, n=1000)).prompts == 2000
    assert chapter.budget(check_parameters("11_when_depth_pays", d=60, n=1)).prompts == 2777  # d examples at least


def test_prose_numbers():
    found = chapter.prose_numbers(check_parameters("11_when_depth_pays", d=7, layers=2), 0.5)
    assert found["capped"] == 6 and found["short_layers"] == 2 and found["turned_d3"] == 0.5 and found["d"] == 7
    assert found["one_layer"] == pytest.approx(theory.least_excess(theory.spectrum(7, 100), 1))


def test_the_pictures_show_their_numbers():
    lam = theory.spectrum(4, 20)
    columns = pictures.depth(lam, 9, 0.3, 3, Estimate(0.1, 0.01, 9)).columns
    assert columns["own_steps"][2] == pytest.approx(theory.least_excess(lam, 3))
    assert columns["one_step"][3] == pytest.approx(looped(lam, 4))
    assert columns["n_examples"][0] == pytest.approx(theory.one_layer_excess(lam, 9, 0.3))
    p = np.prod(1 - theory.free_steps(lam, 2)[:, None] * columns["eigenvalue"], axis=0)
    assert columns["left_by_2"] == pytest.approx(p)
    turned = pictures.turned(30, {1: 0.6, 2: 0.3}, 10).columns
    assert turned["kappa_10"][0] == pytest.approx(looped(theory.spectrum(2, 10), 2) / 2, rel=1e-6)
    assert turned["kappa_10"][200] < 1e-8 and turned["matrix"] == pytest.approx([0.2, 0.1])
    newton = pictures.newton(theory.spectrum(5, 10), 6).columns
    assert newton["own_steps"][0] == pytest.approx(theory.least_excess(theory.spectrum(5, 10), 1) / 5)
    assert newton["newton"][1] == pytest.approx(
        theory.newton_excess(theory.spectrum(5, 10), 0, theory.newton_alpha(theory.spectrum(5, 10), 0)) / 5
    )
