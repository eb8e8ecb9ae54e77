"""The sequences that chapter 7's models are trained on: T pairs of one task each, drawn in float64."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.prompts import PromptLaw
from icl.targets import FAMILIES, TargetLaw

CONDITION = 100.0  # Fu et al. (2024): half of the eigenvalues are 100 times the other half
NOISE = 0.1  # sigma, as published

Sequences = tuple[np.ndarray, np.ndarray]  # X (B, T, d) and y (B, T), float64


def linear(rng: np.random.Generator, B: int, T: int, d: int, sigma2: float = 0.0) -> Sequences:
    """y = w'x (+ noise), x and w standard Gaussian: Fu et al. (2024), §2."""
    return _sequence(PromptLaw.isotropic(d, T - 1, sigma2).sample(rng, B))


def noisy(rng: np.random.Generator, B: int, T: int, d: int) -> Sequences:
    """The same with labels off by N(0, 0.1²)."""
    return linear(rng, B, T, d, NOISE**2)


def ill_conditioned(rng: np.random.Generator, B: int, T: int, d: int, *, shared: bool = False) -> Sequences:
    """Covariates with condition number 100, axes Haar, new for each sequence: Fu et al. (2024), §4.

    The larger half of the eigenvalues (rounded down) is 100 times the other; scaled so that E|x|² = d. With `shared`
    the B sequences have one rotation, as in the paper's public code.
    """
    eigenvalues = np.where(np.arange(d) < d // 2, CONDITION, 1.0)
    eigenvalues *= d / eigenvalues.sum()
    gaussian = rng.standard_normal((1 if shared else B, d, d))
    rotation = np.linalg.qr(gaussian)[0]  # its columns' signs do not matter: x is symmetric
    X = (rng.standard_normal((B, T, d)) * np.sqrt(eigenvalues)) @ np.swapaxes(rotation, 1, 2)
    return X, np.einsum("btd,bd->bt", X, rng.standard_normal((B, d)))


def relu_network(rng: np.random.Generator, B: int, T: int, d: int) -> Sequences:
    """y = Σ_j a_j relu(w_j'x), 16 hidden units: chapter 3's family, E y² = d/2."""
    return _sequence(TargetLaw(FAMILIES["relu_network"], d, T - 1, 0.0).sample(rng, B))


def _sequence(prompts) -> Sequences:
    X = np.concatenate([prompts.X, prompts.x_query[:, None]], axis=1)
    return X, np.concatenate([prompts.y, prompts.y_query[:, None]], axis=1)


def noise_variance(law: str) -> float:
    """The variance of the labels' noise in a law of `LAWS`."""
    return NOISE**2 if law == "noisy" else 0.0


LAWS: dict[str, Callable[..., Sequences]] = {
    law.__name__: law for law in (linear, noisy, ill_conditioned, relu_network)
}


@dataclass(frozen=True)
class Curriculum:
    """Dimensions and pairs of a training's sequences, a notch more every `every` steps; Garg et al. (2022), §A."""

    dimensions: tuple[int, int, int] = (5, 20, 1)  # first, last, notch
    pairs: tuple[int, int, int] = (11, 41, 2)
    every: int = 2000

    def at(self, step: int) -> tuple[int, int]:
        """Dimensions and pairs at a step ≥ 0."""
        notches = step // self.every
        return tuple(min(first + notches * notch, last) for first, last, notch in (self.dimensions, self.pairs))
