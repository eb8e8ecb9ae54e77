"""Laws of prompts whose tasks have a mean: isotropic, skewed and singular; chapters 4 and 5 are about them."""

from dataclasses import replace

import numpy as np

from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.theory import gd_beta


def isotropic_law(parameters: Parameters, d: int | None = None) -> PromptLaw:
    """H = Psi = I and beta_star = beta_norm (1, …, 1)/√d: the setting of most claims, or at another d."""
    d = d or parameters.d
    mean = np.full(d, parameters.beta_norm / np.sqrt(d))
    return PromptLaw.isotropic(d, parameters.n, parameters.sigma2, mean)


def skewed_law(parameters: Parameters, rng: np.random.Generator, *, d: int | None = None) -> PromptLaw:
    """Random H (eigenvalues from 1 to 1/4) and Psi > 0 that do not commute; |beta_star|_H = beta_norm."""
    d = d or parameters.d
    H = _with_spectrum(np.geomspace(1, 0.25, d), rng)
    Psi = _with_spectrum(np.geomspace(2, 0.5, d), rng)
    return _centred(parameters, H, Psi, rng)


def singular_law(parameters: Parameters, rng: np.random.Generator, *, d: int | None = None) -> PromptLaw:
    """d + 2 covariates of which only d directions vary, and a task that does not vary in one direction."""
    d = d or parameters.d
    H = _with_spectrum(np.r_[np.geomspace(1, 0.25, d), 0, 0], rng)
    Psi = _with_spectrum(np.r_[np.geomspace(2, 0.5, d + 1), 0], rng)
    return _centred(parameters, H, Psi, rng)


def laws(parameters: Parameters, stream: Streams) -> tuple[PromptLaw, PromptLaw, PromptLaw]:
    """The isotropic, the skewed and the singular law of chapters 4 and 5, the latter two random."""
    skewed, singular = skewed_law(parameters, stream("skewed law")), singular_law(parameters, stream("singular law"))
    return isotropic_law(parameters), skewed, singular


def _centred(parameters, H, Psi, rng) -> PromptLaw:
    """With a random beta_star: beta_norm is the size of what H sees of it, and what H does not see stays N(0, 1)."""
    law = PromptLaw(parameters.n, H, Psi, rng.standard_normal(len(H)), parameters.sigma2)
    seen = gd_beta.range_projector(law) @ law.beta_star
    scale = parameters.beta_norm / np.sqrt(seen @ H @ seen)
    return replace(law, beta_star=law.beta_star + (scale - 1) * seen)


def _with_spectrum(eigenvalues, rng) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((len(eigenvalues),) * 2))
    matrix = (Q * eigenvalues) @ Q.T
    return (matrix + matrix.T) / 2
