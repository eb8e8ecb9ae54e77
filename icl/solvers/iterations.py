r"""Iterative learners run as written, step by step, on every prefix of every prompt at once.

Each solves S w = X'y, that is min ½ Σ (w'x_i − y_i)², from w = 0, and predicts x_t'w_k at position t from the t pairs
before it, as in `prefixes`. GD and Newton are here too, as plain recursions: the check on their closed forms.

X is (B, T, d), y (B, T); predictions are (B, T, steps). Recursions run in the type of X and y, float64 or float32.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import cycle

import numpy as np

from icl.solvers.prefixes import check_sequences, check_steps, prefix_moments, task_chunks, warn_out_of_range
from icl.validation import InputError, check_array, check_count, check_nonnegative

ARMIJO = 1e-4  # sufficient decrease of backtracking, Nocedal and Wright (2006), eq. (3.4)

Iteration = Callable[[np.ndarray, np.ndarray], Iterator[np.ndarray]]


def all_prefixes(X: np.ndarray, y: np.ndarray, steps: Iterable[int], iteration: Iteration) -> np.ndarray:
    """Predictions (B, T, K) of `iteration` after each of K step counts ≥ 0.

    `iteration(S, b)` takes P problems, S (P, d, d) and b (P, d), and yields w_0, w_1, …, each (P, d). Prompts are taken
    in groups that keep memory flat. The protocol is that of Fu et al. (2024), §3. Raises InputError for bad shapes, NaN
    or negative counts.
    """
    X, y = check_sequences(X, y)
    steps = check_steps(steps)
    B, T, d = X.shape
    out = np.empty((B, T, len(steps)), X.dtype)
    for part in task_chunks(B, 4 * T * d * d):
        S, b = prefix_moments(X[part], y[part])
        queries = X[part].reshape(-1, d)
        iterates = iteration(np.ascontiguousarray(S).reshape(-1, d, d), b.reshape(-1, d))
        for k in range(int(steps.max()) + 1):
            w = next(iterates)
            if k in steps:
                predictions = (queries * w).sum(-1).reshape(-1, T, 1)
                out[part][..., steps == k] = predictions
    return out


def gradient_descent(*etas) -> Iteration:
    """w ← w − eta (S w − b), Fu et al. (2024), eq. (11); eta a number or (P,), of any sign; several are taken in turn.

    Raises InputError for none at all, and for one that is neither finite nor a number for each problem.
    """
    if not etas:
        raise InputError("gradient descent needs a step size: give eta.")

    def run(S, b):
        w, rates = np.zeros_like(b), cycle([_for_each("eta", eta, S).astype(b.dtype)[..., None] for eta in etas])
        while True:
            yield w
            w = w - next(rates) * (_times(S, w) - b)

    return run


def newton(alpha=None) -> Iteration:
    """M ← 2M − M S M from M = alpha S, w = M b, Fu et al. (2024), §3.1; alpha a number, (P,), or None for 1 / λ_max².

    Raises InputError for alpha ≤ 0, and warns (StepSizeWarning) where alpha ≥ 2 / λ_max².
    """

    def run(S, b):
        for M in newton_matrices(S, alpha):
            yield _times(M, b)

    return run


def newton_matrices(S: np.ndarray, alpha=None) -> Iterator[np.ndarray]:
    """M_0 = alpha S, M_1, M_2, … (P, d, d), approximate inverses of S (P, d, d), without end; alpha as in `newton`.

    Fu et al. (2024), §3.1. Raises InputError for alpha ≤ 0, and warns (StepSizeWarning) where alpha ≥ 2 / λ_max².
    """
    largest = np.linalg.eigvalsh(S.astype(float))[..., -1]
    if alpha is None:
        alpha = np.divide(1, largest**2, out=np.zeros_like(largest), where=largest > 0)
    else:
        alpha = _for_each("alpha", alpha, S)
        for value in np.unique(alpha):
            if check_nonnegative("alpha", float(value)) == 0:
                raise InputError("alpha must be above 0: with alpha = 0 the iteration never leaves 0.")
        at = int(np.argmax(alpha * largest**2))
        warn_out_of_range("alpha", float(np.broadcast_to(alpha, largest.shape)[at]), largest[at], power=2)
    return newton_from(np.asarray(alpha, S.dtype)[..., None, None] * S, S)


def newton_from(M: np.ndarray, S: np.ndarray) -> Iterator[np.ndarray]:
    """M, 2M − M S M, … (P, d, d), without end, from any start M; Schulz (1933), Fu et al. (2024), eq. (10)."""
    while True:
        yield M
        with np.errstate(over="ignore", invalid="ignore"):  # out of its range it may diverge
            M = 2 * M - M @ S @ M


def conjugate_gradients(S: np.ndarray, b: np.ndarray) -> Iterator[np.ndarray]:
    """Conjugate gradients, Hestenes and Stiefel (1952), eq. (3:1); a problem that is solved stays where it is.

    Yields w_0 = 0, w_1, …, each (P, d), without end, for P problems, S (P, d, d) and b (P, d).
    """
    w = np.zeros_like(b)
    r = p = b
    size = (r * r).sum(-1)
    done = size == 0
    while True:
        yield w
        Sp = _times(S, p)
        step = _ratio(size, (p * Sp).sum(-1), done)
        w, r = w + step[:, None] * p, r - step[:, None] * Sp
        new = (r * r).sum(-1)
        done = done | _solved(new, b)
        p = r + _ratio(new, size, done)[:, None] * p
        size = new


def bfgs(search: str = "exact") -> Iteration:
    """BFGS from inverse Hessian I, Nocedal and Wright (2006), eq. (6.17).

    search : "exact" minimises along each direction, and then the iterates are those of conjugate gradients;
    "backtracking" halves a step of 1 until Armijo's condition holds.
    """
    return _quasi_newton(_DenseInverse, _search(search))


def lbfgs(memory: int = 10, search: str = "exact") -> Iteration:
    """L-BFGS with its last `memory` ≥ 1 pairs, Nocedal and Wright (2006), Algorithm 7.4 with scaling (7.20).

    `search` as in `bfgs`; with "exact" any memory gives the iterates of conjugate gradients.
    """
    return _quasi_newton(partial(_LastPairs, check_count("memory", memory)), _search(search))


def _for_each(name, value, S):
    """A step size as an array, one number or (P,) for the P problems S."""
    return check_array(name, value, () if np.ndim(value) == 0 else S.shape[:1])


def _times(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def _ratio(top, bottom, done):
    """top / bottom, 0 for problems that are done or would divide by 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=~done & (bottom > 0))


