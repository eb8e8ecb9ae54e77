"""Chapter 10's experiments: linear attention fitted to finitely many prompts, at several d with n/d and σ²/d kept."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from icl.estimates import Estimate, NotRun
from icl.parameters import Parameters
from icl.theory import how_many_tasks as theory

SIZES = (8, 16, 24, 48)  # d of the ladder
CHUNK = 2000  # prompts whose features are held at once
ENOUGH = 20  # fits that tell how far they spread


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    fits: tuple[int, ...]  # fits at each of SIZES
    tasks: int  # draws of a set of tasks

    @property
    def chunk(self) -> int:
        """Prompts that are held at once."""
        return min(20_000, self.prompts)


BUDGETS = {
    "quick": Budget(200_000, (800, 160, 40, 4), 400),
    "standard": Budget(2_000_000, (4000, 800, 200, 30), 4000),
    "paper": Budget(20_000_000, (20_000, 4000, 1000, 150), 40_000),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts where one prompt is large."""
    full = BUDGETS[parameters.profile]
    prompts = max(2000, 100 * full.prompts // max(100, parameters.n * parameters.d))
    return Budget(prompts, full.fits, full.tasks)


# Prompts by what a fit sees of them: (P, tasks or None, rng) → x (P, d), g (P, d), y (P,).
Draw = Callable[[int, np.ndarray | None, np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray]]


def short_prompts(d: int, n: int, sigma2: float, *, label_row: bool = False) -> Draw:
    """Queries x, g = X'y/n and the query's label, without drawing X: d + 3 random numbers in place of n(d + 1).

    Along the task's direction u, X'y is z'y with z = Xu; across it, Gaussian of variance |y|². Tasks are the rows of
    `tasks` (K, d) or, for None, ever new. With `label_row`, |y|²/n stands beside g, (P, d + 1).
    """

    def draw(P, tasks, rng):
        w = rng.standard_normal((P, d)) if tasks is None else tasks[rng.integers(len(tasks), size=P)]
        size = np.linalg.norm(w, axis=1)
        u = w / size[:, None]
        zz, along, rest = rng.chisquare(n, P), rng.standard_normal(P), 2 * rng.standard_gamma((n - 1) / 2, P)
        ze = np.sqrt(sigma2 * zz) * along  # z'ε
        yy = size**2 * zz + 2 * size * ze + sigma2 * (along**2 + rest)
        across = rng.standard_normal((P, d))
        across -= (across * u).sum(1, keepdims=True) * u
        g = (u * (size * zz + ze)[:, None] + across * np.sqrt(yy)[:, None]) / n
        if label_row:
            g = np.c_[g, yy / n]
        x = rng.standard_normal((P, d))
        return x, g, (x * w).sum(1) + np.sqrt(sigma2) * rng.standard_normal(P)

    return draw


def products(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The features x ⊗ g, (P, d·d'), of x (P, d) and g (P, d')."""
    return (x[:, :, None] * g[:, None, :]).reshape(len(x), -1)


def fit_few(x, g, y) -> np.ndarray:
    """Γ (d, d') of least norm with x'Γg = y on P ≤ d·d' prompts, x (P, d), g (P, d'), y (P,).

    Feature vectors have inner products x'x̃ · g'g̃, so a P × P system suffices.
    """
    return x.T @ (np.linalg.solve((x @ x.T) * (g @ g.T), y)[:, None] * g)


def fits(draw: Draw, counts: list[int], rng: np.random.Generator, tasks=None, ridge=0.0) -> list[np.ndarray]:
    """Γ (d, d') fitted to the first P of the same prompts, for each P of the increasing `counts`.

    P·ridge is the penalty. Without a ridge and for fewer prompts than features it is that of least norm, on prompts of
    its own. `tasks` (K, d) as `short_prompts`.
    """
    found, gram, moment, seen = [], 0.0, 0.0, 0
    shape = [part.size for part in draw(1, tasks, np.random.default_rng(0))[:2]]
    for P in counts:
        if ridge == 0 and P < shape[0] * shape[1]:
            found.append(fit_few(*draw(P, tasks, rng)))
            continue
        while seen < P:
            x, g, y = draw(min(CHUNK, P - seen), tasks, rng)
            F = products(x, g)
            gram, moment, seen = gram + F.T @ F, moment + F.T @ y, seen + len(y)
        penalised = gram + P * ridge * np.eye(len(moment))
        found.append(cho_solve(cho_factor(penalised), moment).reshape(shape))
    return found


def error_on_new(Gamma: np.ndarray, n: int, sigma2: float) -> float:
    """Exact risk per dimension, on new tasks, of Γ (d, d), or of (Γ, μ) (d, d + 1) with μ for |y|²/n."""
    d = len(Gamma)
    Gamma, mu = Gamma[:, :d], Gamma[:, d:]
    labels = (n + 2) / n * ((d + sigma2) ** 2 + 2 * d)  # E (|y|²/n)²; odd in the task with g
    square = (n + 1 + d + sigma2) / n * (Gamma**2).sum() + labels * (mu**2).sum()
    return float(sigma2 + d - 2 * np.trace(Gamma) + square) / d


@dataclass(frozen=True)
class Ladder:
    """Errors of fits over those of the limit d → ∞, one row a size, one column a tau: means and standard errors.

    sizes (m,), lengths (m,) of the contexts, taus (k,), ratio and stderr (m, k).
    """

    sizes: np.ndarray
    lengths: np.ndarray
    taus: np.ndarray
    ratio: np.ndarray
    stderr: np.ndarray


def scaled(parameters: Parameters, d: int) -> tuple[int, float]:
    """n and σ² at dimension d with the n/d and σ²/d of the page."""
    return max(1, round(d * parameters.n / parameters.d)), d * parameters.sigma2 / parameters.d


def run_if_long(parameters: Parameters, measured: Estimate | float) -> Estimate | float | NotRun:
    """What was measured on the ladder, for n ≥ d; below, corrections are of size 1/n, and limits in 1/d say nothing."""
    return NotRun("the ladder keeps n/d, and is climbed for n ≥ d") if parameters.n < parameters.d else measured


def ladder(
    parameters: Parameters, taus: tuple[float, ...], stream, *, kappa=np.inf, ridge=0.0, share: float = 1.0
) -> Ladder:
    """Fits at every size of SIZES, `share` of the budget's, their errors on new tasks over the limit's.

    With finite `kappa` each fit draws round(kappa·d) tasks of its own; `stream(d)` is the generator of size d. Fewer
    fits than ENOUGH do not tell their own spread: it is taken from the size before, as it falls like 1/d.
    """
    means, errors = [], []
    counts = [(d, round(share * count)) for d, count in zip(SIZES, budget(parameters).fits, strict=True)]
    counts = [(d, count) for d, count in counts if count >= 2]  # one fit has no error
    for d, count in counts:
        n, sigma2 = scaled(parameters, d)
        K = None if np.isinf(kappa) else max(1, round(kappa * d))
        limits = [theory.limit(tau, n / d, K / d if K else np.inf, sigma2 / d, ridge)[0] for tau in taus]
        rng, draw, found = stream(d), short_prompts(d, n, sigma2), []
        for _ in range(count):
            tasks = None if K is None else rng.standard_normal((K, d))
            Gammas = fits(draw, [round(tau * d * d) for tau in taus], rng, tasks, ridge)
            found.append([error_on_new(Gamma, n, sigma2) for Gamma in Gammas] / np.array(limits))
        if len(found) >= ENOUGH or not errors:
            spread = d * np.std(found, 0, ddof=1)
        means.append(np.mean(found, 0))
        errors.append(spread / d / np.sqrt(len(found)))
    sizes = np.array([d for d, _ in counts])
    lengths = np.array([scaled(parameters, d)[0] for d in sizes])
    return Ladder(sizes, lengths, np.array(taus), np.array(means), np.array(errors))


def weighted_fit(basis: np.ndarray, values: np.ndarray, errors: np.ndarray) -> list[Estimate]:
    """Least squares of `values` (m,) with standard errors (m,) on the columns of `basis` (m, k): the coefficients."""
    A = basis / errors[:, None]
    covariance = np.linalg.inv(A.T @ A)
    means, spread = covariance @ A.T @ (values / errors), np.sqrt(np.diag(covariance))
    return [Estimate(float(mean), float(error), len(values)) for mean, error in zip(means, spread, strict=True)]


def exponent(found: Ladder, column: int) -> Estimate:
    """p of |ratio − 1| ∝ d^p, from a straight line through the logarithms."""
    above, errors = found.ratio[:, column] - 1, found.stderr[:, column]
    basis = np.stack([np.log(found.sizes), np.ones(len(found.sizes))], axis=1)
    return weighted_fit(basis, np.log(np.abs(above)), errors / np.abs(above))[0]


def coefficient(found: Ladder, column: int) -> Estimate:
    """c of ratio = 1 + c/d + c₂/d²."""
    basis = np.stack([1 / found.sizes, 1 / found.sizes**2], axis=1)
    return weighted_fit(basis, found.ratio[:, column] - 1, found.stderr[:, column])[0]


def at_infinity(found: Ladder, column: int) -> Estimate:
    """The ratio at d = ∞, from 1, 1/d and 1/d²."""
    basis = np.stack([1 / found.sizes**power for power in (0.0, 1.0, 2.0)], axis=1)
    return weighted_fit(basis, found.ratio[:, column], found.stderr[:, column])[0]


def task_averages(parameters: Parameters, kappa: float, stream) -> Ladder:
    """Exact error of endless prompts on new tasks over its limit's, for random sets of kappa·d tasks: one column."""
    count, rows = budget(parameters).tasks, []
    for d in SIZES:
        n, sigma2 = scaled(parameters, d)
        K, rng = max(1, round(kappa * d)), stream(d)
        limit = theory.endless_prompts(n / d, K / d, sigma2 / d)
        rows.append([_of_random_tasks(d, K, n, sigma2, rng) / limit for _ in range(count)])
    found, sizes = np.array(rows), np.array(SIZES)
    lengths = np.array([scaled(parameters, d)[0] for d in SIZES])
    errors = found.std(1, ddof=1) / np.sqrt(count)
    return Ladder(sizes, lengths, np.array([np.inf]), found.mean(1)[:, None], errors[:, None])


def _of_random_tasks(d, K, n, sigma2, rng) -> float:
    tasks = rng.standard_normal((K, d))
    return theory.errors_given(tasks.T @ tasks / K, n, sigma2, np.inf)[0]


def along_prompts(parameters: Parameters, taus, stream) -> dict[int, list[float]]:
    """d → mean errors on new tasks, endless, of fits to tau·d² prompts, for the three smaller SIZES."""
    found = {}
    for d, count in zip(SIZES[:3], (40, 10, 4), strict=True):
        (n, sigma2), rng = scaled(parameters, d), stream(d)
        draw, counts = short_prompts(d, n, sigma2), [round(tau * d * d) for tau in taus]
        errors = [[error_on_new(Gamma, n, sigma2) for Gamma in fits(draw, counts, rng)] for _ in range(count)]
        found[d] = list(np.mean(errors, 0))
    return found


def along_tasks(parameters: Parameters, kappas, rng: np.random.Generator, d: int = 24) -> dict[tuple, float]:
    """(d, K/d) → exact error on new tasks, endless prompts, mean over 40 random sets of K tasks."""
    n, sigma2 = scaled(parameters, d)
    counts = [max(1, round(kappa * d)) for kappa in kappas]
    mean = lambda K: float(np.mean([_of_random_tasks(d, K, n, sigma2, rng) for _ in range(40)]))
    return {(d, K / d): mean(K) for K in counts}


def with_label_row(d: int, n: int, sigma2: float, taus, count: int, rng: np.random.Generator) -> dict[str, Estimate]:
    """Errors on new tasks of `count` fits at the two `taus`, and the first one's with d weights for |y|²/n over it."""
    draw, rows = short_prompts(d, n, sigma2, label_row=True), []
    counts = [round(tau * d * d) for tau in taus]
    for _ in range(count):
        state = rng.bit_generator.state
        plain = [error_on_new(Gamma, n, sigma2) for Gamma in fits(_without_last(draw), counts, rng)]
        rng.bit_generator.state = state  # the same prompts again
        rows.append([*plain, error_on_new(fits(draw, counts[:1], rng)[0], n, sigma2)])
    errors = np.array(rows)
    spread = lambda values: float(values.std(ddof=1) / np.sqrt(count))
    two, four, row = errors.mean(0)
    return {
        "two": Estimate(two, spread(errors[:, 0]), count),
        "four": Estimate(four, spread(errors[:, 1]), count),
        "label_row": Estimate(row / two, spread(errors[:, 2] - row / two * errors[:, 0]) / two, count),
    }


def _without_last(draw: Draw) -> Draw:
    def shorter(P, tasks, rng):
        x, g, y = draw(P, tasks, rng)
        return x, g[:, :-1], y

    return shorter
