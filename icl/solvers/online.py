"""Online gradient descent: one pass over the examples, a step after each (Fu et al. 2024, §3)."""

from collections.abc import Iterable, Iterator

import numpy as np

from icl.solvers.prefixes import check_sequences
from icl.validation import InputError, check_nonnegative


def online_gradient_descent(X: np.ndarray, y: np.ndarray, rates: Iterable[float], *, normalised=False) -> np.ndarray:
    """Predictions (B, T, R) of one pass of w ← w − rate (w'x_t − y_t) x_t, for R rates > 0, each before it sees y_t.

    X is (B, T, d), y (B, T). `normalised` divides the rate by |x_t|²: with rate 1 the new w makes no error on the last
    pair (Fu et al. 2024, eq. 4). Raises InputError for a rate ≤ 0.
    """
    return np.stack([predicted for predicted, _ in _pass(X, y, rates, normalised)], 1)


def online_weights(X: np.ndarray, y: np.ndarray, rates: Iterable[float]) -> np.ndarray:
    """Where that pass ends, w (B, R, d). Raises InputError as `online_gradient_descent`."""
    *_, (_, w) = _pass(X, y, rates)
    return w


def _pass(X, y, rates, normalised=False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each pair its predictions (B, R), and the weights (B, R, d) after it."""
    X, y = check_sequences(X, y)
    rates = np.array([check_nonnegative("rate", rate) for rate in rates], X.dtype)
    if not rates.size or rates.min() == 0:
        raise InputError("rates must hold at least one number, each above 0.")
    B, T, d = X.shape
    size = (X * X).sum(-1) if normalised else np.ones_like(y)
    size[size == 0] = 1  # x = 0 moves nothing
    w = np.zeros((B, len(rates), d), X.dtype)
    for t in range(T):
        x = X[:, t]
        predicted = np.matvec(w, x)
        step = rates * ((predicted - y[:, t, None]) / size[:, t, None])
        w = w - step[..., None] * x[:, None]
        yield predicted, w
