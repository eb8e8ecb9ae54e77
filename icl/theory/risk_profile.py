r"""The risk of linear attention, with and without the MLP, as a function of a direction: this book.

The risk is that of `models.exact_risk`. Take coordinates where H = I (on its range), nu = H^{1/2}(v + c beta_star) and
b = H^{1/2} beta_star. For given (nu, c) the risk is a quadratic in all other weights that splits into rows with the
same matrix K. Minimising it leaves a profile on the sphere |nu|² + c² = 1, a smooth problem in as many variables
as H has rank:

    LSA:  sigma2 + tr Phi + |b|² − Σ_i l_i' K^{-1} l_i,
    LTB:  the same with K, l_i and |b|² centred, because a free w1 absorbs the mean of what attention returns.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from icl.prompts import PromptLaw
from icl.theory import moments


@dataclass(frozen=True)
class Optimum:
    """A minimum of the profile: its risk and where it lies, nu (r,) and c with |nu|² + c² = 1."""

    risk: float
    nu: np.ndarray
    c: float


class Profile:
    """The least risk of LSA (or of the block) at given (nu, c), not both 0; only their direction matters.

    nu has r = rank H entries: coordinates in which the covariates are standard normal, in the range of H only.
    """

    def __init__(self, law: PromptLaw, *, block: bool = False):
        self.law, self.block = law, block
        self.root, self.inverse = law.whitening
        n, tau, identity = law.n, moments.tau(law), np.eye(len(self.root))
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


def global_minimum(profile: Profile) -> Optimum:
    """The profile's global minimum: a scan on circles through the label direction, then L-BFGS from the lowest."""
    points = _scan(profile)
    lowest = np.argsort(profile(points[:, :-1], points[:, -1]), kind="stable")
    ends = [_descend(profile, point) for point in _spread(points[lowest], 8)]
    return min(ends, key=lambda end: end.risk)


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
