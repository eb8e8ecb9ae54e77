"""Chapter 2's experiments: the preconditioner that training finds, what it buys, and when it misleads."""

from dataclasses import dataclass

import numpy as np
import torch

from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.effective import EffectiveParameters
from icl.parameters import Parameters
from icl.prompts import PromptLaw, conditioned_covariance, symmetric_root
from icl.search import descents, exact_risk, preconditioner


def covariance(parameters: Parameters, rotation: int) -> np.ndarray:
    """The chapter's H (d, d); its axes are drawn from `rotation`, the same for every condition number."""
    return conditioned_covariance(parameters.d, parameters.condition, np.random.default_rng(rotation))


def with_prior(H: np.ndarray, Psi: np.ndarray, parameters: Parameters) -> PromptLaw:
    """Prompts with x ~ N(0, H), w ~ N(0, Psi) and the chapter's n and sigma2."""
    return PromptLaw(parameters.n, H, Psi, np.zeros(len(H)), parameters.sigma2)


def random_prior(d: int, rng: np.random.Generator) -> np.ndarray:
    """A task covariance Psi (d, d) of full rank and mean eigenvalue 1, with axes unrelated to H's."""
    return conditioned_covariance(d, 10.0, rng) * d / np.geomspace(1, 0.1, d).sum()


def without_directions(matrix: np.ndarray, count: int) -> np.ndarray:
    """The PSD `matrix` (d, d) with its `count` smallest eigenvalues set to 0."""
    eigenvalues, Q = np.linalg.eigh(matrix)
    eigenvalues[:count] = 0
    return (Q * eigenvalues) @ Q.T


def turned(H: np.ndarray, angle: float) -> np.ndarray:
    """H (d, d) rotated by `angle` in the plane of its largest and its smallest principal axis; d = 1 stays as it is."""
    eigenvalues, Q = np.linalg.eigh(H)
    if len(H) > 1:
        low, high = Q[:, 0].copy(), Q[:, -1].copy()
        Q[:, 0] = np.cos(angle) * low - np.sin(angle) * high
        Q[:, -1] = np.sin(angle) * low + np.cos(angle) * high
    return (Q * eigenvalues) @ Q.T


def whitened_matrix(Gamma: np.ndarray, H: np.ndarray) -> np.ndarray:
    """H^{1/2} Gamma H^{1/2}, (d, d): all of Gamma that the data can see, in units in which directions count alike."""
    root = symmetric_root(H)
    return root @ Gamma @ root


def distance(weights: EffectiveParameters, Gamma: np.ndarray, H: np.ndarray) -> float:
    """Relative Frobenius distance of the learned preconditioner from Gamma (d, d), both whitened."""
    target = whitened_matrix(Gamma, H)
    return float(np.linalg.norm(whitened_matrix(preconditioner(weights), H) - target) / np.linalg.norm(target))


def spread(weights: EffectiveParameters, H: np.ndarray) -> float:
    """Largest over smallest eigenvalue of the whitened learned preconditioner; 1 for a multiple of H^{-1}, (d, d)."""
    matrix = whitened_matrix(preconditioner(weights), H)
    eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    return float(eigenvalues[-1] / eigenvalues[0])


def learned_penalty(weights: EffectiveParameters, law: PromptLaw) -> float:
    """The penalty in (X'X + penalty I)^{-1} X'y that learned weights apply once X'X is replaced by (n+1) H.

    Mean diagonal of n Gamma^{-1} − (n+1) H, Gamma the learned preconditioner.
    """
    implied = law.n * np.linalg.inv(preconditioner(weights)) - (law.n + 1) * law.H
    return float(np.trace(implied)) / law.d


def descend(law: PromptLaw, rng: np.random.Generator, count: int = 2) -> EffectiveParameters:
    """The best of `count` finished L-BFGS runs on the exact risk over all weights, each from an open label path."""
    return descents(law, count, rng, scale=0.1, init="label_path").best


def nothing_to_learn(d: int) -> NotRun | None:
    """Why nothing can be measured in d = 1 dimension once a direction is taken away, or None."""
    return NotRun("d = 1: without its one direction there is nothing to learn") if d == 1 else None


def change_off_support(weights: EffectiveParameters, law: PromptLaw, rng: np.random.Generator) -> float:
    """|Change of the exact risk| when V moves by a random D with H D H = 0 and Frobenius norm 1."""
    off = np.eye(law.d) - law.H @ np.linalg.pinv(law.H, hermitian=True)
    A = rng.standard_normal((law.d, law.d))
    D = off @ A + A @ off
    parts = weights.numpy()
    moved = EffectiveParameters.from_numpy(**parts | {"V": parts["V"] + D / np.linalg.norm(D)})
    return abs(exact_risk(law, moved) - exact_risk(law, weights))


def one_step(Gamma: np.ndarray) -> EffectiveParameters:
    """Attention weights that compute ŷ = x_query' Gamma X'y / n: v = u = 0, c = 1, V = Gamma', (d, d)."""
    zero = np.zeros(len(Gamma))
    return EffectiveParameters.from_numpy(zero, zero, 1.0, Gamma.T, zero)


def measured_risk(weights: EffectiveParameters, law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """Mean squared error of given weights on fresh prompts of `law`, whatever law they were trained on."""

    def draw(B):
        batch = law.sample(rng, B)
        prediction = weights.predict(*map(torch.from_numpy, (batch.X, batch.y, batch.x_query))).detach().numpy()
        return (prediction - batch.y_query) ** 2

    return monte_carlo(draw, prompts, chunk=max(100, 2_000_000 // (law.n * law.d)))


@dataclass(frozen=True)
class Stability:
    """Over random prompts, for Theorem 2's step: eta* lambda_max / 2, its mean, and the share above 1."""

    ratios: np.ndarray
    mean: Estimate
    unstable: Estimate


def stability(d: int, n: int, eta: float, prompts: int, rng: np.random.Generator) -> Stability:
    """lambda_max of Z'Z, the whitened Hessian of the prompt's own loss, against the step `eta`."""
    largest = np.empty(prompts)
    for k in range(0, prompts, 500):
        Z = rng.standard_normal((min(500, prompts - k), n, d))
        gram = Z @ np.swapaxes(Z, 1, 2) if n < d else np.swapaxes(Z, 1, 2) @ Z
        largest[k : k + 500] = np.linalg.eigvalsh(gram)[:, -1]
    ratios = eta * largest / 2
    mean = Estimate(float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(prompts)), prompts)
    above = float((ratios > 1).mean())
    return Stability(
        ratios, mean, Estimate(above, float(np.sqrt(max(above * (1 - above), 1 / prompts) / prompts)), prompts)
    )
