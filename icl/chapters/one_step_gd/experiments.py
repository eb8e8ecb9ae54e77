"""Chapter 1's experiments: does training find one step of gradient descent, and are the lemmas right?"""

from dataclasses import dataclass

import numpy as np
import torch

from icl.constructions.one_step_gd import one_step_gd
from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.effective import EffectiveParameters
from icl.models.linear_attention import LinearSelfAttention
from icl.parameters import Parameters
from icl.prompts import PromptLaw, token_matrix
from icl.randomness import Streams
from icl.search import (
    Training,
    descend_beside,
    descents,
    exact_risk,
    learned_step,
    mean_over_trainings,
    restarts,
    train_on_samples,
)
from icl.solvers.linear import gradient_step, ridge
from icl.theory import landscape
from icl.theory import one_step_gd as theory
from icl.training import Schedule


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    restarts: int  # L-BFGS starts
    trainings: int  # independent trainings on samples
    schedule: Schedule
    batch: int


BUDGETS = {
    "quick": Budget(200_000, 12, 4, Schedule(1000, 0.02), 512),
    "standard": Budget(2_000_000, 40, 8, Schedule(6000, 0.02), 2048),
    "paper": Budget(20_000_000, 100, 16, Schedule(20_000, 0.02), 4096),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts where one prompt is large (their standard errors then grow)."""
    full = BUDGETS[parameters.profile]
    affordable = int(100 * full.prompts / max(100, parameters.n * parameters.d))
    return Budget(max(2000, affordable), full.restarts, full.trainings, full.schedule, full.batch)


def distance_from_family(weights: EffectiveParameters, d: int, n: int, sigma2: float) -> float:
    """Relative distance from {v = u = 0, cV = n eta* I}; at d = 1 from the nearer of the two families.

    Measured on products that the scaling (v, c) → s (v, c), (V, u) → (V, u)/s leaves alone.
    """
    parts, target = weights.numpy(), n * theory.step_size(d, n, sigma2)
    v, c, V, u = parts["v"], parts["c"], parts["V"], parts["u"]
    size = np.linalg.norm
    off = max(size(v) * size(V), abs(c) * size(u), size(v) * size(u))
    first = max(off, size(c * V - target * np.eye(d)))
    if d > 1:
        return float(first / target)
    off = max(size(v) * size(V), abs(c) * size(u), abs(c) * size(V))
    return float(min(first, max(off, abs(float(v @ u) - target))) / target)


def families_at_d1(n: int, sigma2: float, count: int, rng: np.random.Generator) -> Estimate:
    """Share of random starts at d = 1 that end in the second family (c = 0), with its binomial error."""
    ends = restarts(PromptLaw.isotropic(1, n, sigma2), count, rng)
    second = np.array([abs(end.v.item() * end.u.item()) > abs(end.c.item() * end.V.item()) for end in ends.weights])
    return Estimate(second.mean(), 0.5 / np.sqrt(count), count)  # the error under the prediction, ½


def construction_error(law: PromptLaw, eta: float, rng: np.random.Generator, *, prompts: int = 256) -> float:
    """Largest |full forward pass − one GD step| over random prompts, relative to the largest prediction."""
    batch = law.sample(rng, prompts)
    forward = one_step_gd(law.d, eta)(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query)))
    step = (gradient_step(batch.X, batch.y, eta) * batch.x_query).sum(1)
    return float(np.abs(forward.detach().numpy() - step).max() / np.abs(step).max())


def step_ratio(law: PromptLaw, eta: float, rng: np.random.Generator, *, prompts: int = 64) -> float:
    """eta over the step that makes GD on Σ (w'x_i − y_i)², no ½, equal to the constructed model.

    The gradient at w = 0 comes from autograd, the step from least squares over the prompts.
    """
    batch = law.sample(rng, prompts)
    X, y = torch.from_numpy(batch.X), torch.from_numpy(batch.y)
    w = torch.zeros(prompts, law.d, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(((torch.einsum("bnd,bd->bn", X, w) - y) ** 2).sum(), w)
    descent = -(gradient.numpy() * batch.x_query).sum(1)
    forward = one_step_gd(law.d, eta)(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query)))
    step = descent @ forward.detach().numpy() / (descent @ descent)
    return float(eta / step)


@dataclass(frozen=True)
class LemmaEstimates:
    """Monte-Carlo estimates of the constants of Lemmas 1-4 and of the Bayes risk."""

    lemma1: Estimate
    lemma2: Estimate
    c1: Estimate
    c2: Estimate
    bayes: Estimate


def lemma_estimates(law: PromptLaw, prompts: int, rng: np.random.Generator) -> LemmaEstimates:
    """All five from the same prompts; Lemmas 1 and 2 at one draw of random weights (A, w)."""
    d, n, sigma2 = law.d, law.n, law.sigma2
    A, w = (rng.standard_normal(shape) / np.sqrt(2 * n * d) for shape in ((d, d + 1), d + 1))
    eta = theory.step_size(d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        Z = np.concatenate([batch.X, batch.y[..., None]], axis=2)  # rows z_i = (x_i, y_i)
        attention = np.einsum("bni,bn->bi", Z, Z @ w) @ A.T  # A G_D w
        moment = gradient_step(batch.X, batch.y, 1.0)
        bayes = ridge(batch.X, batch.y, sigma2)
        loss = ((attention - batch.beta) ** 2).sum(1) + sigma2  # query and its noise integrated out
        to_bayes = ((attention - bayes) ** 2).sum(1)
        to_step = ((attention - eta * moment) ** 2).sum(1)
        return np.stack(
            [
                loss - to_bayes,  # Lemma 1
                to_bayes - to_step,  # Lemma 2
                (moment**2).sum(1) / d,  # Lemma 3
                (moment * bayes).sum(1) / d,  # Lemma 4
                ((bayes - batch.beta) ** 2).sum(1) + sigma2,  # query and its noise integrated out
            ],
            axis=1,
        )

    result = monte_carlo(draw, prompts, chunk=max(100, 2_000_000 // (n * d)))
    parts = zip(result.mean, result.stderr, strict=True)
    return LemmaEstimates(*(Estimate(float(mean), float(error), prompts) for mean, error in parts))


def trainings(law: PromptLaw, budget: Budget, count: int, stream: Streams) -> list[Training]:
    """`count` independent trainings on samples; run k at context length n has the stream ("training", n, k)."""
    seeds = [stream.entropy("training", law.n, k) for k in range(count)]
    return [
        train_on_samples(law, budget.schedule, budget.batch, seed, f"n = {law.n}, run {k} of {count}")
        for k, seed in enumerate(seeds, 1)
    ]


def sampled_risks(parameters: Parameters, lengths: list[int], stream: Streams) -> dict[int, Estimate]:
    """Mean exact risk of two trainings on samples at each context length."""
    risks = {}
    for n in lengths:
        law = PromptLaw.isotropic(parameters.d, n, parameters.sigma2)
        runs = trainings(law, budget(parameters), 2, stream)
        risks[n] = mean_over_trainings([exact_risk(law, run.weights) for run in runs])
    return risks


@dataclass(frozen=True)
class Sweep:
    """What exact training finds along a grid: best risks and learned steps, each (len(grid),)."""

    grid: np.ndarray
    risks: np.ndarray
    steps: np.ndarray


def sweep(laws: list[PromptLaw], grid, rng: np.random.Generator) -> Sweep:
    """L-BFGS, finished, on each law's exact risk (2 label-path starts; the best counts), `grid` being the abscissa."""
    best = [(law, descents(law, 2, rng, scale=0.1, init="label_path")) for law in laws]
    risks = np.array([found.risks.min() for _, found in best])
    steps = np.array([learned_step(found.best, law.n) for law, found in best])
    return Sweep(np.asarray(grid, dtype=float), risks, steps)


def context_lengths(n: int, count: int) -> np.ndarray:
    """About `count` whole numbers from 1 to max(80, 4n), evenly spaced in logarithm, n among them."""
    spaced = np.geomspace(1, max(80, 4 * n), count).round().astype(int)
    return np.unique(np.r_[spaced, n])


def descend_from_valley(d: int, n: int, sigma2: float, rng: np.random.Generator) -> float | NotRun:
    """L-BFGS over all weights from just beside the profile's second valley: the risk where it ends.

    `NotRun` where there is no second valley. The start is the valley's weights with every entry of the factors moved
    by 1e-3 · N(0, 1).
    """
    found = landscape.valleys(d, n, sigma2)
    if len(found) < 2:
        return NotRun(f"at this n and σ² there is no second valley at d = {d}")
    v, c, V, u = landscape.weights_at(found[-1].angle, d, n, sigma2)
    model = LinearSelfAttention(d, rng=rng, scale=1e-3)
    return descend_beside(model, dict(v=v, c=c, V=V, u=u), PromptLaw.isotropic(d, n, sigma2))
