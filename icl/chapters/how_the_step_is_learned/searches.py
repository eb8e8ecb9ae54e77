"""Chapter 8: checks that need no flow: random prompts, automatic slopes, low rank, resting points."""

import numpy as np
import torch
from scipy.optimize import least_squares, minimize

from icl.chapters.how_the_step_is_learned.experiments import Joined, Parts, Velocity, unit
from icl.estimates import Estimate, monte_carlo
from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta_model import effective
from icl.prompts import PromptLaw


def over_prompts(law: PromptLaw, guess, count: int, rng: np.random.Generator) -> Estimate:
    """The risk of guess(X (B, n, d), y (B, n), x (B, d)) over random prompts, for guesses linear in the query x.

    The guesses at the d unit vectors are the estimate of the task; what a new query makes of its error is known.
    """

    def costs(B):
        prompts = law.sample(rng, B)
        units = np.eye(law.d)[:, None] * np.ones((B, 1))
        off = np.stack([guess(prompts.X, prompts.y, x) for x in units], axis=1) - prompts.beta
        return law.sigma2 + np.einsum("bi,ij,bj->b", off, law.H, off)

    return monte_carlo(costs, count, chunk=max(100, 1_000_000 // (law.n * law.d)))


def off_slope(velocity: Velocity, law: PromptLaw, parts: Parts) -> float:
    """Largest distance of velocities of v (m,), Q and K (m, R, d) from minus half the risk's slope, over the largest.

    The slope is automatic differentiation's, of `ExactRisk`.
    """
    v, Q, K = leaves = [torch.from_numpy(np.array(part)).requires_grad_() for part in parts]
    Gamma = torch.einsum("m,mri,mrj->ij", v, Q, K)
    risk = ExactRisk(law)(effective(torch.zeros(law.d, dtype=torch.float64), Gamma))
    slopes = [-part.numpy() / 2 for part in torch.autograd.grad(risk, leaves)]
    largest = max(np.abs(part).max() for part in slopes)
    return max(float(np.abs(a - b).max() / largest) for a, b in zip(velocity(*parts), slopes, strict=True))


def least_of_rank(risk, d: int, rank: int, restarts: int, rng: np.random.Generator, unit: float) -> float:
    """The least risk(Gamma) over Gamma = unit A'B, A and B (rank, d), that L-BFGS finds; `risk` gives value and slope.

    unit : about as large as entries of the best Gamma are; from starts that are not of its size L-BFGS takes twenty
    times as long, and ends before the bottom.
    """
    of_zero = risk(np.zeros((d, d)))[0]

    def at(entries):
        A, B = entries.reshape(2, rank, d)
        value, slope = risk(unit * A.T @ B)
        return (value - of_zero) / unit, np.concatenate([(B @ slope.T).ravel(), (A @ slope).ravel()])

    options = dict(maxiter=5000, maxfun=20_000, ftol=0.0, gtol=1e-12, maxcor=30)
    starts = rng.standard_normal((restarts, 2 * rank * d))
    found = min(minimize(at, start, jac=True, method="L-BFGS-B", options=options).fun for start in starts)
    return of_zero + unit * found


def resting_points(velocity: Velocity, law: PromptLaw, count: int, rng: np.random.Generator) -> list[Parts]:
    """Points where the velocity of d rank-one heads vanishes, found by least squares from `count` random starts.

    Starts are of the size of the ends; some heads are begun at 0, so that points with few heads are found too. Kept is
    where the velocity is below 1e-12 of its size at the start.
    """
    d, alpha, found = law.d, unit(law), []
    heads = np.zeros(d), *np.zeros((2, d, 1, d))
    joined = Joined(heads)
    field = lambda state: joined.speeds(velocity, state)
    derivative = lambda state: joined.jacobian(velocity, state)
    for k in range(count):
        alive = (rng.permutation(d) <= k % d).astype(float)
        start = np.concatenate([
            alpha * alive * rng.standard_normal(d), *(alpha * np.repeat(alive, d) * rng.standard_normal((2, d * d)))
        ])  # fmt: skip
        end = least_squares(field, start, jac=derivative, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300)
        if np.abs(end.fun).max() <= 1e-12 * np.abs(field(start)).max():
            found.append(joined.split(end.x))
    return found
