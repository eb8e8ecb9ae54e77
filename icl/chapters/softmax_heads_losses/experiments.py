"""Chapter 9's experiments on random prompts: whole forward passes beside the closed forms."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from icl.chapters.one_step_gd.experiments import best_of_heads
from icl.estimates import Estimate, NotRun, joint_monte_carlo, monte_carlo
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import mean_over_trainings
from icl.targets import FAMILIES, TargetLaw
from icl.theory import causal_stack, one_step_gd

Answer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # (B, n, d), (B, n), (B, d) → (B,)
QUERIES = 4  # of a prompt that has several
BATCHES = 16  # for standard errors of what has no formula for them


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    fitted: int  # prompts that softmax heads are fitted to
    iterations: int  # of those fits
    deep: int  # prompts that a deep stack is fitted to
    losses: int = 400_000  # prompts on which steps are best for another loss


BUDGETS = {
    "quick": Budget(200_000, 8000, 90, 20_000),
    "standard": Budget(2_000_000, 60_000, 200, 100_000),
    "paper": Budget(10_000_000, 300_000, 400, 400_000),
    "claims": Budget(20_000, 2000, 40, 4000, losses=40_000),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer Monte-Carlo prompts where one prompt is large (their errors then grow)."""
    full = BUDGETS[parameters.profile]
    affordable = max(2000, int(100 * full.prompts / max(100, parameters.n * parameters.d)))
    return replace(full, prompts=affordable)


