"""Descent over full matrices, a test of the guess that multiples of the identity are best.

The excess risk of layers Γ_1, …, Γ_L with endless context is E_O tr P H P', P = H-transposed product of I − Γ_k H. At
d = 2 and 3 the mean over rotations is a finite sum: H is a trigonometric polynomial of degree 2 in the rotation, so
equally spaced angles and Gauss-Legendre nodes are exact. Beyond, rotations are sampled.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

from icl.chapters.when_depth_pays.experiments import haar
from icl.estimates import Estimate, monte_carlo
from icl.theory import when_depth_pays as theory


@dataclass(frozen=True)
class Rotated:
    """Covariances H, (m, d, d), with weights (m,) that add up to 1: a law of rotations, exact or sampled."""

    H: np.ndarray
    weights: np.ndarray
    eigenvalues: np.ndarray


def exact_rotations(eigenvalues: np.ndarray, layers: int) -> Rotated:
    """All rotations at d = 3, exact for the risk of so many layers: a polynomial of degree 4L + 2 in the rotation.

    eigenvalues : (3,). Euler angles α, γ in equal steps, cos β at Gauss nodes; γ only to π, for half a turn about an
    axis of H changes nothing.
    """
    degree = 4 * layers + 2
    alphas = 2 * np.pi * np.arange(degree + 1) / (degree + 1)
    gammas = np.pi * np.arange(degree // 2 + 1) / (degree // 2 + 1)
    cosines, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    O = _about_z(alphas)[:, None, None] @ _about_y(np.arccos(cosines))[None, :, None] @ _about_z(gammas)[None, None]
    spread = np.broadcast_to(weights[None, :, None] / 2 / len(alphas) / len(gammas), O.shape[:3])
    O = O.reshape(-1, 3, 3)
    return Rotated(O * eigenvalues @ O.mT, spread.ravel(), eigenvalues)


def sampled_rotations(eigenvalues: np.ndarray, count: int, rng: np.random.Generator) -> Rotated:
    """`count` rotations from the Haar measure, of equal weight, of eigenvalues (d,)."""
    O = haar(rng, count, len(eigenvalues))
    return Rotated(O * eigenvalues @ O.mT, np.full(count, 1 / count), eigenvalues)


def _about_z(angles):
    c, s, zero = np.cos(angles), np.sin(angles), 0 * angles
    return np.stack([c, -s, zero, s, c, zero, zero, zero, 1 + zero], axis=-1).reshape(-1, 3, 3)


def _about_y(angles):
    c, s, zero = np.cos(angles), np.sin(angles), 0 * angles
    return np.stack([c, zero, s, zero, 1 + zero, zero, -s, zero, c], axis=-1).reshape(-1, 3, 3)


def excesses(Gammas: np.ndarray, H: np.ndarray) -> np.ndarray:
    """tr P'HP for P = (I − Γ_L H) … (I − Γ_1 H), each (m,): Γ (L, d, d), H (m, d, d)."""
    P = np.eye(H.shape[-1])
    for Gamma in Gammas:
        P = P - Gamma @ H @ P
    return np.einsum("mij,mik,mkj->m", P, H, P)


def descend(law: Rotated, layers: int, starts: int, rng: np.random.Generator, *, shared: bool) -> np.ndarray:
    """The matrices (L, d, d) with the least mean excess that L-BFGS finds; one for all layers if `shared`.

    Matrices are measured in the best scalar steps. Every start but the last adds a random matrix to the identity, with
    an antisymmetric part of growing size, a turn; the last is the identity itself, but for a little noise.
    """
    eigenvalues, d = law.eigenvalues, len(law.eigenvalues)
    free = theory.free_steps(eigenvalues, layers)
    steps = np.full(layers, theory.shared_step(eigenvalues, layers)) if shared else free
    rows = 1 if shared else layers
    unit = max(theory.excess(steps, eigenvalues), 1e-6 * eigenvalues.sum())  # so that L-BFGS sees numbers of order one
    H, weights = torch.from_numpy(law.H), torch.from_numpy(law.weights / unit)

    def value_and_gradient(flat):
        G = torch.tensor(flat.reshape(rows, d, d), requires_grad=True)
        P = torch.eye(d, dtype=torch.float64)
        for k in range(layers):
            P = P - steps[k] * (G[0 if shared else k] @ (H @ P))
        loss = weights @ (P * (H @ P)).sum((1, 2))
        loss.backward()
        return loss.item(), G.grad.numpy().ravel().copy()

    def begin(k):
        noise = rng.standard_normal((rows, d, d))
        if k == starts - 1:
            return np.eye(d) + 1e-3 * noise
        return np.eye(d) + 0.2 * noise + 0.5 * (k + 1) * (noise - noise.mT) / 2

    options = dict(ftol=1e-15, gtol=1e-10, maxiter=2000, maxfun=4000, maxcor=20)
    run = lambda k: minimize(value_and_gradient, begin(k).ravel(), jac=True, method="L-BFGS-B", options=options)
    end = min((run(k) for k in range(starts)), key=lambda end: end.fun)
    G = np.broadcast_to(end.x.reshape(rows, d, d), (layers, d, d))
    return steps[:, None, None] * G


def exact_descent(condition: float, layers: int, starts: int, rng: np.random.Generator, *, shared: bool) -> float:
    """The least excess over full matrices at d = 3, found by `descend`, its mean over rotations exact."""
    law = exact_rotations(theory.spectrum(3, condition), layers)
    return float(law.weights @ excesses(descend(law, layers, starts, rng, shared=shared), law.H))


def sampled_descent(eigenvalues: np.ndarray, layers: int, sizes, rng: np.random.Generator, *, shared: bool) -> Estimate:
    """The mean excess, on fresh rotations, of matrices fitted on sampled ones; `sizes` has rotations, fresh, starts.

    eigenvalues : (d,).
    """
    law = sampled_rotations(eigenvalues, sizes.rotations, rng)
    found = descend(law, layers, sizes.starts, rng, shared=shared)
    return monte_carlo(lambda B: excesses(found, sampled_rotations(eigenvalues, B, rng).H), sizes.fresh)
