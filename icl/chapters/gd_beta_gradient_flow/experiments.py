"""Chapter 5: the risk of GD-β on prompts, and how its minimisers differ."""

from dataclasses import dataclass

import numpy as np
import torch

from icl.estimates import Estimate, monte_carlo
from icl.models.gd_beta_model import GDBeta
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.search import GDBetaEnds
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


def prediction_spread(law: PromptLaw, ends: GDBetaEnds, rng: np.random.Generator, *, prompts: int = 256) -> float:
    """Largest difference between the predictions of found minimisers and of the formula's, relative to the largest."""
    batch = law.sample(rng, prompts)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    formula = GDBeta(law.beta_star, gd_beta.optimal_gamma(law))(X, y, x).detach().numpy()
    found = [GDBeta(*point)(X, y, x).detach().numpy() for point in zip(ends.beta, ends.Gamma, strict=True)]
    return float(np.abs(np.stack(found) - formula).max() / np.abs(formula).max())


def parameter_spread(ends: GDBetaEnds) -> float:
    """Largest distance between the Gammas of two starts, over the largest Gamma: not small where H is singular."""
    apart = ends.Gamma[:, None] - ends.Gamma[None]
    size = lambda Gamma: np.linalg.norm(Gamma, axis=(-2, -1)).max()
    return float(size(apart) / size(ends.Gamma))
