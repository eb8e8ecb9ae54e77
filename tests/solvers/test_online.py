"""Online gradient descent by hand, with one step length and with each pair's own, and where a pass ends."""

import numpy as np
import pytest

from icl.comparison.questions import Queries
from icl.solvers.online import online_gradient_descent, online_weights
from icl.validation import InputError


def test_online_gradient_descent_by_hand(prompts):
    X, y = prompts
    found = online_gradient_descent(X, y, [0.1, 0.02])
    for r, rate in enumerate((0.1, 0.02)):
        w = np.zeros(5)
        for t in range(14):
            assert found[1, t, r] == pytest.approx(X[1, t] @ w, abs=1e-12)
            w -= rate * (w @ X[1, t] - y[1, t]) * X[1, t]


def test_normalised_online_steps_make_no_error_on_the_last_pair(prompts):
    X, y = (part[:, :4].copy() for part in prompts)
    X[:, 3], X[0, 2] = X[:, 1], 0.0  # position 3 asks for the pair that was seen at 1
    found = online_gradient_descent(X[:, [0, 1, 3]], y[:, [0, 1, 3]], [1.0], normalised=True)
    np.testing.assert_allclose(found[:, 2, 0], y[:, 1], rtol=1e-12)
    assert np.isfinite(online_gradient_descent(X, y, [1.0], normalised=True)).all()


def test_a_pass_ends_where_it_would_answer_the_next_query_from(prompts):
    X, y = prompts
    ends = online_weights(X[:, :-1], y[:, :-1], [0.1, 0.02])
    last = online_gradient_descent(X, y, [0.1, 0.02])[:, -1]
    np.testing.assert_allclose((ends @ X[:, -1, :, None])[..., 0], last, rtol=1e-12)
    asked = np.random.default_rng(1).standard_normal((4, 3, 5))
    found = Queries(X, y, asked, np.zeros((4, 3))).online([0.1, 0.02])
    for q in range(3):
        alone = np.concatenate([X, asked[:, q : q + 1]], 1), np.concatenate([y, np.zeros((4, 1))], 1)
        np.testing.assert_allclose(found[:, q], online_gradient_descent(*alone, [0.1, 0.02])[:, -1], rtol=1e-11)


def test_a_rate_of_zero_is_refused(prompts):
    with pytest.raises(InputError, match="rates must hold"):
        online_gradient_descent(*prompts, [0.1, 0.0])
    with pytest.raises(InputError, match="rates must hold"):
        online_weights(*prompts, [])
