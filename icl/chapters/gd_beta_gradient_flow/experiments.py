"""Chapter 5: the laws of prompts it uses, the risk of GD-β on prompts, and what minimises it."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from icl.estimates import Estimate, monte_carlo
from icl.models.gd_beta_model import GDBeta
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.search import minimise_exactly
from icl.solvers import linear
from icl.theory import gd_beta


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    starts: int  # L-BFGS starts
    flows: int  # starts of the gradient flow
    contexts: int  # draws of X, with all else integrated out
    spectra: int  # random problems for the sandwich
    steps: int  # of gradient descent and Adam


BUDGETS = {
    "quick": Budget(200_000, 10, 24, 120, 60, 400),
    "standard": Budget(2_000_000, 20, 60, 1000, 200, 1000),
    "paper": Budget(20_000_000, 40, 120, 4000, 400, 4000),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts and starts where one prompt is large."""
    full, size = BUDGETS[parameters.profile], parameters.n * parameters.d
    prompts = max(1000, int(100 * full.prompts / max(100, size)))
    starts = max(3, full.starts * 20 // max(20, parameters.d))
    return Budget(prompts, starts, full.flows, full.contexts, full.spectra, full.steps)


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


def laws(parameters: Parameters) -> tuple[PromptLaw, PromptLaw, PromptLaw]:
    """The isotropic, the skewed and the singular law of chapters 4 and 5, drawn from the seed's streams 1 and 2."""
    skewed, singular = skewed_law(parameters, parameters.stream(1)), singular_law(parameters, parameters.stream(2))
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


def random_point(law: PromptLaw, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A (beta, Gamma) off the minimum: beta_star + N(0, I), Gamma* + N(0, 1/(4d)) in every entry."""
    beta = law.beta_star + rng.standard_normal(law.d)
    return beta, gd_beta.optimal_gamma(law) + rng.standard_normal((law.d, law.d)) / np.sqrt(4 * law.d)


def measured_risk(law: PromptLaw, beta, Gamma, prompts: int, rng: np.random.Generator) -> Estimate:
    """The risk of GD-β on random prompts; the query and its noise are integrated out."""
    return _mean(law, prompts, rng, lambda batch: _loss(law, batch, linear.gd_beta(batch.X, batch.y, beta, Gamma)))


def measured_bayes_risk(law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """The risk of ridge regression centred at beta_star on random prompts."""
    return _mean(law, prompts, rng, lambda batch: _loss(law, batch, linear.bayes(batch.X, batch.y, law)))


def measured_ratio(law: PromptLaw, expected: float, prompts: int, rng: np.random.Generator) -> Estimate:
    """Risk of the optimal GD-β over the Bayes risk on the same prompts; delta method's error at `expected`."""
    Gamma = gd_beta.optimal_gamma(law)

    def both(batch):
        step = _loss(law, batch, linear.gd_beta(batch.X, batch.y, law.beta_star, Gamma))
        bayes = _loss(law, batch, linear.bayes(batch.X, batch.y, law))
        return np.stack([step, bayes, step - expected * bayes], axis=1)

    found = _mean(law, prompts, rng, both)
    return Estimate(float(found.mean[0] / found.mean[1]), float(found.stderr[2] / found.mean[1]), prompts)


def _loss(law, batch, estimate):
    error = estimate - batch.beta
    return law.sigma2 + np.einsum("bi,ij,bj->b", error, law.H, error)


def _mean(law, prompts, rng, statistic) -> Estimate:
    return monte_carlo(lambda B: statistic(law.sample(rng, B)), prompts, chunk=max(100, 2_000_000 // (law.n * law.d)))


@dataclass(frozen=True)
class Ends:
    """Where L-BFGS stopped from K random starts: risks (K,), beta (K, d), Gamma (K, d, d)."""

    risks: np.ndarray
    beta: np.ndarray
    Gamma: np.ndarray


def minimisers(law: PromptLaw, count: int, rng: np.random.Generator, *, around: np.ndarray | float = 0.0) -> Ends:
    """Minimise the exact risk (Gaussian moments) over beta and Gamma from N(0, 1) entries, beta's `around` a point."""
    found = []
    for _ in range(count):
        model = GDBeta(around + rng.standard_normal(law.d), rng.standard_normal((law.d, law.d)))
        loss = minimise_exactly(model, law).loss
        found.append((loss, model.beta.detach().numpy(), model.Gamma.detach().numpy()))
    return Ends(*map(np.stack, zip(*found, strict=True)))


def prediction_spread(law: PromptLaw, ends: Ends, rng: np.random.Generator, *, prompts: int = 256) -> float:
    """Largest difference between the predictions of found minimisers and of the formula's, relative to the largest."""
    batch = law.sample(rng, prompts)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    formula = GDBeta(law.beta_star, gd_beta.optimal_gamma(law))(X, y, x).detach().numpy()
    found = [GDBeta(*point)(X, y, x).detach().numpy() for point in zip(ends.beta, ends.Gamma, strict=True)]
    return float(np.abs(np.stack(found) - formula).max() / np.abs(formula).max())


def parameter_spread(ends: Ends) -> float:
    """Largest distance between the Gammas of two starts, over the largest Gamma: not small where H is singular."""
    apart = ends.Gamma[:, None] - ends.Gamma[None]
    size = lambda Gamma: np.linalg.norm(Gamma, axis=(-2, -1)).max()
    return float(size(apart) / size(ends.Gamma))
