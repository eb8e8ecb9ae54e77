r"""Theorem 4.1 of Zhang, Wu and Bartlett (2024): how much linear attention loses without the MLP.

Linear self-attention (LSA) and the linear transformer block (LTB) have the risk of `models.exact_risk`. In
coordinates where H = I (on its range), with nu = H^{1/2}(v + c beta_star) and b = H^{1/2} beta_star, the risk for
given (nu, c) is a quadratic in all other weights that splits into rows with the same matrix K. Minimising it
leaves a profile on the sphere |nu|² + c² = 1, a smooth problem in as many variables as H has rank:

    LSA:  sigma2 + tr Phi + |b|² − Σ_i l_i' K^{-1} l_i,
    LTB:  the same with K, l_i and |b|² centred, because a free w1 absorbs the mean of what attention returns.

The reduction, the constants and the proof of the lower bound are this book's; the paper's own constants could not be
restored. Equation numbers (5.1), (5.2) count this book's derivation.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from icl.prompts import PromptLaw
from icl.theory import gd_beta, moments
from icl.validation import InputError, check_count, check_nonnegative


@dataclass(frozen=True)
class Optimum:
    """A minimum of the profile: its risk and where it lies, nu (r,) and c with |nu|² + c² = 1."""

    risk: float
    nu: np.ndarray
    c: float


def ltb_minimal_risk(law: PromptLaw) -> float:
    """The least risk of the block, the same for every beta_star: eq. (5.2), GD-β's minimum (Theorem 5.3)."""
    return gd_beta.minimal_risk(law)


def gd0_minimal_risk(law: PromptLaw) -> float:
    """The least risk of one step from 0: eq. (5.2) with Psi + beta_star beta_star' in place of Psi."""
    spread = law.Psi + np.outer(law.beta_star, law.beta_star)
    return gd_beta.minimal_risk(replace(law, Psi=spread, beta_star=np.zeros(law.d)))


def mean_size(law: PromptLaw) -> float:
    """|beta_star|²_H = beta_star' H beta_star."""
    return float(law.beta_star @ law.H @ law.beta_star)


def lower_bound(law: PromptLaw) -> float:
    """|beta_star|²_H / (n + 1): no attention without an MLP comes closer to the block. Theorem 4.1, our constant."""
    return mean_size(law) / (law.n + 1)


def upper_bound(law: PromptLaw) -> float:
    """GD-0's minimum minus the block's: attention can always take one step from 0."""
    return gd0_minimal_risk(law) - ltb_minimal_risk(law)


def lsa_minimum(law: PromptLaw) -> Optimum:
    """The global minimum of the risk of LSA, any law (singular H and Psi, c = 0 included): Theorem 4.1, exact.

    The profile is scanned along circles through the label direction, then refined by L-BFGS from the lowest points.
    """
    profile = Profile(law)
    points = _scan(profile)
    lowest = np.argsort(profile(points[:, :-1], points[:, -1]), kind="stable")
    ends = [_descend(profile, point) for point in _spread(points[lowest], 8)]
    return min(ends, key=lambda end: end.risk)


def gap(law: PromptLaw) -> float:
    """inf LSA − inf LTB ≥ 0: what the MLP is worth."""
    return lsa_minimum(law).risk - ltb_minimal_risk(law)


@dataclass(frozen=True)
class Valley(Optimum):
    """A minimum of the block's profile on the circle through one axis of Phi: `axis` e (r,), and its `angle` φ.

    nu = sin φ e and c = cos φ, 0 ≤ φ ≤ π/2.
    """

    axis: np.ndarray
    angle: float


