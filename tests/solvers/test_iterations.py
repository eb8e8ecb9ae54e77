"""Conjugate gradients, BFGS and L-BFGS against dense references and against each other."""

import numpy as np
import pytest
from scipy.sparse.linalg import cg

from icl.solvers import iterations
from icl.solvers.iterations import all_prefixes, bfgs, conjugate_gradients, lbfgs
from icl.solvers.prefixes import StepSizeWarning, decompose, least_squares
from icl.validation import InputError


def test_conjugate_gradients_is_scipy_s(prompts):
    X, y = prompts
    found = all_prefixes(X, y, range(6), conjugate_gradients)
    for b, t in ((0, 13), (2, 9), (3, 3)):
        S, moment = X[b, :t].T @ X[b, :t], X[b, :t].T @ y[b, :t]
        for k in range(6):
            w, _ = cg(S, moment, maxiter=k, rtol=1e-15) if k else (np.zeros(5), 0)
            assert found[b, t, k] == pytest.approx(X[b, t] @ w, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("method", [bfgs(), lbfgs(1), lbfgs(3), lbfgs(20)])
def test_quasi_newton_with_exact_search_is_conjugate_gradients(prompts, method):
    """Nazareth (1979): on a quadratic, from a multiple of the identity."""
    X, y = prompts
    expected = all_prefixes(X, y, range(5), conjugate_gradients)
    np.testing.assert_allclose(all_prefixes(X, y, range(5), method), expected, rtol=1e-7, atol=1e-7)


def dense_bfgs(S, b, steps):
    """The textbook, one problem: H by its product form, backtracking by trying."""
    loss = lambda w: w @ S @ w / 2 - b @ w
    w, H, found = np.zeros(len(b)), np.eye(len(b)), []
    for _ in range(steps):
        g = S @ w - b
        p, step = -H @ g, 1.0
        while loss(w + step * p) > loss(w) + 1e-4 * step * (g @ p):
            step /= 2
        s, z = step * p, step * S @ p
        w, rho = w + s, 1 / (s @ z)
        V = np.eye(len(b)) - rho * np.outer(s, z)
        H = V @ H @ V.T + rho * np.outer(s, s)
        found.append(w)
    return found


def test_backtracking_bfgs_is_the_textbook_s(prompts):
    X, y = prompts
    found = all_prefixes(X, y, range(1, 7), bfgs("backtracking"))
    full = all_prefixes(X, y, range(1, 7), lbfgs(30, "backtracking"))
    for b, t in ((0, 13), (1, 10)):
        expected = [X[b, t] @ w for w in dense_bfgs(X[b, :t].T @ X[b, :t], X[b, :t].T @ y[b, :t], 6)]
        np.testing.assert_allclose(found[b, t], expected, rtol=1e-7)
        # L-BFGS takes the same first step, then scales its start: other iterates, the same end
        assert full[b, t, 0] == pytest.approx(expected[0]) and full[b, t, 2] != pytest.approx(expected[2], rel=1e-3)


@pytest.mark.parametrize("method", [conjugate_gradients, bfgs(), bfgs("backtracking"), lbfgs(), lbfgs(3)])
@pytest.mark.parametrize("dtype,tolerance", [("f8", 1e-8), ("f4", 2e-2)])
def test_all_end_at_least_squares_and_stay_there(prompts, method, dtype, tolerance):
    X, y = (part.astype(dtype) for part in prompts)
    found = all_prefixes(X, y, [0, 60, 90], method)
    limit = least_squares(decompose(*prompts))
    assert found.dtype == dtype and not found[:, 0].any() and not found[..., 0].any()
    for k in (1, 2):
        np.testing.assert_allclose(found[..., k], limit, rtol=tolerance, atol=tolerance)


def test_backtracking_lbfgs_converges_slowly_but_surely(prompts):
    X, y = prompts
    found = all_prefixes(X, y, [400], lbfgs(5, "backtracking"))[..., 0]
    np.testing.assert_allclose(found, least_squares(decompose(X, y)), rtol=1e-5, atol=1e-5)


def test_groups_of_prompts_do_not_matter(prompts, monkeypatch):
    X, y = prompts
    whole = all_prefixes(X, y, range(4), bfgs())
    monkeypatch.setattr("icl.solvers.prefixes.CHUNK", 1)
    np.testing.assert_array_equal(all_prefixes(X, y, range(4), bfgs()), whole)


def test_bad_input_is_one_sentence(prompts):
    X, y = prompts
    with pytest.raises(InputError, match="alpha must be above 0"):
        all_prefixes(X, y, [1], iterations.newton(0.0))
    with pytest.warns(StepSizeWarning, match="alpha must lie in"):
        all_prefixes(X, y, [1], iterations.newton(10.0))
    with pytest.raises(InputError, match="alpha must be an array of numbers, not str"):
        all_prefixes(X, y, [1], iterations.newton("spectral"))
    with pytest.raises(InputError, match=r"alpha must have shape \(56,\), not \(3,\)"):
        all_prefixes(X, y, [1], iterations.newton(np.full(3, 0.01)))
    with pytest.raises(InputError, match="needs a step size"):
        iterations.gradient_descent()
    with pytest.raises(InputError, match=r"eta must have shape \(56,\)"):
        all_prefixes(X, y, [1], iterations.gradient_descent(0.1, [0.1, 0.2]))
    with pytest.raises(InputError, match="eta must be finite"):
        all_prefixes(X, y, [1], iterations.gradient_descent(np.nan))
    with pytest.raises(InputError, match="search must be 'exact' or 'backtracking'"):
        bfgs("wolfe")
    with pytest.raises(InputError, match="memory must be a whole number"):
        lbfgs(0)
    with pytest.raises(InputError, match="at least 0, not -2"):
        all_prefixes(X, y, [-2], bfgs())