def _solved(size, b):
    """Gradients, of squared length `size`, at rounding: what follows would be noise divided by noise."""
    return size <= (4 * np.finfo(b.dtype).eps) ** 2 * (b * b).sum(-1)


def _quasi_newton(inverse, step_size) -> Iteration:
    """w ← w + step p along p = −H g. `inverse(b)` is the inverse Hessian H that learns from each step s.

    It has `times(g)` and `learn(s, change, rho)`: change = S s is that of the gradient, rho = 1 / s'change.
    """

    def run(S, b):
        w, g, H = np.zeros_like(b), -b, inverse(b)
        done = (b * b).sum(-1) == 0
        while True:
            yield w
            p = -H.times(g)
            Sp = _times(S, p)
            step = step_size(_ratio(-(g * p).sum(-1), (p * Sp).sum(-1), done))[:, None]
            s, change = step * p, step * Sp
            w, g = w + s, g + change
            done = done | _solved((g * g).sum(-1), b)
            H.learn(s, change, _ratio(np.ones_like(step[:, 0]), (s * change).sum(-1), done))

    return run


class _DenseInverse:
    """H as a matrix, (P, d, d), from the identity: Nocedal and Wright (2006), eq. (6.17)."""

    def __init__(self, b):
        P, d = b.shape
        self.H = np.broadcast_to(np.eye(d, dtype=b.dtype), (P, d, d))

    def times(self, g):
        return _times(self.H, g)

    def learn(self, s, change, rho):
        rho, Hy = rho[:, None, None], _times(self.H, change)
        curvature = (change * Hy).sum(-1)[:, None, None]
        ss, sHy = s[:, :, None] * s[:, None, :], s[:, :, None] * Hy[:, None, :]
        self.H = self.H + rho * ((1 + rho * curvature) * ss - sHy - np.swapaxes(sHy, 1, 2))


class _LastPairs:
    """H as the last `memory` triples (s, change, rho): Nocedal and Wright (2006), Algorithm 7.4."""

    def __init__(self, memory, b):
        self.memory, self.pairs = memory, []

    def learn(self, s, change, rho):
        self.pairs = [*self.pairs, (s, change, rho)][-self.memory :]

    def times(self, g):
        """H g by the two-loop recursion."""
        q, kept = g, []
        for s, change, rho in reversed(self.pairs):
            a = rho * (s * q).sum(-1)
            q = q - a[:, None] * change
            kept.append(a)
        if self.pairs:
            s, change, rho = self.pairs[-1]
            size = (change * change).sum(-1)
            q = q * np.where(rho > 0, _ratio((s * change).sum(-1), size, rho == 0), 1)[:, None]  # eq. (7.20)
        for (s, change, rho), a in zip(self.pairs, reversed(kept), strict=True):
            q = q + (a - rho * (change * q).sum(-1))[:, None] * s
        return q


def _search(search):
    if search == "exact":
        return lambda exact: exact
    if search == "backtracking":
        return _backtracked
    raise InputError(f"search must be 'exact' or 'backtracking', not {search!r}.")


def _backtracked(exact):
    """The first of 1, ½, ¼, … with Armijo's condition, which on a quadratic reads step ≤ 2 (1 − ARMIJO) exact."""
    bound = np.minimum(2 * (1 - ARMIJO) * exact, 1)
    halvings = np.ceil(-np.log2(np.where(bound > 0, bound, 1)))
    return np.where(bound > 0, 0.5**halvings, 0).astype(exact.dtype)