def ltb_valleys(law: PromptLaw, *, resolution: int = 401) -> list[Valley]:
    """The block's global minimum (first) and the spurious ones on the circles through the axes of Phi, by risk.

    The profile does not change when one axis is reversed, so what is stationary on such a circle is stationary on the
    sphere; it counts when the Hessian there is positive. Valleys off these circles are not looked for.
    """
    profile = Profile(law, block=True)
    angles, found = np.linspace(0, np.pi / 2, resolution), []
    for axis in np.linalg.eigh(profile.Phi)[1].T[::-1]:
        on_circle = lambda angle, e=axis: profile(np.multiply.outer(np.sin(angle), e), np.cos(angle))
        risks = on_circle(angles)
        padded = np.r_[np.inf, risks, np.inf]
        for i in np.flatnonzero((padded[1:-1] < padded[:-2]) & (padded[1:-1] < padded[2:])):
            angle = angles[i]
            if 0 < i < resolution - 1:
                bracket = tuple(angles[i - 1 : i + 2])
                angle = minimize_scalar(lambda a, f=on_circle: float(f(a)), bracket=bracket, options={"xtol": 1e-12}).x
            valley = Valley(float(on_circle(angle)), np.sin(angle) * axis, float(np.cos(angle)), axis, float(angle))
            if profile.least_curvature(valley) > 0 and (i > 0 or not found):  # φ = 0 is one point for all axes
                found.append(valley)
    return sorted(found, key=lambda valley: valley.risk)


