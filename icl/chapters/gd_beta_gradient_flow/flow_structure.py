"""Chapter 5: a few scalars for the flow, its last rates, its conserved part, and the worst-conditioned Gamma."""

import numpy as np
import torch
from scipy.optimize import minimize

from icl.chapters.gd_beta_gradient_flow.flow import REFERENCE, horizon, measured_tail_rate, reference_law
from icl.prompts import PromptLaw
from icl.theory import gd_beta, scalar_flow
from icl.theory import gradient_flow as theory


def largest_condition(d: int, n: int, rng: np.random.Generator, *, starts: int = 6) -> float:
    """Largest condition number of P(Gamma) at H = I that L-BFGS finds over all entries of Gamma (d, d)."""

    def climb(entries):
        G = torch.tensor(entries.reshape(d, d), requires_grad=True)
        off = torch.eye(d, dtype=G.dtype) - G
        P = off.mT @ off + G.mT @ G / n + (G**2).sum() / n * torch.eye(d, dtype=G.dtype)  # eq. (6.2)
        eigenvalues = torch.linalg.eigvalsh(P)
        height = torch.log(eigenvalues[0]) - torch.log(eigenvalues[-1])
        height.backward()
        return height.item(), G.grad.numpy().ravel()

    exactly = dict(maxiter=3000, ftol=1e-15, gtol=1e-11)
    ends = [
        minimize(climb, rng.standard_normal(d * d), jac=True, method="L-BFGS-B", options=exactly) for _ in range(starts)
    ]
    return float(np.exp(-min(end.fun for end in ends)))


def isotropic_error(law: PromptLaw, direction: np.ndarray, times, *, g: float = 0.0, extra: int = 0) -> float:
    """Largest difference of the whole flow and the three scalars at H = h I, Psi = psi I, from beta_star + direction.

    In units of the largest entry met; Gamma starts at g I; direction (d,); the scalars count `extra` covariates more.
    """
    d, h, psi = law.d, law.H[0, 0], law.Psi[0, 0]
    r = float(np.linalg.norm(direction))
    e = direction / r if r > 0 else np.eye(d)[0]
    flow = theory.integrate(law, law.beta_star + direction, g * np.eye(d), times)
    size, along, across = scalar_flow.isotropic_flow(r, g, times, d + extra, law.n, law.sigma2, h, psi)
    line = np.outer(e, e)
    Gamma = along[:, None, None] * line + across[:, None, None] * (np.eye(d) - line)
    apart = max(np.abs(flow.beta - law.beta_star - size[:, None] * e).max(), np.abs(flow.Gamma - Gamma).max())
    return float(apart / max(1.0, r))


def reference_error(rng: np.random.Generator, *, speed: float = 1.0) -> float:
    """Largest difference of whole flow and scalars from the reference trajectory, the start in a random direction.

    The two are looked at `speed` times as late.
    """
    law, times = reference_law(), speed * np.array(list(REFERENCE))
    e = rng.standard_normal(law.d)
    e /= np.linalg.norm(e)
    flow = theory.integrate(law, e, np.zeros((law.d, law.d)), times)
    v = np.linalg.svd(e[None])[2][1]  # a unit vector orthogonal to e
    whole = np.stack([flow.beta @ e, e @ flow.Gamma @ e, v @ flow.Gamma @ v])
    scalars = scalar_flow.isotropic_flow(1.0, 0.0, times, law.d, law.n, law.sigma2, law.H[0, 0], law.Psi[0, 0])
    reference = np.array(list(REFERENCE.values())).T
    return float(max(np.abs(whole - reference).max(), np.abs(scalars - reference).max()))


COMMUTING = (np.array([2.0, 1.0, 0.4]), np.array([0.5, 1.0, 2.0]))  # eigenvalues of H and Psi


def commuting_law(n: int, sigma2: float, rng: np.random.Generator) -> tuple[PromptLaw, np.ndarray]:
    """H and Psi with the eigenvalues `COMMUTING` in a common random basis, and that basis as columns, (3, 3)."""
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    symmetric = lambda eigenvalues: ((Q * eigenvalues) @ Q.T + Q @ (eigenvalues[:, None] * Q.T)) / 2
    return PromptLaw(n, *map(symmetric, COMMUTING), rng.standard_normal(3), sigma2), Q


def diagonal_error(law: PromptLaw, Q: np.ndarray, r: float, rng: np.random.Generator, *, extra: int = 0) -> float:
    """Largest difference of the whole flow and the d + 1 scalars, off along each column of Q (d, d) in turn.

    The scalars count `extra` examples more.
    """
    times, worst = horizon(law) * np.geomspace(1e-4, 0.5, 12), 0.0
    for i in range(law.d):
        gamma = rng.standard_normal(law.d)
        start = law.beta_star + r * Q[:, i], (Q * gamma) @ Q.T
        # From r = 1e4 on, axes that are not the matrices' own leave the field itself no more digits than these.
        flow = theory.integrate(law, *start, times, rtol=1e-10)
        scalars = scalar_flow.diagonal_flow(*COMMUTING, law.sigma2, law.n + extra, i, r, gamma, times)
        Gamma = (Q * scalars[1:].T[:, None, :]) @ Q.T
        apart = np.abs(flow.beta - law.beta_star - scalars[0][:, None] * Q[:, i]).max()
        worst = max(worst, apart, np.abs(flow.Gamma - Gamma).max())
    return float(worst / max(1.0, r))


def tail_rates_along(law: PromptLaw, Q: np.ndarray) -> np.ndarray:
    """Measured rates of beta along the columns of Q (d, d), eigenvectors, from 1e-3 beside the minimum, (d,).

    Farther away the rate is not the last one yet: Gamma's slow entries may outlast beta's fast ones.
    """
    Gamma = gd_beta.optimal_gamma(law)
    return np.array([measured_tail_rate(law, 1e-3 * e, Gamma, window=(1e-1, 1e-3)) for e in Q.T])
