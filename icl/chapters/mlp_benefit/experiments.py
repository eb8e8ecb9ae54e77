"""Chapter 4: linear attention with and without the MLP, by L-BFGS on the exact loss and by training on samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from icl.constructions.gd_beta_block import gd_beta_block
from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.effective import EffectiveParameters
from icl.models.gd_beta_model import GDBeta
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.models.multi_head import MultiHeadAttention, MultiHeadRisk
from icl.parallel import each
from icl.parameters import Parameters
from icl.prompts import PromptLaw, token_matrix
from icl.randomness import Streams
from icl.search import Builder, Restarts, Training, descents, exact_risk, train_exactly, train_on_samples
from icl.theory import gd_beta, moments
from icl.theory import mlp_benefit as theory
from icl.training import Schedule, minimise

STARTS = dict(scale=0.1), dict(scale=0.3, iterations=600), dict(init="label_path")
SCREENED = 4  # cheap starts for each one that is followed to the bottom
ONE_HIDDEN_UNIT = partial(LinearTransformerBlock, width=1)


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    restarts: int  # L-BFGS starts of each kind
    problems: int  # random problems for the bounds
    landscape: int  # L-BFGS starts at each initial scale
    trainings: int  # independent trainings on samples
    schedule: Schedule
    batch: int


BUDGETS = {
    "quick": Budget(200_000, 2, 80, 16, 3, Schedule(1000, 0.02, clip=1.0), 256),
    "standard": Budget(1_000_000, 4, 200, 40, 4, Schedule(3000, 0.02, clip=1.0), 1024),
    "paper": Budget(20_000_000, 20, 1000, 200, 8, Schedule(20_000, 0.02, clip=1.0), 4096),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts and starts where one of them is large."""
    full, size = BUDGETS[parameters.profile], parameters.n * parameters.d
    prompts = max(1000, int(100 * full.prompts / max(100, size)))
    starts = max(1, full.restarts * 10 // max(10, parameters.d))
    return Budget(prompts, starts, full.problems, full.landscape, full.trainings, full.schedule, full.batch)


def descend(law: PromptLaw, count: int, rng: np.random.Generator, build: Builder) -> Restarts:
    """L-BFGS over all weight matrices, then Newton: `count` ends for each of STARTS, SCREENED times as many screened.

    Both risks have false valleys, and which starts avoid them depends on the law; hence several kinds of start.
    """
    found = [descents(law, count, rng, build=build, screened=SCREENED, **kind) for kind in STARTS]
    return Restarts(np.concatenate([ends.risks for ends in found]), [end for ends in found for end in ends.weights])


def measured_gap(law: PromptLaw, count: int, rng: np.random.Generator) -> float:
    """Least risk of attention minus least risk of the block, both by `descend`."""
    attention = descend(law, count, rng, LinearSelfAttention).risks.min()
    return float(attention - descend(law, count, rng, LinearTransformerBlock).risks.min())


def measured_gaps(problems: Sequence[tuple[PromptLaw, int, np.random.Generator]]) -> list[float]:
    """`measured_gap` of each (law, count, generator), side by side."""
    return each(measured_gap, problems, label="gaps by L-BFGS")


def gaps_at_lengths(parameters: Parameters, lengths: list[int], stream: Streams) -> np.ndarray:
    """Gaps found by L-BFGS in units of the lower bound, at |beta*| = 1 and 10.

    The rows of the result, (2 len(lengths), 3), are (|beta*|, n, value).
    """
    d, sigma2 = parameters.d, parameters.sigma2
    points = [(size, n, law_with_mean(d, n, sigma2, size)) for n in lengths for size in (1.0, 10.0)]
    found = measured_gaps([(law, 1, stream("gap at a length", k)) for k, (*_, law) in enumerate(points)])
    return np.array(
        [(size, n, gap / theory.lower_bound(law)) for (size, n, law), gap in zip(points, found, strict=True)]
    )


def unrestricted_sphere(law: PromptLaw) -> float:
    """What the sphere formula would give for singular H if nu were not confined to the range of H: too low a risk."""
    root_H, _ = law.roots
    whitened = PromptLaw(law.n, np.eye(law.d), moments.phi(law), root_H @ law.beta_star, law.sigma2)
    return theory.lsa_minimum(whitened).risk


def law_with_mean(d: int, n: int, sigma2: float, size: float) -> PromptLaw:
    """H = Psi = I and |beta_star| = size, along (1, …, 1)."""
    return PromptLaw.isotropic(d, n, sigma2, np.full(d, size / np.sqrt(d)))


def sharp_law(n: int) -> PromptLaw:
    """d = 1, sigma2 = 1, |beta_star| = 1/100 and Psi = |beta_star| sigma / (n+1): the lower bound, almost attained."""
    size = 1e-2
    return PromptLaw(n, np.eye(1), np.array([[size / (n + 1)]]), np.array([size]), 1.0)


def random_ratios(count: int, rng: np.random.Generator) -> np.ndarray:
    """gap · (n+1) / |beta_star|²_H, exact, on random problems, (count,): d ≤ 4, n < 40, every third one singular."""
    laws = []
    for k in range(count):
        d, n = int(rng.integers(1, 5)), int(rng.integers(1, 40))
        H, Psi = (_random_covariance(d, rng) for _ in range(2))
        if k % 3 == 0 and d > 1:
            keep = np.diag(np.r_[0.0, np.ones(d - 1)])
            H, Psi = (H, keep @ Psi @ keep) if k % 2 else (keep @ H @ keep, Psi)
        mean = rng.standard_normal(d)
        mean *= np.exp(rng.normal()) / np.sqrt(mean @ H @ mean)
        laws.append(PromptLaw(n, H, Psi, mean, float(np.exp(2 * rng.standard_normal()))))
    gaps = each(theory.gap, [(law,) for law in laws])
    return np.array([gap / theory.lower_bound(law) for gap, law in zip(gaps, laws, strict=True)])


def _random_covariance(d: int, rng) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    matrix = (Q * np.exp(1.5 * rng.standard_normal(d))) @ Q.T
    return (matrix + matrix.T) / 2


def construction_error(law: PromptLaw, rng: np.random.Generator, *, prompts: int = 256) -> float:
    """Largest |block − GD-β| over random prompts, relative; random beta, Gamma and free entries of the weights."""
    d, batch = law.d, law.sample(rng, prompts)
    beta, Gamma = rng.standard_normal(d), rng.standard_normal((d, d))
    block = gd_beta_block(beta, Gamma, free_query=rng.standard_normal(d), free_row=rng.standard_normal(d + 1))
    forward = block(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))).detach().numpy()
    X, y, x_query = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    step = GDBeta(beta, Gamma)(X, y, x_query).detach().numpy()
    return float(np.abs(forward - step).max() / np.abs(step).max())