class Profile:
    """The least risk of LSA (or of the block) at given (nu, c), not both 0; only their direction matters.

    nu has r = rank H entries: coordinates in which the covariates are standard normal, in the range of H only. What
    H cannot see is no part of the problem; keeping it would invent randomness that the data do not have.
    """

    def __init__(self, law: PromptLaw, *, block: bool = False):
        self.law, self.block = law, block
        h, U = np.linalg.eigh(law.H)
        seen = h > 1e-10 * max(h[-1], np.finfo(float).tiny)
        self.root = np.sqrt(h[seen])[:, None] * U[:, seen].T  # (r, d): x = root' z with z standard normal
        self.inverse = U[:, seen] / np.sqrt(h[seen])  # (d, r)
        n, tau, identity = law.n, moments.tau(law), np.eye(int(seen.sum()))
        self.tau, self.Phi = tau, self.root @ law.Psi @ self.root.T
        self.Omega = (n + 1) / n * self.Phi + tau / n * identity
        self.b = np.zeros(len(identity)) if block else self.root @ law.beta_star  # w1 = beta_star removes it
        self.mixed = tau * identity + 2 / n * self.Phi  # E s_r Ŝ
        self.square = (n + 2) / n * (tau**2 + 2 * np.trace(self.Phi @ self.Phi))  # E s_r²

    def __call__(self, nu, c) -> np.ndarray:
        """The profile, (...,), at nu (..., r) and c (...,)."""
        K, ell = self._system(np.asarray(nu, dtype=float), np.asarray(c, dtype=float))
        gain = (ell * np.linalg.solve(K, ell)).sum((-2, -1))
        return self.law.sigma2 + np.trace(self.Phi) + self.b @ self.b - gain

    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The profile at point = (nu, c), (r+1,), and its gradient there, by the envelope theorem."""
        n, nu, c = self.law.n, point[:-1], point[-1]
        K, ell = self._system(nu, np.asarray(c))
        W = np.linalg.solve(K, ell)  # column i: the optimal (p_i, u_i)
        M = W @ W.T
        P, m, corner, u = M[:-1, :-1], M[:-1, -1], M[-1, -1], W[-1]
        along = self.mixed + self.Omega
        by_nu = 2 / n * ((n + 1) * P @ nu + np.trace(P) * nu) + 2 * c * along @ m + 2 * corner * self.Omega @ nu
        by_c = 2 * c * np.sum(P * self.Omega) + 2 * m @ along @ nu + 2 * c * self.square * corner
        by_nu -= 2 * (W[:-1] @ self.b + self.Phi @ u)
        by_c -= 2 * (np.sum(self.Phi * W[:-1]) + self.tau * self.b @ u)
        if self.block:  # minus the squared mean of every row, p_i'nu + c tau u_i
            mean = nu @ W[:-1] + c * self.tau * u
            by_nu -= 2 * W[:-1] @ mean
            by_c -= 2 * self.tau * u @ mean
        value = self.law.sigma2 + np.trace(self.Phi) + self.b @ self.b - np.sum(ell * W)
        return float(value), np.append(by_nu, by_c)

    def weights(self, at: Optimum) -> dict[str, np.ndarray]:
        """The best weights (w1, v, c, V, u) at a point, in the 1/n convention; w1 = 0 for LSA."""
        W = np.linalg.solve(*self._system(at.nu, np.asarray(at.c)))
        inverse, beta_star = self.inverse, self.law.beta_star
        u, v, c = inverse @ W[-1], inverse @ at.nu, at.c
        V = inverse @ W[:-1] @ inverse.T  # root V root' has the columns p_i
        w1 = np.zeros(self.law.d)
        if self.block:
            w1 = beta_star - inverse @ (W[:-1].T @ at.nu + c * self.tau * W[-1])
        return dict(w1=w1, v=v - c * beta_star, c=np.asarray(c), V=V - np.outer(beta_star, u), u=u)

    def least_curvature(self, at: Optimum) -> float:
        """Least eigenvalue of the Hessian along the sphere at `at`, by central differences of the gradient."""
        point, step = np.append(at.nu, at.c), 1e-5
        tangent = np.linalg.svd(point[None])[2][1:]
        slope = lambda t: tangent @ self.value_and_gradient((point + t) / np.linalg.norm(point + t))[1]
        Hessian = np.stack([(slope(step * e) - slope(-step * e)) / (2 * step) for e in tangent])
        return float(np.linalg.eigvalsh((Hessian + Hessian.T) / 2)[0])

    def _system(self, nu, c):
        """K (..., r+1, r+1) and the right-hand sides l_1, …, l_r as columns (..., r+1, r)."""
        n, d = self.law.n, len(self.b)
        outer = nu[..., :, None] * nu[..., None, :]
        a, c2 = (nu**2).sum(-1)[..., None, None], (c**2)[..., None, None]
        K = np.empty((*np.shape(c), d + 1, d + 1))
        K[..., :d, :d] = (n + 1) / n * outer + a / n * np.eye(d) + c2 * self.Omega
        K[..., :d, d] = K[..., d, :d] = c[..., None] * (nu @ (self.mixed + self.Omega))
        K[..., d, d] = c**2 * self.square + (nu @ self.Omega * nu).sum(-1)
        ell = np.empty((*np.shape(c), d + 1, d))
        ell[..., :d, :] = nu[..., :, None] * self.b + c[..., None, None] * self.Phi
        ell[..., d, :] = (c * self.tau)[..., None] * self.b + nu @ self.Phi
        if self.block:
            mean = np.concatenate([nu, (c * self.tau)[..., None]], -1)
            K -= mean[..., :, None] * mean[..., None, :]
        return K, ell


def isotropic_lsa_risk(d: int, n: int, sigma2: float, B, *, m: float = 1.0) -> np.ndarray:
    """The least risk of LSA for Phi = m I and |beta_star|_H = B ≥ 0 (any shape): a minimum in one angle.

    By symmetry nu is parallel to beta_star: nu = sin φ, c = cos φ, −π/2 < φ ≤ π/2. A grid of angles, refined three
    times around the lowest point and closed by a parabola. Raises InputError for sizes or a B out of range.
    """
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    B = np.asarray(B, dtype=float)
    if not (np.isfinite(B).all() and (B >= 0).all()):
        raise InputError("B, the size of the mean task, must be finite and at least 0.")
    profile = lambda angle: _isotropic_profile(angle, d, n, sigma2, m, B[..., None])
    centre, width, resolution = np.zeros(B.shape), np.pi / 2, 2001
    for _ in range(4):
        angles = centre[..., None] + np.linspace(-width, width, resolution)
        risks = profile(angles)
        centre = np.take_along_axis(angles, risks.argmin(-1)[..., None], -1)[..., 0]
        width, resolution = 2 * width / (resolution - 1), 101
    return profile(centre[..., None])[..., 0]


def _isotropic_profile(angle, d, n, sigma2, m, B):
    """`Profile` for Phi = m I and nu = sin φ along b: d − 1 equal rows across b, and one 2 × 2 system along it."""
    nu, c, tau = np.sin(angle), np.cos(angle), d * m + sigma2
    omega = ((n + 1) * m + tau) / n
    first = (n + 2) / n * nu**2 + c**2 * omega
    mixed = c * nu * (tau + 2 * m / n + omega)
    last = c**2 * (n + 2) / n * (tau**2 + 2 * d * m**2) + nu**2 * omega
    p, u = B * nu + c * m, c * tau * B + m * nu
    along = (last * p**2 - 2 * mixed * p * u + first * u**2) / (first * last - mixed**2)
    across = (d - 1) * (c * m) ** 2 / (nu**2 / n + c**2 * omega)
    return sigma2 + d * m + B**2 - across - along


def small_norm_limit(d: int, n: int, sigma2: float, *, m: float = 1.0) -> float:
    """lim gap / B² as B → 0, for Phi = m I: the minimum over x of a parabola. This book."""
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    tau = d * m + sigma2
    square = (n + 2) / n * (tau**2 + 2 * d * m**2)
    slope = tau + 2 * m / n
    # 1 − 2x + (n+d+1)/n x² − (tau − x slope)² / square, minimised where its derivative vanishes
    linear = 1 - tau * slope / square
    return float(1 - tau**2 / square - linear**2 / ((n + d + 1) / n - slope**2 / square))


def large_norm_limit(n: int) -> float:
    """lim gap / B² as B → ∞: 2/(n+2). At most that, by `upper_bound`; at least that is measured, not proved."""
    return 2 / (check_count("n", n) + 2)


def multi_head_floor(law: PromptLaw) -> float:
    """Least gap to the block of linear attention with any number of heads and no MLP, attained by d + 1 heads.

    |beta_star|²_H / (1 + q' C⁺ q): the best estimate of the number 1 from the three even statistics tr Ŝ, tr Phi Ŝ and
    s_r, with mean q and covariance C. This book, §«no number of heads replaces the MLP».
    """
    d, n, tau = np.linalg.matrix_rank(law.H, hermitian=True), law.n, moments.tau(law)
    Phi = moments.phi(law)
    first, second = np.trace(Phi), np.trace(Phi @ Phi)
    residual = (n + 2) / n * (tau**2 + 2 * second) - tau**2  # Var s_r
    C = np.array([[2 * d, 2 * first, 2 * first], [2 * first, 2 * second, 2 * second], [2 * first, 2 * second, 0.0]]) / n
    C[2, 2] = residual
    q = np.array([d, first, tau])
    return mean_size(law) / (1 + float(q @ np.linalg.pinv(C, rcond=1e-12, hermitian=True) @ q))


def _scan(profile: Profile) -> np.ndarray:
    """Points (nu, c) on circles through the label direction: towards the mean task and towards each axis of Phi."""
    axes = np.linalg.eigh(profile.Phi)[1].T
    directions = list(axes)
    for vector in (profile.b, profile.Phi @ profile.b, np.linalg.solve(profile.Omega, profile.b)):
        if np.linalg.norm(vector) > 0:
            directions.append(vector / np.linalg.norm(vector))
    directions = np.reshape(directions, (len(directions), len(profile.b)))
    angles = np.linspace(-np.pi / 2, np.pi / 2, 25)[1:]
    nu = np.sin(angles)[:, None, None] * directions
    c = np.broadcast_to(np.cos(angles)[:, None, None], (*nu.shape[:2], 1))
    label = np.eye(len(profile.b) + 1)[-1:]
    return np.concatenate([label, np.concatenate([nu, c], -1).reshape(-1, len(profile.b) + 1)])


def _spread(points: np.ndarray, count: int) -> list[np.ndarray]:
    """The `count` first points of which no two lie within 0.05 of each other or of each other's opposite."""
    chosen = []
    for point in points:
        if all(min(np.linalg.norm(point - q), np.linalg.norm(point + q)) > 0.05 for q in chosen):
            chosen.append(point)
        if len(chosen) == count:
            break
    return chosen


def _descend(profile: Profile, start) -> Optimum:
    def on_sphere(z):
        size = np.linalg.norm(z)
        value, gradient = profile.value_and_gradient(z / size)
        return value, gradient / size  # the profile is scale-free: its gradient is tangent already

    # a nudge off the symmetric circle, so that a saddle there is left
    nudge = 1e-3 * np.cos(np.arange(1.0, len(start) + 1))
    options = dict(maxiter=2000, maxfun=4000, ftol=0.0, gtol=1e-12, maxcor=30)
    result = minimize(on_sphere, start + nudge, jac=True, method="L-BFGS-B", options=options)
    point = result.x / np.linalg.norm(result.x)
    return Optimum(float(result.fun), point[:-1], float(point[-1]))
