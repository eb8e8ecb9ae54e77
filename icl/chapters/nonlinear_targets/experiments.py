"""Chapter 3's experiments: is one step of plain GD still optimal when the targets are not linear?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl import search
from icl.estimates import Estimate, JointEstimate, NotRun, joint_monte_carlo
from icl.parameters import LARGEST_PROMPT, Parameters
from icl.randomness import Streams
from icl.search import Sampler, Training, train_on_samples
from icl.solvers.linear import gradient_step
from icl.targets import FAMILIES, Family, TargetLaw
from icl.theory import nonlinear_targets as theory
from icl.training import Schedule


@dataclass(frozen=True)
class Budget:
    """How much a profile computes; heavy-tailed families get `heavy` times as many prompts."""

    prompts: int
    heavy: int
    fit: int  # prompts of one least-squares fit over all coefficients
    trainings: int  # independent trainings a family
    schedule: Schedule
    batch: int


BUDGETS = {
    "quick": Budget(200_000, 4, 600_000, 2, Schedule(600, 0.02), 256),
    "standard": Budget(2_000_000, 4, 6_000_000, 4, Schedule(4000, 0.02), 1024),
    "paper": Budget(20_000_000, 4, 60_000_000, 8, Schedule(20_000, 0.02), 4096),
    "claims": Budget(10_000, 4, 30_000, 2, Schedule(100, 0.02), 64),
}

LEAST = 10_000  # prompts for a step at one of several lengths: from hundreds its error is larger than it seems


def affordable(prompts: int, n: int, d: int) -> int:
    """`prompts` for prompts of up to 100 covariate entries, fewer for larger ones; at least 300."""
    return max(300, int(100 * prompts / max(100, n * d)))


@dataclass(frozen=True)
class Measured:
    """What random prompts say: a, b, the best step of plain GD, its risk, and the largest single-draw share."""

    a: Estimate
    b: Estimate
    step_size: Estimate
    risk: Estimate
    largest_share: float


# Of prompts X (B, N, d), y (B, N): y·guess, guess², y² and y²|x|², (B, N) each, every point the query in its turn.
Turns = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]]


def measure(law: Sampler, turns: Turns, prompts: int, rng: np.random.Generator) -> Measured:
    """a, b, the best step and its risk from the means P, Q, Y, b of what `turns` returns, with joint standard errors.

    The loss of a step eta is E (y − eta·guess)² = Y − 2 eta P + eta² Q: a parabola with its vertex at P / Q.
    """
    n = law.n

    def draw(B):
        batch = law.sample(rng, B)
        X = np.concatenate([batch.X, batch.x_query[:, None]], axis=1)
        y = np.concatenate([batch.y, batch.y_query[:, None]], axis=1)
        return np.stack([quantity.mean(1) for quantity in turns(X, y)], 1)

    joint = joint_monte_carlo(draw, prompts, chunk=max(50, 1_000_000 // ((n + 1) * law.d)))
    P, b = joint.mean[[0, 3]]
    return Measured(
        a=joint.function(P / n, [1 / n, 0, 0, 0]),
        b=joint.function(b, [0, 0, 0, 1]),
        step_size=joint.vertex(),
        risk=joint.least_error(),
        largest_share=float(joint.largest_share.max()),
    )


def measure_families(parameters: Parameters, budget: Budget, turns: Turns, stream: Streams) -> dict[str, Measured]:
    """`measure` for each of the ten families, on a stream of its own."""
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    return {
        name: measure(
            TargetLaw(family, d, n, sigma2),
            turns,
            affordable(budget.prompts * (budget.heavy if family.heavy else 1), n, d),
            stream(f"moments of {name}"),
        )
        for name, family in FAMILIES.items()
    }


def steps_along_n(
    family: Family, parameters: Parameters, budget: Budget, lengths, turns: Turns, rng: np.random.Generator
) -> list[Estimate]:
    """The measured best step of one family at each context length."""
    d, sigma2 = parameters.d, parameters.sigma2
    prompts = max(LEAST, budget.prompts // 16) * (budget.heavy if family.heavy else 1)
    laws = [TargetLaw(family, d, int(n), sigma2) for n in lengths]
    return [measure(law, turns, affordable(prompts, law.n, d), rng).step_size for law in laws]


def mean_square_deviation(found: list[Estimate], expected) -> Estimate:
    """The mean of ((found − expected) / standard error)², which is 1 ± √(2/k) for k independent, unbiased estimates."""
    square = np.mean([((e.mean - truth) / e.stderr) ** 2 for e, truth in zip(found, expected, strict=True)])
    return Estimate(float(square), float(np.sqrt(2 / len(found))), len(found))


def train_families(parameters: Parameters, budget: Budget, stream: Streams) -> dict[str, list[Training]]:
    """Attention trained on samples of each family, several times, each run from a stream of its own.

    Labels are divided by their root mean square, so that one learning rate suits all: eta* does not change.
    """
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    runs = {}
    for name, family in FAMILIES.items():
        unit = 1 / (theory.moments(name, d).power + sigma2)
        law = TargetLaw(family.scaled(np.sqrt(unit)), d, n, sigma2 * unit)
        seeds = [stream.entropy(f"training on {name}", r) for r in range(budget.trainings)]
        runs[name] = [
            train_on_samples(law, budget.schedule, budget.batch, seed, f"{name}, run {r}")
            for r, seed in enumerate(seeds, 1)
        ]
    return runs


def mean_steps(learned: dict[str, np.ndarray], expected: dict[str, float]) -> dict[str, Estimate]:
    """The mean step of each family's trainings, (K,) with K ≥ 2, with a standard error pooled over all families.

    Two runs say little of their own spread. So the error is from the spread relative to the `expected` step, which is
    averaged over all families: K − 1 degrees of freedom from each.
    """
    if not learned:
        return {}
    spread = np.sqrt(np.mean([np.var(steps / expected[name], ddof=1) for name, steps in learned.items()]))
    return {
        name: Estimate(float(np.mean(steps)), float(spread * expected[name] / np.sqrt(len(steps))), len(steps))
        for name, steps in learned.items()
    }


def too_faint(family: str, parameters: Parameters) -> NotRun | None:
    """Why a training on samples cannot show the family's step, or None, as `search.too_faint`."""
    m, sigma2 = theory.moments(family, parameters.d), parameters.sigma2
    return search.too_faint(theory.minimal_risk(m, parameters.n, sigma2), m.power + sigma2)


