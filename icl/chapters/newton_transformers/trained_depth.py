"""Chapter 6's depth ladder: deep linear attention trained on fresh prompts, beside its exact risks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import roots_genlaguerre

from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.deep_attention import DeepLinearAttention
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import Sampler
from icl.training import Schedule, train


@dataclass(frozen=True)
class Budget:
    """How much a profile computes: Monte-Carlo prompts, Adam's schedule and prompts a step."""

    prompts: int
    schedule: Schedule
    batch: int


BUDGETS = {
    "quick": Budget(100_000, Schedule(400, 0.03, clip=1.0), 256),
    "standard": Budget(1_000_000, Schedule(2000, 0.03, clip=1.0), 1024),
    "paper": Budget(10_000_000, Schedule(10_000, 0.03, clip=1.0), 4096),
    "claims": Budget(10_000, Schedule(100, 0.03, clip=1.0), 64),
}
HEAVY = 0.5  # Pareto index of a tail from which on it has no variance, and a mean no standard error
# What is trained: kind, layers, shared matrices, and how the first steps grow from layer to layer.
TRAINED = (
    ("gd", 2, False, 1.0),
    ("gd", 3, False, 1.0),
    ("gd", 2, True, 1.0),
    ("gd", 3, True, 1.0),
    ("gd_plus_plus", 2, False, 1.0),
    ("gd_plus_plus", 2, False, 4.0),
    ("full", 2, False, 1.0),
)


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts where a prompt is large."""
    full = BUDGETS[parameters.profile]
    share = 100 / max(100, parameters.d * parameters.n)
    return Budget(max(2000, int(full.prompts * share)), full.schedule, max(64, int(full.batch * share**0.5)))


@dataclass(frozen=True)
class Trained:
    """One trained model: what it was allowed, and the risk it ends with on fresh prompts."""

    kind: str
    layers: int
    shared: bool
    growth: float
    risk: Estimate
    model: DeepLinearAttention


def climb(law: PromptLaw, plan: Budget, stream: Streams) -> list[Trained]:
    """Every entry of TRAINED by Adam on fresh prompts, each from a stream of its own, then tested on other prompts."""
    ends = []
    for k, (kind, layers, shared, growth) in enumerate(TRAINED):
        rng = stream("deep attention", k)
        options = dict(kind=kind, shared=shared, growth=growth)
        model = DeepLinearAttention(law.d, layers, rng=rng, scale=law.n + law.d + 1, **options)
        loss = lambda step, model=model, rng=rng: _errors(model, law, plan.batch, rng).mean()
        train(model, loss, plan.schedule, rng=rng, label=f"{kind}, {layers} layers")
        ends.append(Trained(kind, layers, shared, growth, tested(model, law, plan.prompts, rng), model))
    return ends


def best(ends: list[Trained], kind: str, layers: int, shared: bool = False) -> Trained:
    """The end of least risk among the trainings of this kind and depth."""
    found = [end for end in ends if (end.kind, end.layers, end.shared) == (kind, layers, shared)]
    return min(found, key=lambda end: end.risk.mean)


def _errors(model: DeepLinearAttention, law: PromptLaw, count: int, rng: np.random.Generator) -> torch.Tensor:
    """(answer − label)² of `count` fresh prompts with the query and its noise integrated out: |ŵ − w|² + sigma2."""
    prompts = law.sample(rng, count)
    X, y, w = map(torch.from_numpy, (prompts.X, prompts.y, prompts.beta))
    return ((model.solution(model.gram(X, y)) - w) ** 2).sum(1) + law.sigma2


def tested(model: DeepLinearAttention, law: PromptLaw, count: int, rng: np.random.Generator) -> Estimate:
    """The risk on `count` fresh prompts."""
    with torch.no_grad():
        return monte_carlo(lambda B: _errors(model, law, B, rng).numpy(), count, chunk=chunk(law))


def reliable_mean(errors: Callable[[int], np.ndarray], law: Sampler, count: int) -> Estimate | NotRun:
    """The mean of errors(B), (B,), over `count` prompts of the law; why there is none where its tail is too heavy.

    Deep steps are powers of the covariates' size: without noise a rare prompt may hold more of the risk than all that
    were drawn, and then neither the mean nor its standard error is to be relied on. What tells is the Pareto index of
    the largest errors, min(count / 5, 3 √count) of them (Vehtari, Simpson, Gelman, Yao and Gabry 2024, §3).
    """
    from scipy.stats import genpareto  # takes a second

    drawn = np.concatenate([errors(min(chunk(law), count - k)) for k in range(0, count, chunk(law))])
    largest = min(count // 5, round(3 * count**0.5))
    tail = np.sort(drawn)[-largest - 1 :]
    index = float(genpareto.fit(tail[1:] - tail[0], floc=0)[0])
    if index >= HEAVY:
        return NotRun(f"the largest errors of {count:,} have Pareto index {index:.2f}: from {HEAVY} on, no variance")
    return monte_carlo(lambda B: drawn, count, chunk=count)


def chunk(law: Sampler) -> int:
    """Prompts to hold at once."""
    return max(50, min(5000, 1_000_000 // (law.n * max(law.n, law.d))))


def nonlinear_risk(law: Sampler, plan: Budget, rng: np.random.Generator, *, layers: int = 3) -> Estimate:
    """Risk of deep attention, every entry free, trained on prompts of a law whose targets need not be linear."""
    model = DeepLinearAttention(law.d, layers, rng=rng, scale=law.n + law.d + 1, kind="full")

    def errors(B):
        prompts = law.sample(rng, B)
        X, y, x, target = map(torch.from_numpy, (prompts.X, prompts.y, prompts.x_query, prompts.y_query))
        return ((model.solution(model.gram(X, y)) * x).sum(1) - target) ** 2

    loss = lambda step: errors(plan.batch).mean()
    train(model, loss, plan.schedule, rng=rng, label=f"{layers} layers, nonlinear targets")
    with torch.no_grad():
        return monte_carlo(lambda B: errors(B).numpy(), plan.prompts, chunk=chunk(law))


# One eigenvalue, chi-squared with three degrees of freedom, and noise as large as the signal: three free steps want two
# complex ones. Sizes of this experiment only.
COMPLEX = dict(d=1, n=3, sigma2=1.0)


def complex_case_risk() -> float:
    """The least risk of three free steps at COMPLEX, by Nelder and Mead on Gauss–Laguerre sums against chi-squared."""
    sigma2, n = COMPLEX["sigma2"], COMPLEX["n"]
    nodes, shares, total = roots_genlaguerre(8, n / 2 - 1, mu=True)  # exact for polynomials up to degree 15
    lam, shares = 2 * nodes, shares / total

    def risk(steps):
        rho = np.prod(1 - np.outer(steps, lam), axis=0)
        return sigma2 + shares @ (rho**2 + sigma2 * (1 - rho) ** 2 / lam)

    found = minimize(risk, [0.06, 0.15, 0.2], method="Nelder-Mead", options=dict(xatol=1e-7, fatol=1e-11, maxiter=300))
    return float(found.fun)
