"""Chapter 4: linear attention with and without the MLP, by L-BFGS on the exact loss and by training on samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from icl.descent import Builder
from icl.estimates import NotRun
from icl.models.effective import EffectiveParameters
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.models.multi_head import MultiHeadAttention, MultiHeadGradient
from icl.parallel import each
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import SCREENED, Restarts, Training, descents, exact_risk, train_exactly, train_on_samples
from icl.theory import mlp_benefit as theory
from icl.theory import moments
from icl.training import Schedule, minimise_by_hand

KINDS = dict(scale=0.1), dict(scale=0.3), dict(init="label_path")
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
    "quick": Budget(400_000, 2, 40, 16, 3, Schedule(1000, 0.02, clip=1.0), 256),
    "standard": Budget(1_000_000, 4, 200, 40, 4, Schedule(3000, 0.02, clip=1.0), 1024),
    "paper": Budget(20_000_000, 20, 1000, 200, 8, Schedule(20_000, 0.02, clip=1.0), 4096),
    "claims": Budget(20_000, 1, 10, 4, 2, Schedule(100, 0.02, clip=1.0), 64),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts and starts where one of them is large."""
    full, size = BUDGETS[parameters.profile], parameters.n * parameters.d
    prompts = max(1000, int(100 * full.prompts / max(100, size)))
    starts = max(1, full.restarts * 10 // max(10, parameters.d))
    return Budget(prompts, starts, full.problems, full.landscape, full.trainings, full.schedule, full.batch)


def descend(law: PromptLaw, count: int, rng: np.random.Generator, build: Builder) -> Restarts:
    """L-BFGS over all weight matrices, then Newton: `count` ends for each of KINDS, SCREENED times as many screened.

    Both risks have false valleys, and which starts avoid them depends on the law; hence several kinds of start.
    """
    starts = [dict(count=count, screened=SCREENED, **kind) for kind in KINDS]
    return descents(law, starts, rng, build=build)


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


def gap_unwhitened(law: PromptLaw) -> float:
    """What the sphere formula gives with beta_star in place of b = H^{1/2} beta_star: a near miss."""
    return theory.gap(PromptLaw(law.n, np.eye(law.d), moments.phi(law), law.beta_star, law.sigma2))


def law_with_mean(d: int, n: int, sigma2: float, size: float) -> PromptLaw:
    """H = Psi = I and |beta_star| = size, along (1, …, 1)."""
    return PromptLaw.isotropic(d, n, sigma2, np.full(d, size / np.sqrt(d)))


def too_loud(law: PromptLaw) -> NotRun | None:
    """Why the limit of small mean tasks cannot be seen, or None: a small enough one is lost in the risk's rounding."""
    if law.sigma2 <= 2000 * (law.n + law.d + 1):
        return None
    return NotRun("under noise of more than 2,000 (n + d + 1) a gap small enough is lost in the rounding of the risks")


def sharp_law(n: int) -> PromptLaw:
    """d = 1, sigma2 = 1, |beta_star| = 1/100 and Psi = |beta_star| sigma / (n+1): the lower bound, almost attained."""
    size = 1e-2
    return PromptLaw(n, np.eye(1), np.array([[size / (n + 1)]]), np.array([size]), 1.0)


def random_laws(count: int, rng: np.random.Generator) -> list[PromptLaw]:
    """Random problems with a mean task: d ≤ 4, n < 40, every third one singular."""
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
    return laws


def descended_gap(law: PromptLaw, rng: np.random.Generator) -> float:
    """Where L-BFGS over all matrices of attention ends, the lowest of SCREENED starts, minus the block's least risk."""
    ends = descents(law, [dict(count=1, screened=SCREENED, init="label_path")], rng)
    return float(ends.risks.min() - theory.ltb_minimal_risk(law))


def least_gaps(laws: list[PromptLaw], rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The gap of each law, (len(laws),), by descent or over the sphere, whichever is less; and how many of them agree.

    A search that misses attention's least risk makes the gap too large, and a lower bound easy to keep.
    """
    found = np.array(each(_both_gaps, [(law, child) for law, child in zip(laws, rng.spawn(len(laws)), strict=True)]))
    return found.min(1), int((np.abs(found[:, 0] / found[:, 1] - 1) < 1e-6).sum())


def _both_gaps(law: PromptLaw, rng: np.random.Generator) -> tuple[float, float]:
    return descended_gap(law, rng), theory.gap(law)


def _random_covariance(d: int, rng) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    matrix = (Q * np.exp(1.5 * rng.standard_normal(d))) @ Q.T
    return (matrix + matrix.T) / 2


def rank_below_two(law: PromptLaw) -> NotRun | None:
    """Why theorem 5.3 says nothing of this law's minimisers, if it does not: H Psi has rank one."""
    if np.linalg.matrix_rank(moments.phi(law), hermitian=True) < 2:
        return NotRun("HΨ has rank one at d = 1, where the theorem does not apply")
    return None


def minimisers(law: PromptLaw, ends: Restarts) -> list[dict[str, np.ndarray]]:
    """The effective weights w1, v, u (d,), c () and V (d, d) of every end that reached the block's least risk.

    Where noise hides what can be learned, false valleys lie within rounding's reach of the risk, and not of the gain.
    """
    least = theory.ltb_minimal_risk(law)
    learned = ends.risks - least <= 1e-8 * (moments.tau(law) - least) + 8 * np.spacing(least)
    return [ends.weights[k].numpy() for k in np.flatnonzero(ends.reached(least) & learned)]


def risk_of(law: PromptLaw, w1, v, c, V, u) -> float:
    """The exact risk of effective weights given as arrays."""
    return exact_risk(law, EffectiveParameters.from_numpy(w1, v, c, V, u))


def head_gaps(law: PromptLaw, heads: list[int], count: int, rng: np.random.Generator) -> np.ndarray:
    """Gap to the block of attention with each number of heads: best of `count` starts of L-BFGS, (len(heads),)."""
    starts = [(law, K, rng.spawn(1)[0]) for K in heads for _ in range(count)]
    risks = np.reshape(each(_multi_head_risk, starts), (len(heads), count))
    return risks.min(1) - theory.ltb_minimal_risk(law)


def _multi_head_risk(law: PromptLaw, heads: int, rng: np.random.Generator) -> float:
    model, risk = MultiHeadAttention(law.d, heads, rng=rng), MultiHeadGradient(law)
    return risk.constant + minimise_by_hand(model, lambda: risk.of_model(model)).loss


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