def extrapolated_floor(
    family: Family, parameters: Parameters, turns: Turns, prompts: int, rng: np.random.Generator
) -> Estimate | NotRun:
    """The risk for n → ∞ from the least risks R(N) and R(2N): 2 R(2N) − R(N), which cancels the 1/n term.

    N = 20 b/a, so that the term left over is a two-thousandth of a at most; much noise makes it too long for memory.
    """
    d, sigma2 = parameters.d, parameters.sigma2
    m = theory.moments(family.name, d)
    N = int(np.ceil(20 * m.b(sigma2) / m.a))
    if 2 * N * d > LARGEST_PROMPT:
        return NotRun(f"at this noise it takes contexts of {2 * N:,} examples, more than memory holds")
    laws = [TargetLaw(family, d, k, sigma2) for k in (N, 2 * N)]
    short, long = (measure(law, turns, affordable(prompts, law.n, d), rng).risk for law in laws)
    return Estimate(2 * long.mean - short.mean, float(np.hypot(2 * long.stderr, short.stderr)), long.count)


def moments_by_sampling(family: Family, d: int, targets: int, rng: np.random.Generator) -> JointEstimate:
    """a, E f²|x|² and E f² of any family, from `targets` random targets at eight Gaussian points each.

    a is the mean of f(x) f(x') x'x' over pairs of different points, which is unbiased for |w_f|².
    """

    def draw(B):
        x = rng.standard_normal((B, 8, d))
        f, norms = family(x, rng), (x**2).sum(-1)
        own = f**2 * norms
        pairs = (gradient_step(x, f, 1.0) ** 2).sum(1) - own.sum(1)
        return np.stack([pairs / 56, own.mean(1), (f**2).mean(1)], 1)

    return joint_monte_carlo(draw, targets, chunk=max(50, 1_000_000 // (8 * d)))


def predict_from_samples(moments: JointEstimate, d: int, n: int, sigma2: float) -> tuple[Estimate, Estimate]:
    """eta* and L_min by Theorem 3 from sampled moments, with the error bars they inherit."""
    a, weighted, power = (float(part) for part in moments.mean)
    m = theory.Moments(d, a, weighted, power)
    eta, b = theory.step_size(m, n, sigma2), m.b(sigma2)
    spread = (n - 1) * a + b
    step = moments.function(eta, [b / spread**2, -a / spread**2, 0])
    slope_a = -n * (2 * a / spread - (n - 1) * (a / spread) ** 2)
    risk = moments.function(theory.minimal_risk(m, n, sigma2), [slope_a, n * (a / spread) ** 2, 1])
    return step, risk


@dataclass(frozen=True)
class View:
    """One target along a line through the origin, (K,), and what the learner predicts there, (len(lengths), K)."""

    family: Family
    t: np.ndarray
    target: np.ndarray
    lengths: list[int]
    predictions: np.ndarray


def view(family: Family, d: int, lengths: list[int], sigma2: float, stream: Streams) -> View:
    """One random target beside the in-context predictions, along the direction of its linear part.

    The same generator state draws the same target, whatever the points: first a pilot sample finds the direction
    of w_f, then the target is drawn again at the context and along the line.
    """
    points, target = stream(f"points to view {family.name}"), stream.entropy(f"target to view {family.name}")
    pilot = points.standard_normal((1, 20_000, d))
    linear_part = gradient_step(pilot, family(pilot, np.random.default_rng(target)), 1.0)[0]
    direction = linear_part / np.linalg.norm(linear_part)
    t = np.linspace(-3, 3, 121)
    X = points.standard_normal((max(lengths), d))
    values = family(np.concatenate([X, t[:, None] * direction])[None], np.random.default_rng(target))[0]
    y = values[: len(X)] + np.sqrt(sigma2) * points.standard_normal(len(X))
    m = theory.moments(family.name, d)
    slopes = [theory.step_size(m, n, sigma2) * (y[:n] @ X[:n]) @ direction for n in lengths]
    return View(family, t, values[len(X) :], lengths, np.outer(slopes, t))
