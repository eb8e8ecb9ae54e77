"""One layer of linear attention on points about lines: its best step, its risk, and Bayes."""

import numpy as np
import pytest
from support import assert_within_errors, estimate

from icl.estimates import Estimate
from icl.solvers.linear import ridge
from icl.theory import lines
from icl.validation import InputError

LAWS = [(2.0, 0.25, range(1, 13)), (1.5, 0.0, [3]), (0.7, 2.0, [1, 5])]


def draw(rng, reach, sigma2, n, B):
    """u (B, n + 1) and y, with a fresh point last."""
    u, w = rng.uniform(-reach, reach, (B, n + 1)), rng.standard_normal((B, 2))
    X = np.stack([np.ones_like(u), u], -1)
    return X, np.einsum("bnd,bd->bn", X, w) + np.sqrt(sigma2) * rng.standard_normal((B, n + 1))


def test_a_case_worked_by_hand():
    """n = 1, reach √3: m_2 = 1, m_4 = 9/5, so C = K + sigma2 D and Gamma = 1 / (2 + sigma2), 1 / (14/5 + sigma2)."""
    np.testing.assert_allclose(lines.best_step(np.sqrt(3), 0.5, [1]), [1 / 2.5, 1 / 3.3], rtol=1e-14)
    assert lines.least_risk(np.sqrt(3), 0.5, [1]) == pytest.approx(0.5 + 2 - 1 / 2.5 - 1 / 3.3)


@pytest.mark.parametrize("reach, sigma2, lengths", LAWS)
def test_the_risk_is_the_measured_one_and_least(rng, reach, sigma2, lengths):
    step = lines.best_step(reach, sigma2, lengths)

    def errors(B, factors):
        parts = []
        for n in lengths:
            X, y = draw(rng, reach, sigma2, n, B // len(lengths))
            found = (lines.one_layer(X[:, :-1], y[:, :-1], step * factor) for factor in factors)
            parts.append(np.stack([(np.einsum("bd,bd->b", X[:, -1], line) - y[:, -1]) ** 2 for line in found], -1))
        return np.concatenate(parts)

    factors = [np.ones(2), *(np.array(f) for f in ([1.1, 1], [0.9, 1], [1, 1.1], [1, 0.9]))]
    found = estimate(lambda B: errors(B, factors), 24_000 * len(lengths), chunk=2_000 * len(lengths))
    risk = Estimate(found.mean[0], found.stderr[0], found.count)
    assert_within_errors(risk, lines.least_risk(reach, sigma2, lengths))
    assert found.mean[0] < found.mean[1:].min(), "both parts of the step have the right size"


def test_no_weights_of_the_layer_do_better(rng):
    """Least squares over all that layers can form, sums of G_ab x_j, finds the best step, and no smaller risk."""
    n, reach, sigma2, B = 3, 2.0, 0.25, 120_000
    X, y = draw(rng, reach, sigma2, n, B)
    tokens = np.concatenate([X[:, :-1], y[:, :-1, None]], -1)
    gram = np.einsum("bna,bnc->bac", tokens, tokens) / n
    pairs = [(1, 1), (0, 1), (0, 2), (1, 2), (2, 2)]  # G_00 is n, whatever the points are: the constant below
    formed = np.stack([np.ones(B), *(gram[:, a, b] for a, b in pairs)], -1)
    features = np.einsum("bk,bj->bkj", formed, X[:, -1]).reshape(B, -1)
    weights, residual, *_ = np.linalg.lstsq(features, y[:, -1], rcond=None)
    by_label = weights.reshape(-1, 2)[3:5]  # rows sum y_i and sum u_i y_i
    np.testing.assert_allclose(np.diag(by_label), lines.best_step(reach, sigma2, [n]), atol=0.02)
    least = lines.least_risk(reach, sigma2, [n])
    assert residual[0] / B == pytest.approx(least, rel=0.03) and residual[0] / B > 0.97 * least


def test_the_posterior_mean_is_ridge_and_scales_with_the_labels(rng):
    X, y = draw(rng, 2.0, 0.25, 4, 7)
    w = lines.posterior_mean(X, y, 0.25)
    np.testing.assert_allclose(w, ridge(X, y, 0.25), rtol=1e-12)
    np.testing.assert_allclose(lines.posterior_mean(X, 3 * y, 0.25), 3 * w, rtol=1e-12)


@pytest.mark.parametrize(
    "arguments", [(0.0, 0.25, [1]), (-1.0, 0.25, [1]), (2.0, -0.1, [1]), (2.0, 0.25, []), (2.0, 0.25, [0])]
)
def test_what_is_no_law_is_refused(arguments):
    for function in (lines.best_step, lines.least_risk):
        with pytest.raises(InputError):
            function(*arguments)