def constructed_risk(law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """Risk on random prompts of the block built from beta_star and Gamma*, by full forward passes."""
    block = gd_beta_block(law.beta_star, gd_beta.optimal_gamma(law))

    def draw(B):
        batch = law.sample(rng, B)
        forward = block(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))).detach().numpy()
        return (forward - batch.y_query) ** 2

    return monte_carlo(draw, prompts, chunk=max(100, 1_000_000 // (law.n * law.d)))


def violation(law: PromptLaw, weights: EffectiveParameters) -> float:
    """How far weights are from Theorem 5.3's conditions, relative: the largest of the four.

    Hu = 0, H(v + c beta_star) = 0, H(w1 − beta_star) = 0, H(cV' − Gamma*)H = 0; measured in the scale in which c = 1.
    """
    H, beta_star, part, size = law.H, law.beta_star, weights.numpy(), np.linalg.norm
    c, mean = float(part["c"]), max(1.0, size(H @ beta_star))
    target = H @ gd_beta.optimal_gamma(law) @ H
    return float(
        max(
            size(c * H @ part["u"]) / size(target),
            size(H @ (part["v"] + c * beta_star)) / (abs(c) * mean),
            size(H @ (part["w1"] - beta_star)) / mean,
            size(c * H @ part["V"].T @ H - target) / size(target),
        )
    )


def largest_violation(law: PromptLaw, ends: Restarts) -> float | NotRun:
    """The largest `violation` among the ends that reached the least risk; infinite if none did.

    `NotRun` where H Psi has rank one, which theorem 5.3 leaves out.
    """
    if np.linalg.matrix_rank(moments.phi(law), hermitian=True) < 2:
        return NotRun("HΨ has rank one at d = 1, where the theorem does not apply")
    reached = np.flatnonzero(ends.reached(theory.ltb_minimal_risk(law)))
    return max((violation(law, ends.weights[k]) for k in reached), default=np.inf)


def random_minimiser(law: PromptLaw, rng: np.random.Generator) -> EffectiveParameters:
    """A draw from the set of Theorem 5.3: any c ≠ 0, and anything that H cannot see."""
    d, Pi = law.d, gd_beta.range_projector(law)
    unseen, c = np.eye(d) - Pi, float(rng.choice([-1, 1]) * np.exp(rng.normal()))
    free = rng.standard_normal((d, d))
    u, start, value = (unseen @ rng.standard_normal(d) for _ in range(3))
    V = (gd_beta.optimal_gamma(law) + free - Pi @ free @ Pi).T / c
    return EffectiveParameters.from_numpy(law.beta_star + start, value - c * law.beta_star, c, V, u)


def largest_excess(law: PromptLaw, count: int, rng: np.random.Generator) -> float:
    """Largest |risk / least risk − 1| over `count` draws of `random_minimiser`, on the exact loss."""
    floor = theory.ltb_minimal_risk(law)
    return max(abs(exact_risk(law, random_minimiser(law, rng)) / floor - 1) for _ in range(count))


def rank_one_risk(law: PromptLaw) -> float:
    """Exact risk of a block with c = 0 for a law whose H Psi has rank one: Gamma* = u v', V = −beta_star u'."""
    U, s, Vt = np.linalg.svd(gd_beta.optimal_gamma(law))
    u, v = U[:, 0] * s[0], Vt[0]
    weights = EffectiveParameters.from_numpy(law.beta_star, v, 0.0, -np.outer(law.beta_star, u), u)
    return exact_risk(law, weights)


def head_gaps(law: PromptLaw, heads: list[int], count: int, rng: np.random.Generator) -> np.ndarray:
    """Gap to the block of attention with each number of heads: best of `count` starts of L-BFGS, (len(heads),)."""
    starts = [(law, K, rng.spawn(1)[0]) for K in heads for _ in range(count)]
    risks = np.reshape(each(_multi_head_risk, starts), (len(heads), count))
    return risks.min(1) - theory.ltb_minimal_risk(law)


def _multi_head_risk(law: PromptLaw, heads: int, rng: np.random.Generator) -> float:
    model, risk = MultiHeadAttention(law.d, heads, rng=rng), MultiHeadRisk(law)
    return minimise(model, lambda: risk(model)).loss


@dataclass(frozen=True)
class Trainings:
    """One architecture trained on samples several times and once on the exact loss."""

    sampled: list[Training]
    exact: Training


def trainings(law: PromptLaw, budget: Budget, stream: Streams, build: Builder, name: str) -> Trainings:
    """Adam on fresh prompts, `budget.trainings` times, and on the exact loss from the first one's start."""
    seeds = [stream.entropy(f"training of {name}", k) for k in range(budget.trainings)]
    jobs = [(law, budget.schedule, budget.batch, seed, name) for seed in seeds]
    sampled = each(partial(train_on_samples, build=build), jobs, label=f"{name} on samples")
    return Trainings(sampled, train_exactly(law, budget.schedule, seeds[0], f"{name}, exact loss", build=build))
