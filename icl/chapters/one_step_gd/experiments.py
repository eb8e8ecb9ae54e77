"""Chapter 1's experiments: does training find one step of gradient descent, and are the lemmas right?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.effective import EffectiveParameters
from icl.models.linear_attention import LinearSelfAttention
from icl.models.multi_head import MultiHeadAttention, MultiHeadGradient
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import (
    OPEN,
    SCREENED,
    Training,
    descend_beside,
    descents,
    exact_risk,
    learned_step,
    mean_over_trainings,
    train_on_samples,
    units,
)
from icl.theory import landscape
from icl.theory import one_step_gd as theory
from icl.training import Schedule, minimise_by_hand


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
    "claims": Budget(20_000, 1, 2, Schedule(100, 0.02), 64),
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


def families_at_d1(n: int, sigma2: float, count: int, rng: np.random.Generator) -> tuple[Estimate, float]:
    """Share of random starts at d = 1 that end in the second family (c = 0), and the largest risk of those.

    The share's error is the binomial one under the prediction, ½.
    """
    ends = descents(PromptLaw.isotropic(1, n, sigma2), [dict(count=count)], rng)
    second = np.array([abs(end.v.item() * end.u.item()) > abs(end.c.item() * end.V.item()) for end in ends.weights])
    return Estimate(second.mean(), 0.5 / np.sqrt(count), count), float(ends.risks[second].max(initial=-np.inf))


def open_path_excess(sizes: list[tuple[int, int]], sigma2: float, count: int, rng: np.random.Generator) -> float:
    """The largest relative excess over the least, at each (d, n), of where `count` screened starts end (`OPEN`)."""
    worst = 0.0
    for d, n in sizes:
        ends = descents(PromptLaw.isotropic(d, n, sigma2), [dict(count=count, screened=SCREENED, **OPEN)], rng)
        worst = max(worst, float(np.abs(ends.risks / theory.minimal_risk(d, n, sigma2) - 1).max()))
    return worst


def best_of_heads(law: PromptLaw, heads: int, count: int, rng: np.random.Generator) -> float:
    """The least risk that L-BFGS finds for attention with so many heads; every other start opens a label path."""
    labels, unit = units(law)
    risk, kinds = MultiHeadGradient(law.with_labels_scaled(1 / labels), unit), ({}, OPEN)
    models = [MultiHeadAttention(law.d, heads, rng=rng, **kinds[k % 2]) for k in range(count)]
    ends = [minimise_by_hand(model, lambda model=model: risk.of_model(model)) for model in models]
    return float(labels**2 * (risk.constant + unit**2 * min(end.loss for end in ends)))


def means(
    law: PromptLaw, sides: Callable[[int], dict[str, np.ndarray]], known: dict[str, float], prompts: int
) -> dict[str, Estimate]:
    """Means of all that `sides(B)` returns by name for B prompts, arrays (B, …), but for those whose mean is `known`.

    These serve as control variates: what they explain of the others, fitted on prompts of its own, is taken off.
    """
    chunk = max(100, 2_000_000 // (law.n * law.d))
    pilot = sides(max(200, min(chunk, prompts // 10)))
    controls = lambda sample: np.stack([sample[name] - mean for name, mean in known.items()], axis=1)  # (B, k), mean 0
    flat = lambda sample: np.concatenate([sample[name].reshape(len(sample[name]), -1) for name in wanted], axis=1)
    wanted = [name for name in pilot if name not in known]
    centred = [part - part.mean(0) for part in (controls(pilot), flat(pilot))]
    slopes = np.linalg.lstsq(*centred, rcond=None)[0]  # (k, columns)

    def draw(B):
        sample = sides(B)
        return flat(sample) - controls(sample) @ slopes

    found = monte_carlo(draw, prompts, chunk=chunk)
    shapes = [pilot[name].shape[1:] for name in wanted]
    edges = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = zip(np.split(found.mean, edges), np.split(found.stderr, edges), shapes, strict=True)
    shaped = [Estimate(mean.reshape(shape)[()], error.reshape(shape)[()], prompts) for mean, error, shape in parts]
    return dict(zip(wanted, shaped, strict=True))


def farthest_entry(found: Estimate, expected: np.ndarray) -> float:
    """The largest |entry − expected| of an estimated matrix, both (d, d), in standard errors of that entry."""
    rounding = 1e-12 * np.abs(expected).max()
    return float((np.abs(found.mean - expected) / (found.stderr + rounding)).max())


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
    """L-BFGS, finished, on each law's exact risk (best of 2 screened label-path starts), along `grid`."""
    best = [(law, descents(law, [dict(count=2, screened=SCREENED, **OPEN)], rng)) for law in laws]
    risks = np.array([found.risks.min() for _, found in best])
    steps = np.array([learned_step(found.best, law.n) for law, found in best])
    return Sweep(np.asarray(grid, dtype=float), risks, steps)


def context_lengths(n: int, count: int) -> np.ndarray:
    """About `count` whole numbers from 1 to max(80, 4n), evenly spaced in logarithm, n among them."""
    spaced = np.geomspace(1, max(80, 4 * n), count).round().astype(int)
    return np.unique(np.r_[spaced, n])


def length_of_the_limit(d: int, sigma2: float) -> int | NotRun:
    """A context length at which the far valley is where its limit says, to a few per cent."""
    if not (2 <= d <= 20 and sigma2 <= 20):
        return NotRun("the limit of long contexts is measured for 2 ≤ d ≤ 20 and σ² ≤ 20")
    return round(20_000 * (d + sigma2) ** 2)


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


def far_valley(d: int, sigma2: float, rng: np.random.Generator) -> tuple[float, float | NotRun]:
    """At `length_of_the_limit`: the limit of the far valley's excess over sigma2, and where L-BFGS ends beside it."""
    n = length_of_the_limit(d, sigma2)
    if isinstance(n, NotRun):
        return np.nan, n
    return landscape.far_valley_excess(d, n), descend_from_valley(d, n, sigma2, rng) - sigma2


def best_logit_step(margins: np.ndarray) -> Estimate:
    """The eta at which the mean of log(1 + exp(−eta margin)) is flat, for margins y x'X'y of a sample, (B,)."""
    eta = brentq(lambda eta: (margins * expit(-eta * margins)).mean(), 0, 1)
    miss = expit(-eta * margins)
    curvature = (margins**2 * miss * (1 - miss)).mean()
    return Estimate(eta, float((margins * miss).std() / curvature / np.sqrt(len(margins))), len(margins))
