r"""Theorem 4.1 of Zhang, Wu and Bartlett (2024): how much linear attention loses without the MLP.

The minima of linear self-attention (LSA) and of the linear transformer block (LTB) are those of a profile on a
sphere (`risk_profile`), in the isotropic case of a function of one angle. The reduction, the
constants and the proof of the lower bound are this book's; the paper's own constants could not be restored. Equation
numbers (5.1), (5.2) count this book's derivation.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from icl.prompts import PromptLaw
from icl.theory import gd_beta, moments
from icl.theory.moments import label_unit, mean_size
from icl.theory.risk_profile import Optimum, Profile, global_minimum
from icl.validation import InputError, check_count, check_nonnegative


def ltb_minimal_risk(law: PromptLaw) -> float:
    """The least risk of the block, the same for every beta_star: eq. (5.2), GD-β's minimum (Theorem 5.3)."""
    return gd_beta.minimal_risk(law)


def gd0_minimal_risk(law: PromptLaw) -> float:
    """The least risk of one step from 0: eq. (5.2) with Psi + beta_star beta_star' in place of Psi."""
    spread = law.Psi + np.outer(law.beta_star, law.beta_star)
    return gd_beta.minimal_risk(replace(law, Psi=spread, beta_star=np.zeros(law.d)))


def lower_bound(law: PromptLaw) -> float:
    """|beta_star|²_H / (n + 1): no attention without an MLP comes closer to the block. Theorem 4.1, our constant."""
    return mean_size(law) / (law.n + 1)


def upper_bound(law: PromptLaw) -> float:
    """GD-0's minimum minus the block's: attention can always take one step from 0."""
    return gd0_minimal_risk(law) - ltb_minimal_risk(law)


def lsa_minimum(law: PromptLaw) -> Optimum:
    """The global minimum of the risk of LSA, any law (singular H and Psi, c = 0 included): Theorem 4.1, exact.

    See `risk_profile.global_minimum` for how it is found: in the labels' unit, for where labels are far larger than
    covariates, nu is far larger than c, and the search would lose half of its digits.
    """
    unit = label_unit(law)
    found = global_minimum(Profile(law.with_labels_scaled(1 / unit)))
    size = np.hypot(unit * np.linalg.norm(found.nu), found.c)
    return Optimum(unit**2 * found.risk, unit * found.nu / size, found.c / size)


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


def isotropic_lsa_risk(d: int, n: int, sigma2: float, B, *, m: float = 1.0) -> np.ndarray:
    """The least risk of LSA for Phi = m I and |beta_star|_H = B ≥ 0 (any shape): a minimum in one angle.

    By symmetry nu is parallel to beta_star: nu = sin φ, c = cos φ, −π/2 < φ ≤ π/2. A grid of angles, refined three
    times around the lowest point and closed by a parabola. Raises InputError for sizes or a B out of range.
    """
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    B = np.asarray(B, dtype=float)
    if not (np.isfinite(B).all() and (B >= 0).all()):
        raise InputError("B, the size of the mean task, must be finite and at least 0.")
    unit = np.sqrt((d * m + sigma2 + B**2) / d)  # of labels, as in `lsa_minimum`
    scaled = [(part / unit**k)[..., None] for part, k in ((sigma2, 2), (m, 2), (B, 1))]
    profile = lambda angle: _isotropic_profile(angle, d, n, *scaled)
    centre, width, resolution = np.zeros(B.shape), np.pi / 2, 2001
    for _ in range(4):
        angles = centre[..., None] + np.linspace(-width, width, resolution)
        risks = profile(angles)
        centre = np.take_along_axis(angles, risks.argmin(-1)[..., None], -1)[..., 0]
        width, resolution = 2 * width / (resolution - 1), 101
    return unit**2 * profile(centre[..., None])[..., 0]


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


def multi_head_floor(law: PromptLaw) -> float:
    """Least gap to the block of linear attention with any number of heads and no MLP, attained by d + 1 heads.

    |beta_star|²_H / (1 + q' C⁺ q): the best estimate of the number 1 from the three even statistics tr Ŝ, tr Phi Ŝ and
    s_r, with mean q and covariance C. This book; the proof is in chapter 4, «no number of heads helps».
    """
    d, n, tau = np.linalg.matrix_rank(law.H, hermitian=True), law.n, moments.tau(law)
    Phi = moments.phi(law)
    first, second = np.trace(Phi), np.trace(Phi @ Phi)
    residual = (n + 2) / n * (tau**2 + 2 * second) - tau**2  # Var s_r
    C = np.array([[2 * d, 2 * first, 2 * first], [2 * first, 2 * second, 2 * second], [2 * first, 2 * second, 0.0]]) / n
    C[2, 2] = residual
    q = np.array([d, first, tau])
    return mean_size(law) / (1 + float(q @ np.linalg.pinv(C, rcond=1e-12, hermitian=True) @ q))
