r"""Softmax attention with key-query matrices q_k I, exactly: what heads made of scores can and cannot do. This book.

Setting: H = Psi = I, beta_star = 0. A head weighs labels by p_i = e^{q s_i} / Σ_j e^{q s_j}, s_i = x_i'x the scores;
K heads answer Σ_i a_i y_i with a = Σ_k V_k p^(k). Averaged over the task, the noise and all that is orthogonal to x,
with r = |x| and the components z_i ~ N(0, 1) of the x_i along x, so that s_i = r z_i,

    R = sigma2 + E[(r − Σ a_i z_i)² + c Σ a_i²],    c = d − 1 + sigma2.

This is a parabola in V whose coefficients hold 1/S(t), S(t) = Σ_i e^{t z_i}, t = qr. With 1/S = ∫ e^{−uS} du they are
integrals over u, v and r of products of one-dimensional Gaussian means. In log u, log v, log r every integrand decays
at both ends and is analytic in a strip, so equally spaced nodes converge exponentially. That heads of this form come
in pairs ±q was seen in training by He, Pan, Chen and Yang (2025).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from icl.theory import one_step_gd
from icl.theory.chi_nodes import chi_nodes
from icl.validation import InputError, check_array, check_count, check_nonnegative

_STEP = 0.45  # of log u: an error of e^{−π²/0.45}
_TAIL = 18.0  # how far below its bulk log u starts: the integrand falls like u
LARGEST = 4.0  # of |q| √d: beyond, nearly all the weight is on one example and the nodes would be too many


@dataclass(frozen=True)
class Heads:
    """Least risk of heads at given q (K,), and the V (K,) that attain it."""

    risk: float
    V: np.ndarray


def score_risk(a, z, r, d: int, sigma2: float):
    """R given the scores, less sigma2: (r − Σ a_i z_i)² + (d − 1 + sigma2) Σ a_i², for a, z (…, n) and r (…,)."""
    return (r - (a * z).sum(-1)) ** 2 + (d - 1 + sigma2) * (a**2).sum(-1)


def moments(q, d: int, n: int, sigma2: float) -> tuple[np.ndarray, np.ndarray]:
    """A (K, K) and b (K,) of R = sigma2 + d − 2 b'V + V'AV for heads at q (K,).

    b_k = E r m_k and A_kl = E[m_k m_l + c Σ_i p_i^(k) p_i^(l)], m_k = Σ_i p_i^(k) z_i. Raises InputError for d, n < 1,
    sigma2 < 0 and |q| √d above `LARGEST`.
    """
    q = check_array("q", np.atleast_1d(q), np.atleast_1d(q).shape)
    d, n, c = check_count("d", d), check_count("n", n), d - 1 + check_nonnegative("sigma2", sigma2)
    if np.abs(q).max() * np.sqrt(d) > LARGEST:
        raise InputError(f"|q| √d must be at most {LARGEST:g}, not {np.abs(q).max() * np.sqrt(d):g}.")
    A, b = np.zeros((len(q), len(q))), np.zeros(len(q))
    for r, weight in zip(*chi_nodes(d), strict=True):
        for k, m in zip(*np.triu_indices(len(q)), strict=True):
            product, overlap = _alone(abs(q[0]) * r, n)[1:] if len(q) == 1 else _pair(q[k] * r, q[m] * r, n)
            A[k, m] += weight * (product + c * overlap)
        b += weight * r * np.array([np.sign(each) * _alone(abs(each) * r, n)[0] for each in q])
    return np.triu(A) + np.triu(A, 1).T, b


def least_risk(q, d: int, n: int, sigma2: float) -> Heads:
    """The parabola's lowest point for heads at q (K,); errors as `moments`. Heads that coincide share their V."""
    A, b = moments(q, d, n, sigma2)
    if n == 1:  # softmax over one example is 1, and its covariate is as often turned around
        return Heads(float(sigma2 + d), np.zeros(len(b)))
    V = np.linalg.pinv(A, rcond=1e-13, hermitian=True) @ b
    return Heads(float(sigma2 + d - b @ V), V)


def pair_risk(q: float, d: int, n: int, sigma2: float) -> Heads:
    """Two heads at ±q, q > 0, and so with V of opposite signs: least risk and V (2,); errors as `moments`.

    Turning all x_i around swaps the heads, so the parabola is even in the sum of their V, and the sum is best at 0.
    """
    A, b = moments([q, -q], d, n, sigma2)
    width, pull = 2 * (A[0, 0] - A[0, 1]), 2 * b[0]
    if width <= 1e-12:  # one example: both heads say the same
        return Heads(float(sigma2 + d), np.zeros(2))
    return Heads(float(sigma2 + d - pull**2 / width), pull / width * np.array([1.0, -1.0]))


def best_pair(d: int, n: int, sigma2: float) -> tuple[float, float]:
    """The q with q √d in (0, 2] at which ±q is best, and its risk; q = 0, the limit, where none beats it."""
    limit = centred_risk(d, n, sigma2)
    if n == 1:  # softmax over one example is 1
        return 0.0, limit
    q, risk = _least(lambda q: pair_risk(q, d, n, sigma2).risk, np.geomspace(0.03, 2, 6) / np.sqrt(d))
    return (q, risk) if risk < limit else (0.0, limit)


def best_head(d: int, n: int, sigma2: float) -> tuple[float, float]:
    """The q with q √d in (0, 3.5] at which a single head is best, and its risk."""
    return _least(lambda q: least_risk(q, d, n, sigma2).risk, np.geomspace(0.1, 3.5, 6) / np.sqrt(d))


