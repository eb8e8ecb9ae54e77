"""Chapter 5: where the flow has a closed form, a few scalars, a conserved part, and where its landscape bends down."""

import numpy as np

from icl.chapters.gd_beta_gradient_flow.flow import REFERENCE, horizon, measured_tail_rate, reference_law
from icl.prompts import PromptLaw
from icl.theory import gd_beta, scalar_flow
from icl.theory import gradient_flow as theory


def closed_form_error(law: PromptLaw, rng: np.random.Generator) -> float:
    """Largest difference of the integrated Gamma(t) and its closed form, from a random Gamma, relative."""
    Gamma = rng.standard_normal((law.d, law.d))
    times = np.geomspace(0.01, 10, 12) / theory.gamma_rate(law)
    flow = theory.integrate(law, law.beta_star, Gamma, times)
    return float(np.abs(flow.Gamma - theory.closed_form_gamma(law, Gamma, times)).max() / np.abs(Gamma).max())


def isotropic_error(law: PromptLaw, direction: np.ndarray, times, *, g: float = 0.0) -> float:
    """Largest difference of the whole flow and the three scalars at H = h I, Psi = psi I, from beta_star + direction.

    In units of the largest entry met; Gamma starts at g I; direction (d,).
    """
    d, h, psi = law.d, law.H[0, 0], law.Psi[0, 0]
    r = float(np.linalg.norm(direction))
    e = direction / r if r > 0 else np.eye(d)[0]
    flow = theory.integrate(law, law.beta_star + direction, g * np.eye(d), times)
    size, along, across = scalar_flow.isotropic_flow(r, g, times, d, law.n, law.sigma2, h, psi)
    line = np.outer(e, e)
    Gamma = along[:, None, None] * line + across[:, None, None] * (np.eye(d) - line)
    apart = max(np.abs(flow.beta - law.beta_star - size[:, None] * e).max(), np.abs(flow.Gamma - Gamma).max())
    return float(apart / max(1.0, r))


def reference_error(rng: np.random.Generator) -> float:
    """Largest difference of whole flow and scalars from the reference trajectory, the start in a random direction."""
    law, times = reference_law(), np.array(list(REFERENCE))
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


def diagonal_error(law: PromptLaw, Q: np.ndarray, r: float, rng: np.random.Generator) -> float:
    """Largest difference of the whole flow and the d + 1 scalars, off along each column of Q (d, d) in turn."""
    times, worst = horizon(law) * np.geomspace(1e-4, 0.5, 12), 0.0
    for i in range(law.d):
        gamma = rng.standard_normal(law.d)
        flow = theory.integrate(law, law.beta_star + r * Q[:, i], (Q * gamma) @ Q.T, times)
        scalars = scalar_flow.diagonal_flow(*COMMUTING, law.sigma2, law.n, i, r, gamma, times)
        Gamma = (Q * scalars[1:].T[:, None, :]) @ Q.T
        apart = np.abs(flow.beta - law.beta_star - scalars[0][:, None] * Q[:, i]).max()
        worst = max(worst, apart, np.abs(flow.Gamma - Gamma).max())
    return float(worst / max(1.0, r))


def worst_tail_ratio(law: PromptLaw, Q: np.ndarray) -> float:
    """Measured over predicted rate of beta on each eigenvector, from 1e-3 beside the minimum; the one farthest from 1.

    Q : (d, d), an eigenvector a column.
    Farther away the rate is not the last one yet: Gamma's slow entries may outlast beta's fast ones.
    """
    Gamma = gd_beta.optimal_gamma(law)
    predicted = np.diag(Q.T @ (2 * gd_beta.curvature(law, Gamma)) @ Q)
    measured = [measured_tail_rate(law, 1e-3 * e, Gamma, window=(1e-1, 1e-5)) for e in Q.T]
    ratios = np.array(measured) / predicted
    return float(ratios[np.argmax(np.abs(ratios - 1))])


def conserved_drift(law: PromptLaw, found: list[theory.Flow]) -> float:
    """Largest change, along any flow, of (I − Π) beta and Gamma − Π Gamma Π, relative to the largest entry met."""
    Pi = gd_beta.range_projector(law)
    drift = []
    for flow in found:
        beta, Gamma = flow.beta - flow.beta @ Pi, flow.Gamma - Pi @ flow.Gamma @ Pi
        size = max(1.0, np.abs(flow.beta).max(), np.abs(flow.Gamma).max())
        drift.append(max(np.abs(beta - beta[0]).max(), np.abs(Gamma - Gamma[0]).max()) / size)
    return float(max(drift))
