r"""Theorem 6.3 of Zhang, Wu and Bartlett (2024): gradient flow on the risk of GD-β.

With b = beta − beta_star, A = Psi + bb', N = (n+1)/n HAH + (tr(HA) + sigma2)/n H and P(Gamma) of eq. (6.2),

    dbeta/dt = −2 P(Gamma) b,     dGamma/dt = −2 (H Gamma N − HAH),

is dtheta/dt = −∇R for the risk R without a factor ½ (with it, time runs at half the speed). From every
start beta → beta_star and Gamma → Gamma* in the directions that H sees; the others never move. Constants
of the rates are this book's: the form printed in the paper could not be restored.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from icl.prompts import PromptLaw
from icl.theory import gd_beta, moments
from icl.validation import InputError, check_nonnegative, check_vector

_LEAST_RTOL = 100 * np.finfo(float).eps  # no solver in float64 keeps less
_MOST_EVALUATIONS = 400_000


@dataclass(frozen=True)
class Flow:
    """A trajectory: times (T,), beta (T, d), Gamma (T, d, d)."""

    times: np.ndarray
    beta: np.ndarray
    Gamma: np.ndarray


def velocity(law: PromptLaw, beta, Gamma) -> tuple[np.ndarray, np.ndarray]:
    """(dbeta/dt, dGamma/dt) of the flow, (..., d) and (..., d, d). Raises InputError for wrong shapes or NaN."""
    b, Gamma = gd_beta.offsets(law, beta, Gamma)
    return _velocity(law, b, Gamma)


def integrate(law: PromptLaw, beta, Gamma, times, *, rtol: float = 1e-11) -> Flow:
    """The flow from (beta, Gamma) at time 0, seen at increasing `times` ≥ 0; local error `rtol`, relative.

    Raises InputError for a start of the wrong shape or with NaN, times that do not increase, and a tolerance that
    cannot be met.
    """
    check_vector("beta", beta, law.d)
    b, Gamma = gd_beta.offsets(law, beta, Gamma)
    if Gamma.ndim != 2:
        raise InputError(f"Gamma must have shape ({law.d}, {law.d}), one start at a time, not {Gamma.shape}.")

    def field(_, state):
        with np.errstate(over="ignore", invalid="ignore"):
            speeds = _velocity(law, state[: law.d], state[law.d :].reshape(law.d, law.d))
        return np.r_[speeds[0], speeds[1].ravel()]

    def slope(_, state):  # the flow is minus the risk's gradient
        return -hessian(law, state[: law.d] + law.beta_star, state[law.d :].reshape(law.d, law.d))

    # In b and not in beta: a large beta_star would drown what is left of b, and ask for digits that do not exist.
    states = solve(field, np.r_[b, Gamma.ravel()], times, rtol=rtol, slope=slope)
    beta = states[:, : law.d] + law.beta_star
    return Flow(np.asarray(times, dtype=float), beta, states[:, law.d :].reshape(-1, law.d, law.d))


def solve(field, start: np.ndarray, times, *, rtol: float, slope=None) -> np.ndarray:
    """States (T, k) at `times` of dstate/dt = field(t, state) from `start` at 0. Raises InputError as `integrate`.

    LSODA switches to stiff steps by itself and keeps its accuracy between steps; its matrix is dense, so states of more
    than 3000 numbers go to Dormand and Prince's eighth-order method. `slope(t, state)` is the field's Jacobian (k, k);
    without it the field must take complex states. Differences of a field whose entries are of very different sizes
    would make a Jacobian of noise, and stiff steps of no length.
    """
    times = np.asarray(times, dtype=float)
    increasing = times.ndim == 1 and len(times) and np.isfinite(times).all() and (np.diff(times) > 0).all()
    if not increasing or times[0] < 0:
        raise InputError("times must be a list of increasing finite numbers of at least 0.")
    if not _LEAST_RTOL <= check_nonnegative("rtol", rtol) < 1:
        raise InputError(f"rtol = {rtol:g} cannot be met in float64; ask for a number from {_LEAST_RTOL:.1e} to 1.")
    evaluations = 0

    def counted(t, state):
        nonlocal evaluations
        evaluations += 1
        if evaluations > _MOST_EVALUATIONS:
            raise InputError(
                f"rtol = {rtol:g} could not be met up to t = {times[-1]:g} in {_MOST_EVALUATIONS} evaluations; "
                "loosen it, shorten the time or start closer."
            )
        return field(t, state)

    how = dict(method="LSODA", jac=slope or _complex_step(field)) if len(start) <= 3000 else dict(method="DOP853")
    floor = rtol / 100 * max(1.0, np.abs(start).max())  # what is smaller than this need not be known relatively
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a failure is raised below, in words
        solution = solve_ivp(counted, (0.0, times[-1]), start, t_eval=times, rtol=rtol, atol=floor, **how)
    if not solution.success or not np.isfinite(solution.y).all():
        raise InputError(
            f"rtol = {rtol:g} could not be met up to t = {times[-1]:g}: {solution.message} Loosen it or start closer."
        )
    return solution.y.T


def least_curvature(law: PromptLaw) -> float:
    """λ_min(H), the least positive eigenvalue when H is singular. Raises InputError for H = 0."""
    h = np.linalg.eigvalsh(law.H)
    if h[-1] <= 0:
        raise InputError("H is 0: nothing is seen and nothing moves; give H a positive eigenvalue.")
    return float(h[h > 1e-10 * h[-1]][0])


def beta_bound(law: PromptLaw, times) -> np.ndarray:
    """e^{−4 λ_min(H) t / (n+2)}, (T,): |Π(beta_t − beta_star)| is at most this times its start, whatever Gamma does."""
    return np.exp(-4 * least_curvature(law) / (law.n + 2) * np.asarray(times, dtype=float))  # Theorem 6.3


def tail_rates(law: PromptLaw) -> np.ndarray:
    """Exponential rates at which beta approaches beta_star in the end, (d,), ascending: eigenvalues of 2 P(Gamma*).

    For commuting H, Psi on eigenvector i: 2 h_i [(1 − g_i)² + g_i²/n + Σ_k g_k²/n] with g = φ/ω.
    """
    return 2 * np.linalg.eigvalsh(gd_beta.curvature(law, gd_beta.optimal_gamma(law)))


def gamma_rate(law: PromptLaw) -> float:
    """2 λ_min(H) λ_min(N) at beta = beta_star, the least rate of Gamma − Gamma* (least positive ones if singular)."""
    _, N, _ = gd_beta.second_moments(law, np.zeros(law.d))
    nu = np.linalg.eigvalsh(N)
    return 2 * least_curvature(law) * float(nu[nu > 1e-10 * nu[-1]][0])


def hessian(law: PromptLaw, beta, Gamma) -> np.ndarray:
    """The risk's Hessian in (beta, Gamma row by row), (d + d², d + d²): [[2P, C'], [C, 2 H ⊗ N]]. This book.

    C v = 2 (H Gamma dN − H dA H) with dA = vb' + bv' and dN = (n+1)/n H dA H + 2 v'Hb/n H; it vanishes for b = 0 only.
    """
    b, Gamma = gd_beta.offsets(law, beta, Gamma)
    d, n, H = law.d, law.n, law.H
    _, N, _ = gd_beta.second_moments(law, b)
    Hb = H @ b
    HdAH = H[:, :, None] * Hb + H[:, None, :] * Hb[:, None]  # one slice a direction v = e_i
    dN = (n + 1) / n * HdAH + 2 / n * Hb[:, None, None] * H
    cross = 2 * (H @ Gamma @ dN - HdAH).reshape(d, d * d)
    return np.block([[2 * gd_beta.curvature(law, Gamma), cross], [cross.T, 2 * np.kron(H, N)]])


def fastest_rate(law: PromptLaw, beta, Gamma) -> float:
    """The largest eigenvalue of the risk's Hessian at a point: what limits the steps of gradient descent there."""
    return float(np.linalg.eigvalsh(hessian(law, beta, Gamma))[-1])


