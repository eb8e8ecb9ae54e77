r"""All prefixes of a prompt at once, in the eigenbases where gradient descent and Newton's method are scalar.

A prompt is T pairs (x_t, y_t), t = 0, …, T − 1. The prediction at position t uses the t pairs before it and the
covariate x_t: prefix length t, query x_t. At position 0 nothing is known and 0 is predicted (the protocol of Fu et al.
2024, §3). With X, y the t pairs, S = X'X = Σ_i λ_i u_i u_i' and an estimate w = q(S) X'y,

    x_t'w = Σ_i q(λ_i) c_i,   c_i = (x_t'u_i) (u_i'X'y).

One eigendecomposition a prefix therefore gives least squares, ridge, every step of GD and every step of Newton. For
t < d it is that of XX', t × t, which is smaller and has no zero eigenvalues.

X is (B, T, d), y (B, T), float64 or float32; predictions are (B, T) or (B, T, steps) in the same type. Gram matrices
square the condition number, so they are formed and decomposed in float64 whatever comes in. NumPy.
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from icl.validation import InputError, check_count, check_nonnegative

CHUNK = 500_000  # numbers in the largest intermediate array: fits a processor's cache, keeps memory flat


class StepSizeWarning(UserWarning):
    """A step size for which the iteration does not converge; the message names the range for which it does."""


@dataclass(frozen=True)
class Prefixes:
    """eigenvalues λ, weights c : (B, T, d) float64, 0 where a prefix has no more; dtype : of the predictions.

    Eigenvalues below d ε times the largest (ε: float64's precision) are rounding and are set to 0, with their weights.
    """

    eigenvalues: np.ndarray
    weights: np.ndarray
    dtype: np.dtype

    @cached_property
    def largest(self) -> np.ndarray:
        """λ_max of each prefix, (B, T); 0 for the empty one."""
        return self.eigenvalues.max(-1)

    @cached_property
    def inverse_weights(self) -> np.ndarray:
        """c_i / λ_i, (B, T, d), 0 where λ_i = 0: the terms of the least-squares prediction."""
        return np.divide(self.weights, self.eigenvalues, out=np.zeros_like(self.weights), where=self.eigenvalues > 0)


def decompose(X: np.ndarray, y: np.ndarray) -> Prefixes:
    """The eigenvalues and weights of every prefix; X (B, T, d), y (B, T). Raises InputError for other shapes or NaN."""
    X, y = check_sequences(X, y)
    B, T, d = X.shape
    eigenvalues, weights = np.zeros((B, T, d)), np.zeros((B, T, d))
    for part in task_chunks(B, T * d * d):
        _short_prefixes(X[part].astype(float), y[part].astype(float), eigenvalues[part], weights[part])
        _long_prefixes(X[part].astype(float), y[part].astype(float), eigenvalues[part], weights[part])
    rounding = eigenvalues <= d * np.finfo(float).eps * eigenvalues.max(-1, keepdims=True)
    eigenvalues[rounding] = weights[rounding] = 0.0
    return Prefixes(eigenvalues, weights, X.dtype)


def least_squares(prefixes: Prefixes) -> np.ndarray:
    """Predictions (B, T) of the min-norm least-squares estimate S⁺X'y, the limit of GD and of Newton."""
    return prefixes.inverse_weights.sum(-1).astype(prefixes.dtype)


def ridge(prefixes: Prefixes, penalties: Iterable[float]) -> np.ndarray:
    """Predictions (B, T, P) of (S + p I)^{-1} X'y for P penalties ≥ 0; p = 0 is least squares.

    With p = sigma2 it is the Bayes estimate for beta ~ N(0, I) (Fu et al. 2024, §3). Raises InputError for p < 0.
    """
    penalties = [check_nonnegative("penalty", p) for p in penalties]
    columns = [(prefixes.inverse_weights * _shrink(prefixes.eigenvalues, p)).sum(-1) for p in penalties]
    return np.stack(columns, -1).astype(prefixes.dtype)


def gradient_descent(prefixes: Prefixes, steps: Iterable[int], *, eta: float | str = "spectral") -> np.ndarray:
    """Predictions (B, T, K) after each of K step counts ≥ 0 of w ← w − eta (S w − X'y) from w = 0.

    eta : "spectral" for 1 / λ_max of each prefix, or one number > 0 for all (0.01 in the published sweep). On an
    eigenvalue λ w is eta Σ_{j<s} r^j with r = 1 − eta λ (Fu et al. 2024, eq. 11). All sums up to s come from about 2√s
    of them, Σ_{j<a+bm} = Σ_{j<a} + r^a Σ_{j<bm}, and one small matrix product a prefix; the closed form
    (1 − r^s) / λ would cancel. Warns (StepSizeWarning) where eta ≥ 2 / λ_max.
    """
    steps = check_steps(steps)
    rates = step_sizes("eta", eta, prefixes.largest, {"spectral": 1.0}, power=1)
    residual = 1 - rates[..., None] * prefixes.eigenvalues
    terms = rates[..., None] * prefixes.weights
    period = int(np.ceil(np.sqrt(steps.max() + 1)))
    small, pick_small = np.unique(steps % period, return_inverse=True)
    large, pick_large = np.unique(steps // period, return_inverse=True)
    pick = pick_large * len(small) + pick_small
    if np.array_equal(pick, np.arange(pick[0], pick[0] + len(pick))):
        pick = slice(pick[0], pick[0] + len(pick))  # a range of step counts is copied as one piece
    B, T, d = terms.shape
    out = np.empty((B, T, len(steps)), prefixes.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # a step that diverges gives infinity, as it should
        for part in task_chunks(B, 4 * T * d * period):
            powers, sums = _powers(residual[part], period)
            _, whole = _powers(powers[..., period], int(large[-1]) + 1)
            whole = whole[..., large] * (terms[part] * sums[..., period])[..., None]  # (b, T, d, large)
            table = np.swapaxes(whole, -1, -2) @ powers[..., small]  # (b, T, large, small)
            table += terms[part][..., None, :] @ sums[..., small]  # the same for every multiple of the period
            out[part] = table.reshape(*table.shape[:2], -1)[..., pick]
    return out


def newton(prefixes: Prefixes, steps: Iterable[int], *, alpha: float | str = "spectral") -> np.ndarray:
    """Predictions (B, T, K) after each of K counts k ≥ 0 of M ← 2M − M S M from M = alpha S; w = M X'y.

    alpha : "spectral" for 1 / λ_max² of each prefix, "frobenius" for 1 / |S S'|_F, as in the published code, or one
    number > 0 for all. e = λ m, with m Newton's estimate of 1/λ, obeys e ← e (2 − e) from alpha λ²: I − M_k S is
    (I − alpha S²)^{2^k} (Fu et al. 2024, §3.1). Warns (StepSizeWarning) where alpha ≥ 2 / λ_max².
    """
    steps = check_steps(steps)
    frobenius = np.linalg.norm(prefixes.eigenvalues**2, axis=-1)
    scale = np.divide(prefixes.largest**2, frobenius, out=np.ones_like(frobenius), where=frobenius > 0)
    rates = step_sizes("alpha", alpha, prefixes.largest, {"spectral": 1.0, "frobenius": scale}, power=2)
    terms = prefixes.inverse_weights
    out = np.empty((*terms.shape[:2], len(steps)), prefixes.dtype)
    e = rates[..., None] * prefixes.eigenvalues**2
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(int(steps.max()) + 1):
            if k in steps:
                out[..., steps == k] = (terms * e).sum(-1)[..., None]
            e = e * (2 - e)
    return out


def check_sequences(X, y) -> tuple[np.ndarray, np.ndarray]:
    """X (B, T, d), y (B, T) in a common float32 or float64; raises InputError for other shapes, sizes 0 or NaN."""
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 3 or y.shape != X.shape[:2] or 0 in X.shape:
        raise InputError(f"X must be (tasks, positions, d) and y (tasks, positions), not {X.shape} and {y.shape}.")
    dtype = np.float32 if X.dtype == y.dtype == np.float32 else np.float64
    X, y = X.astype(dtype), y.astype(dtype)
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise InputError("X and y must be finite, but hold NaN or infinity.")
    return X, y


def check_steps(steps: Iterable[int]) -> np.ndarray:
    """A non-empty list of K step counts as an array (K,); raises InputError unless each is a whole number ≥ 0."""
    counts = [check_count("k, the number of steps,", k, least=0) for k in steps]
    if not counts:
        raise InputError("steps is empty; name at least one number of steps, such as range(10).")
    return np.array(counts)


def step_sizes(name: str, value, largest: np.ndarray, known: dict, *, power: int) -> np.ndarray:
    """A step size for every prefix, (B, T): `value`, or a name in `known`, whose entry is divided by λ_max^power.

    Warns where it is 2 / λ_max^power or more: there the iteration does not converge. Raises InputError otherwise bad.
    """
    if isinstance(value, str):
        if value not in known:
            raise InputError(f"{name} must be a number or one of {', '.join(known)}, not {value!r}.")
        bound = largest**power
        return np.divide(known[value], bound, out=np.zeros_like(largest), where=bound > 0)
    if check_nonnegative(name, value) == 0:
        raise InputError(f"{name} must be above 0: with {name} = 0 the iteration never leaves 0.")
    warn_out_of_range(name, value, largest.max(), power=power)
    return np.full_like(largest, value)


def warn_out_of_range(name: str, value: float, largest: float, *, power: int) -> None:
    """Warn (StepSizeWarning) unless 0 < value < 2 / largest^power; the end point is excluded, up to rounding."""
    if largest > 0 and value * largest**power >= 2 * (1 - 1e-9):
        warnings.warn(
            f"{name} = {value:.6g} does not converge: with the largest eigenvalue {largest:.6g} of S, {name} must lie"
            f" in (0, {2 / largest**power:.6g}), both ends excluded.",
            StepSizeWarning,
            stacklevel=4,
        )


def task_chunks(B: int, numbers_per_task: int) -> Iterator[slice]:
    """Slices of range(B) such that the largest intermediate array stays near CHUNK numbers."""
    size = max(1, CHUNK // max(1, numbers_per_task))
    return (slice(start, start + size) for start in range(0, B, size))


def _short_prefixes(X, y, eigenvalues, weights):
    """Prefixes with t < d, in place: XX' = V Λ V' gives c_i = (v_i'X x_t)(v_i'y)."""
    for t in range(1, min(X.shape[2], X.shape[1])):
        P = X[:, :t]
        found, V = np.linalg.eigh(P @ np.swapaxes(P, 1, 2))
        eigenvalues[:, t, :t] = found
        seen = np.stack([(P @ X[:, t, :, None])[..., 0], y[:, :t]], 1) @ V  # (b, 2, t)
        weights[:, t, :t] = seen.prod(1)


def _long_prefixes(X, y, eigenvalues, weights):
    """Prefixes with t ≥ d, in place, from S and X'y summed along the prompt."""
    d, T = X.shape[2], X.shape[1]
    if T <= d:
        return
    S, b = prefix_moments(X, y, first=d)
    eigenvalues[:, d:], U = np.linalg.eigh(S)
    weights[:, d:] = (np.stack([X[:, d:], b], 2) @ U).prod(2)


def prefix_moments(X: np.ndarray, y: np.ndarray, *, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """S (B, T − first, d, d) and X'y (B, T − first, d) of the prefixes of length first, …, T − 1."""
    B, T, d = X.shape
    joint = np.concatenate([X, y[..., None]], 2)  # the last column of Σ (x; y) x' is X'y
    products = np.zeros((B, T - first, d, d + 1), X.dtype)
    products[:, 0] = np.swapaxes(X[:, :first], 1, 2) @ joint[:, :first]
    products[:, 1:] = X[:, first : T - 1, :, None] * joint[:, first : T - 1, None, :]
    np.cumsum(products, axis=1, out=products)
    return products[..., :d], products[..., d]


def _powers(r, count):
    """r^a and Σ_{j<a} r^j for a = 0, …, count, each on a new last axis."""
    powers, sums = np.empty((*r.shape, count + 1)), np.empty((*r.shape, count + 1))
    powers[..., 0], sums[..., 0] = 1.0, 0.0
    for a in range(count):
        np.multiply(powers[..., a], r, out=powers[..., a + 1])
        np.add(sums[..., a], powers[..., a], out=sums[..., a + 1])
    return powers, sums


def _shrink(eigenvalues, penalty):
    return np.divide(eigenvalues, eigenvalues + penalty, out=np.zeros_like(eigenvalues), where=eigenvalues > 0)
