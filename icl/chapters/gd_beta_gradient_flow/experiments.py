"""Chapter 5: averages over random prompts, and how the minimisers of GD-β's risk differ."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.linalg import block_diag, orth

from icl.chapters.gd_beta_gradient_flow import flow
from icl.estimates import Estimate, joint_monte_carlo, monte_carlo
from icl.models.gd_beta_model import GDBeta
from icl.models.risk_gradient import RiskGradient
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.search import GDBetaEnds, gd_beta_minimisers, units
from icl.theory import gd_beta, gradient_flow


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    starts: int  # L-BFGS starts
    flows: int  # starts of the gradient flow
    contexts: int  # draws of X, with all else integrated out
    spectra: int  # random problems for the sandwich
    steps: int  # of gradient descent and Adam


LEADING = 1000  # iterations of L-BFGS before Newton's method, which finds the bottom from after 200, and not from 100
BUDGETS = {
    "quick": Budget(200_000, 10, 24, 120, 60, 400),
    "standard": Budget(2_000_000, 20, 60, 1000, 200, 1000),
    "paper": Budget(20_000_000, 40, 120, 4000, 400, 4000),
    "claims": Budget(20_000, 3, 4, 30, 20, 200),
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


def over_prompts(law: PromptLaw, statistic, count: int, rng: np.random.Generator) -> Estimate:
    """Mean and standard error of `statistic(prompts)`, (B,), over `count` random prompts, drawn in chunks."""
    return monte_carlo(lambda B: statistic(law.sample(rng, B)), count, chunk=_chunk(law))


def measured_ratio(law: PromptLaw, above, below, count: int, rng: np.random.Generator) -> Estimate:
    """Ratio of the risks of two estimators of the task, functions of the prompts, on the same prompts."""

    def both(prompts):
        off = np.stack([above(prompts), below(prompts)], axis=1) - prompts.beta[:, None]
        return law.sigma2 + np.einsum("bki,ij,bkj->bk", off, law.H, off)

    found = joint_monte_carlo(lambda B: both(law.sample(rng, B)), count, chunk=_chunk(law))
    top, bottom = found.mean
    return found.function(top / bottom, [1 / bottom, -top / bottom**2])


def minimisers(law: PromptLaw, count: int, rng: np.random.Generator) -> GDBetaEnds:
    """Ends of L-BFGS over beta and Gamma from N(0, 1) entries, labels in the `units` of the law, then `settled`.

    From such entries a large mean task is far away, in a valley |beta_star|² times as steep across as along; in those
    units beta alone is divided by theirs. What H does not see of beta stays as it was drawn: the rounding of H's zeros,
    times its square, would be a risk.
    """
    (labels, _), seen = units(law), orth(law.H)
    ends = gd_beta_minimisers(law.with_labels_scaled(1 / labels), count, rng, iterations=LEADING)
    return settled(law, replace(ends, beta=ends.beta + (labels - 1) * ends.beta @ seen @ seen.T))


def settled(law: PromptLaw, ends: GDBetaEnds) -> GDBetaEnds:
    """Ends of L-BFGS, taken on to where the risk's gradient is 0 to the last digit.

    Under much noise Gamma is small, and so is all that it takes off the risk: the risk's rounding hides Gamma's digits,
    the gradient shows them. Newton's method, for as long as its decrement falls, on what H sees of beta and Gamma: the
    rest changes no prediction, and keeps still.
    """
    d, seen = law.d, orth(law.H)
    basis = block_diag(seen, np.kron(seen, seen))  # of (beta, Gamma row by row)
    slope, risk = flow.block_slope(law), RiskGradient(law)

    def at_rest(beta, Gamma):
        best, vector, least = None, np.r_[beta, Gamma.ravel()], np.inf
        while True:
            point = vector[:d], vector[d:].reshape(d, d)
            gradient = basis.T @ np.r_[*map(np.ravel, slope(*point))]
            step = np.linalg.solve(basis.T @ gradient_flow.hessian(law, *point) @ basis, gradient)
            if not 0 <= gradient @ step < least:
                return point if best is None else best
            best, least, vector = point, gradient @ step, vector - basis @ step

    points = [at_rest(*point) for point in zip(ends.beta, ends.Gamma, strict=True)]
    risks = [risk.constant + risk.of_model(GDBeta(*point))[0] for point in points]
    return GDBetaEnds(np.array(risks), *map(np.stack, zip(*points, strict=True)))


def _chunk(law):
    return max(100, 2_000_000 // (law.n * law.d))


def prediction_spread(
    law: PromptLaw, ends: GDBetaEnds, Gamma: np.ndarray, rng: np.random.Generator, *, prompts: int = 256
) -> float:
    """Largest difference between the predictions of found minimisers and of (beta_star, Gamma), over the largest."""
    batch = law.sample(rng, prompts)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    formula = GDBeta(law.beta_star, Gamma)(X, y, x).detach().numpy()
    found = [GDBeta(*point)(X, y, x).detach().numpy() for point in zip(ends.beta, ends.Gamma, strict=True)]
    return float(np.abs(np.stack(found) - formula).max() / np.abs(formula).max())


def parameter_spread(ends: GDBetaEnds) -> float:
    """Largest distance between the Gammas of two starts, over the largest Gamma: not small where H is singular."""
    apart = ends.Gamma[:, None] - ends.Gamma[None]
    size = lambda Gamma: np.linalg.norm(Gamma, axis=(-2, -1)).max()
    return float(size(apart) / size(ends.Gamma))