def risk_of(law: PromptLaw, answer: Answer, prompts: int, rng: np.random.Generator) -> Estimate:
    """E (answer − y_query)² over whole prompts from an isotropic `law`, labels and noise drawn.

    The squared error of Theorem 1's step on the same prompts, whose mean is known, is a control variate: what it
    explains, fitted on prompts of its own, is taken off.
    """
    eta = one_step_gd.step_size(law.d, law.n, law.sigma2)
    known = one_step_gd.minimal_risk(law.d, law.n, law.sigma2)

    def pair(B):
        batch = law.sample(rng, B)
        step = eta * np.einsum("bnd,bn,bd->b", batch.X, batch.y, batch.x_query, optimize=True)
        errors = [(guess - batch.y_query) ** 2 for guess in (answer(batch.X, batch.y, batch.x_query), step)]
        return errors[0], errors[1] - known

    chunk = max(200, 2_000_000 // (law.n * law.d))
    first, control = pair(max(200, min(chunk, prompts // 10)))
    slope = np.cov(first, control)[0, 1] / max(control.var(ddof=1), 1e-300)

    def draw(B):
        error, control = pair(B)
        return error - slope * control

    return monte_carlo(draw, prompts, chunk=chunk)


def heads_ladder(law: PromptLaw, heads: int, starts: int, rng: np.random.Generator) -> list[float]:
    """The least risks that L-BFGS finds for 1, …, `heads` heads on the exact loss."""
    return [best_of_heads(law, k, starts, rng) for k in range(1, heads + 1)]


def regressed_step(law: PromptLaw, queries: int, prompts: int, rng: np.random.Generator) -> Estimate:
    """Attention whose sum runs over the `queries` unmasked queries too, all its coefficients free: the step it takes.

    The answer to the first query is linear in the coefficients of G_ab x_j, G the sum of hh' over examples and queries
    (x; 0): least squares, with the mean of the coefficients of G_{jy} x_j as the step. Its bias falls as one over the
    prompts: twice a batch's step less the mean of its halves' has none of that order (Quenouille 1956).
    """
    d, upper = law.d, np.triu_indices(law.d + 1)
    along = [k * d + upper[0][k] for k in range(len(upper[0])) if upper[1][k] == d and upper[0][k] < d]
    steps = []
    for _ in range(BATCHES):
        B = max(100, prompts // BATCHES)
        batch = law.sample(rng, B)
        h = np.concatenate([batch.X, batch.y[..., None]], axis=2)
        others = np.concatenate([batch.x_query[:, None], rng.standard_normal((B, queries - 1, d))], axis=1)
        G = h.mT @ h
        G[:, :d, :d] += others.mT @ others
        features = (G[:, *upper][:, :, None] * batch.x_query[:, None]).reshape(B, -1)
        halves = slice(B // 2), slice(B // 2, B)
        whole, *parts = (
            np.linalg.lstsq(features[rows], batch.y_query[rows], rcond=None)[0][along].mean()
            for rows in (slice(B), *halves)
        )
        steps.append(2 * whole - np.mean(parts))
    return mean_over_trainings(steps)


def answers_to_queries(law: PromptLaw, eta: float, queries: int, prompts: int, rng: np.random.Generator) -> Estimate:
    """Mean squared error of one step `eta` over several queries of one prompt, the queries masked."""

    def draw(B):
        batch = law.sample(rng, B)
        x = rng.standard_normal((B, queries, law.d))
        y = np.einsum("bqd,bd->bq", x, batch.beta) + np.sqrt(law.sigma2) * rng.standard_normal((B, queries))
        guess = np.einsum("bqd,bd->bq", x, eta * np.einsum("bnd,bn->bd", batch.X, batch.y))
        return ((guess - y) ** 2).mean(1)

    return monte_carlo(draw, prompts, chunk=max(200, 2_000_000 // (law.n * law.d)))


def best_prefix_step(law: PromptLaw, normalised: bool, prompts: int, rng: np.random.Generator) -> Estimate:
    """One step for all prefixes of a prompt, by regression; with `normalised` the sum over j examples is a mean."""

    def draw(B):
        batch = law.sample(rng, B)
        guess = (batch.y * np.einsum("bnd,bd->bn", batch.X, batch.x_query)).cumsum(1)
        guess = guess / np.arange(1, law.n + 1) if normalised else guess
        return np.stack([(guess * batch.y_query[:, None]).mean(1), (guess**2).mean(1)], axis=1)

    return joint_monte_carlo(draw, prompts, chunk=max(200, 2_000_000 // (law.n * law.d))).vertex()


def causal_risk(law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """Risk of the causal stack's end, task and query's noise averaged: one pass of projections on random prompts."""

    def draw(B):
        batch = law.sample(rng, B)
        return law.sigma2 + ((causal_stack.projections(batch.X, batch.y) - batch.beta) ** 2).sum(1)

    return monte_carlo(draw, prompts, chunk=max(200, 2_000_000 // (law.n * law.d)))


def best_shared_steps(
    law: PromptLaw, layers: list[int], prompts: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Risk of causal and prefix stacks, (len(layers),) each, with the best of 40 shared steps, on the same prompts."""
    batch = law.sample(rng, prompts)
    steps = np.geomspace(0.05, 3.0, 40) / (law.n + law.d + 1)
    found = {}
    for name, causal in (("causal", True), ("prefix", False)):
        with np.errstate(over="ignore", invalid="ignore"):
            risks = [
                [
                    ((causal_stack.stacked(batch.X, batch.y, s, L, causal=causal) - batch.beta) ** 2).sum(1).mean()
                    for s in steps
                ]
                for L in layers
            ]
        found[name] = law.sigma2 + np.nanmin(np.nan_to_num(risks, nan=np.inf, posinf=np.inf), axis=1)
    return found


def quadratic_risk(d: int, n: int, sigma2: float, kernel: Answer, prompts: int, rng: np.random.Generator) -> Estimate:
    """Risk of an answer on targets x'Qx, whole prompts."""
    law = TargetLaw(FAMILIES["quadratic"], d, n, sigma2)

    def draw(B):
        batch = law.sample(rng, B)
        return (kernel(batch.X, batch.y, batch.x_query) - batch.y_query) ** 2

    return monte_carlo(draw, prompts, chunk=max(200, 2_000_000 // (n * d)))


def queries_and_prefixes(law: PromptLaw, ten: PromptLaw, prompts: int, stream: Streams) -> dict[str, Estimate]:
    """What is measured of several queries, masked (risk, of `law`) and not (step, of `ten`), and of all prefixes."""
    eta = one_step_gd.step_size(law.d, law.n, law.sigma2)
    return {
        "masked": answers_to_queries(law, eta, QUERIES, prompts, stream("masked")),
        "unmasked": regressed_step(ten, QUERIES, 200_000, stream("unmasked")),
        "sum": best_prefix_step(law, False, prompts, stream("prefixes, sums")),
        "mean": best_prefix_step(law, True, prompts, stream("prefixes, means")),
    }


def causal_ends(law: PromptLaw, prompts: int, stream: Streams) -> dict[str, Estimate | NotRun]:
    """Risk of the causal stack's end for `law` and for 40 d examples, where it has an error to speak of."""
    if (law.d < 5 and law.sigma2 > 0) or law.d > 22 or law.n * law.d > 20_000:
        reason = "with noise a projection's squared error has a finite variance from d = 5 on; measured to d = 22"
        return dict.fromkeys(("here", "endless"), NotRun(reason))
    endless = PromptLaw.isotropic(law.d, 40 * law.d, law.sigma2)
    return {
        "here": causal_risk(law, prompts, stream("causal end")),
        "endless": causal_risk(endless, max(2000, prompts // 10), stream("endless context")),
    }