def second_pair(d: int, n: int, sigma2: float) -> tuple[np.ndarray, Heads]:
    """Two pairs: q (4,) = (q_1, −q_1, q_2, −q_2) with q_1 √d = 1/50 and the best of three q_2, and what they attain."""
    pairs = [np.array([1, -1, ratio, -ratio]) * 0.02 / np.sqrt(d) for ratio in (30, 70, 150)]
    return min(((q, least_risk(q, d, n, sigma2)) for q in pairs), key=lambda found: found[1].risk)


def _least(risk, grid: np.ndarray) -> tuple[float, float]:
    k = int(np.argmin([risk(q) for q in grid]))
    ends = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    found = minimize_scalar(risk, bounds=ends, method="bounded", options=dict(xatol=5e-3 * grid[k]))
    return float(found.x), float(found.fun)


def centred_risk(d: int, n: int, sigma2: float) -> float:
    """The limit q → 0 of two heads ±q: one step with centred covariates, Theorem 1 of Mahankali et al. at n − 1."""
    if check_count("n", n) == 1:
        return float(sigma2 + d)  # one example is its own mean
    return one_step_gd.minimal_risk(d, n - 1, sigma2)


def score_floor(d: int, n: int, sigma2: float, *, zero_sum: bool = False) -> float:
    """Least risk of any weights made from the scores and |x|: sigma2 + d E c / (χ²_n + c); n − 1 if they sum to 0.

    E 1/(χ²_m + c) = ∫ e^{−cs} (1 + 2s)^{−m/2} ds. Raises InputError for d, n < 1 and sigma2 < 0.
    """
    d, c = check_count("d", d), d - 1 + check_nonnegative("sigma2", sigma2)
    m = check_count("n", n) - zero_sum
    if c == 0:
        return float(sigma2) if m else float(sigma2 + d)
    # u = cs, so that the range does not depend on c
    share = quad(lambda u: np.exp(-u) * (1 + 2 * u / c) ** (-m / 2), 0, np.inf, epsabs=1e-13, epsrel=1e-12)[0]
    return float(sigma2 + d * share)


def _pair(s: float, t: float, n: int) -> tuple[float, float]:
    """E m_s m_t and E Σ_i p_i^(s) p_i^(t) for n examples, m_s = Σ_i z_i e^{s z_i} / S(s).

    Turning all z_i around changes the sign of s, t and m, so only s ≥ |t| has to be computed. Equal heads go the same
    way as others: where two heads are nearly one, the errors of their moments cancel.
    """
    large, small = sorted((s, t), key=abs)[::-1]
    return _together(abs(large), small * (np.sign(large) or 1.0), n)


@lru_cache(maxsize=4096)
def _alone(t: float, n: int) -> tuple[float, float, float]:
    """E m_t, and `_pair` for s = t ≥ 0, from 1/S² = ∫ u e^{−uS} du."""
    z, w = _normal_nodes(t)
    u, du = _laplace_nodes(t, n)
    e = np.exp(t * z)
    E = np.exp(-u[:, None] * e)
    mean = lambda f: E @ (w * f)  # E f(z) e^{−u e^{tz}} for one example
    one, first = mean(1.0), mean(z * e)
    others = one ** (n - 1)
    both = n * mean((z * e) ** 2) * others + n * (n - 1) * first**2 * one ** max(n - 2, 0)
    return float(du @ (n * first * others)), float((u * du) @ both), float((u * du) @ (n * mean(e**2) * others))


@lru_cache(maxsize=4096)
def _together(s: float, t: float, n: int) -> tuple[float, float]:
    """E m_s m_t and the overlap for s ≥ |t|, from 1/(S(s) S(t)) = ∬ e^{−u S(s) − v S(t)} du dv."""
    z, w = _normal_nodes(s)
    (u, du), (v, dv) = _laplace_nodes(s, n), _laplace_nodes(abs(t), n)
    es, et = np.exp(s * z), np.exp(t * z)
    Eu, Ev = np.exp(-u[:, None] * es), np.exp(-v[:, None] * et)  # (nodes, len(z))
    mean = lambda f: (Eu * (w * f)) @ Ev.T  # E f(z) e^{−u e^{sz} − v e^{tz}} for one example
    one = mean(1.0)
    others = one ** (n - 1)
    both = n * mean(z**2 * es * et) * others
    if n > 1:
        both += n * (n - 1) * mean(z * es) * mean(z * et) * one ** (n - 2)
    return float(du @ both @ dv), float(du @ (n * mean(es * et) * others) @ dv)


def _normal_nodes(t: float) -> tuple[np.ndarray, np.ndarray]:
    step = min(0.25, 0.6 / max(t, 1e-9))  # e^{−u e^{tz}} is analytic for |Im tz| < π/2
    z = np.arange(-np.ceil(8 / step), np.ceil(8 / step) + 1) * step
    w = np.exp(-(z**2) / 2)
    return z, w / w.sum()


def _laplace_nodes(t: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """u and du for S = Σ e^{t z_i}: log S − log n lies between −5.5 t/√n (Jensen) and a few t, as good as surely."""
    above = t * min(t / 2 + 3, np.sqrt(2 * np.log(n)) + 4)
    a = np.arange(-np.log(n) - above - _TAIL, 5.5 * t / np.sqrt(n) - np.log(n) + 3.6, _STEP)
    return np.exp(a), _STEP * np.exp(a)