def excess_bound(law: PromptLaw, beta, Gamma, times) -> np.ndarray:
    """An upper bound on the excess risk along the flow from (beta, Gamma), (T,), with every constant explicit.

    |b_t| ≤ e^{−qt}|b_0| (`beta_bound`), d|D|/dt ≤ −r|D| + C|b_t|² for D = Gamma − Gamma* and Grönwall give |D_t|; both
    go into eq. (6.2). H must be positive definite, else InputError. This book; see Theorem 6.3.
    """
    b, Gamma = gd_beta.offsets(law, beta, Gamma)
    h = np.linalg.eigvalsh(law.H)
    if h[0] <= 1e-10 * h[-1]:
        raise InputError("the bound on the excess needs a positive definite H; restrict the problem to its range.")
    times, n = np.asarray(times, dtype=float), law.n
    target, omega = gd_beta.optimal_gamma(law), np.linalg.eigvalsh(moments.omega(law))
    q, r = 4 * h[0] / (n + 2), gamma_rate(law)
    start, D = np.linalg.norm(b), np.linalg.norm(Gamma - target)
    HG = law.H @ target
    C = 2 * h[-1] * (
        np.linalg.norm(((n + 1) / n * HG - np.eye(law.d)) @ law.H, 2) + np.linalg.norm(HG @ law.H) / n
    )  # fmt: skip
    # ∫_0^t e^{−r(t−s)} e^{−2qs} ds, written so that r = 2q is no exception
    gap = abs(r - 2 * q) * times
    overlap = np.where(gap < 1e-8, 1.0, -np.expm1(-gap) / np.maximum(gap, 1e-8))
    distance = np.exp(-r * times) * D + C * start**2 * times * np.exp(-min(r, 2 * q) * times) * overlap
    root = law.roots[0]
    whole = np.linalg.norm(root @ target @ root) + h[-1] * distance  # |G|_F at most
    curvature = h[-1] * ((1 + whole) ** 2 + 2 * whole**2 / n)
    return curvature * (start * np.exp(-q * times)) ** 2 + omega[-1] * (h[-1] * distance) ** 2


def _complex_step(field):
    """The Jacobian of an analytic field, exact to rounding: Squire and Trapp (1998)."""
    tiny = 1e-30

    def slope(t, state):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.stack([np.imag(field(t, state + e)) for e in 1j * tiny * np.eye(len(state))], axis=1) / tiny

    return slope


def _velocity(law, b, Gamma):
    """The flow's field, unchecked: the solver's inner loop. P(Gamma) b is formed without the matrix P."""
    H, n = law.H, law.n
    HG = H @ Gamma
    Hb = np.einsum("ij,...j->...i", H, b)
    GHb = np.einsum("...ij,...j->...i", HG, Hb)
    back = np.einsum("ij,...kj,...k->...i", H, Gamma, (n + 1) / n * GHb - Hb)  # H Gamma' ((n+1)/n H Gamma H − H) b
    size = ((HG @ H) * Gamma).sum((-2, -1))  # tr(H Gamma H Gamma')
    Pb = Hb - GHb + back + (size / n)[..., None] * Hb
    HAH, N, _ = gd_beta.second_moments(law, b)
    return -2 * Pb, -2 * (HG @ N - HAH)
