"""Chapter 10's experiments: linear attention fitted to finitely many prompts, at several d with n/d and σ²/d kept."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from icl.estimates import Estimate, monte_carlo
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.theory import how_many_tasks as theory

SIZES = (8, 16, 24, 48)  # d of the ladder
CHUNK = 2000  # prompts whose features are held at once


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
    "claims": Budget(20_000, (200, 40, 10, 0), 100),
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


def scaled(parameters: Parameters, d: int) -> tuple[int, float]:
    """n and σ² at dimension d with the n/d and σ²/d of the page."""
    return max(1, round(d * parameters.n / parameters.d)), d * parameters.sigma2 / parameters.d


def along_prompts(parameters: Parameters, taus, stream) -> dict[int, list[float]]:
    """d → mean errors on new tasks, endless, of fits to tau·d² prompts, for the three smaller SIZES."""
    found = {}
    for d, count in zip(SIZES[:3], (40, 10, 4), strict=True):
        (n, sigma2), rng = scaled(parameters, d), stream(d)
        draw, counts = short_prompts(d, n, sigma2), [round(tau * d * d) for tau in taus]
        errors = [[error_on_new(Gamma, n, sigma2) for Gamma in fits(draw, counts, rng)] for _ in range(count)]
        found[d] = list(np.mean(errors, 0))
    return found


def mean_error(law: PromptLaw, Gamma: np.ndarray, budget: Budget, rng: np.random.Generator, tasks=None) -> Estimate:
    """Mean squared error of x'Γg, Γ (d, d), on whole prompts of the rows of `tasks` (K, d), or of new tasks."""

    def squared_errors(B):
        p = law.sample(rng, B)
        w = p.beta if tasks is None else tasks[rng.integers(len(tasks), size=B)]
        shift = w - p.beta  # another task, the same noise
        g = np.einsum("bnd,bn->bd", p.X, p.y + np.einsum("bnd,bd->bn", p.X, shift)) / law.n
        answer = np.einsum("bi,ij,bj->b", p.x_query, Gamma, g)
        return (answer - p.y_query - (p.x_query * shift).sum(1)) ** 2

    return monte_carlo(squared_errors, budget.prompts, chunk=budget.chunk)


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


def at_other_parameters(rng: np.random.Generator) -> dict[str, tuple]:
    """The claims "fixed.*" at d = 24, n = 48, σ² = 6, predicted, measured and near miss, from 60 fits."""
    found = with_label_row(24, 48, 6.0, (2.0, 4.0), 60, rng)
    two, four, with_row = (theory.at_dimension(24, tau, 2, 0.25) for tau in (2, 4, 2 * 24 / 25))
    return {
        "fixed.two": (two, found["two"], theory.descent(2, 2, 0.25)),
        "fixed.four": (four, found["four"], theory.descent(4, 2, 0.25)),
        "fixed.label_row": (with_row / two, found["label_row"], 1),
    }


def off_the_printed(equivalent: Callable) -> tuple[float, float]:
    """Largest relative distance, over a grid, from the printed formula: of `equivalent`, and of a slip in it."""
    grid = list(product((0.2, 0.7, 1.5, 6), (0.5, 3, 20), (0.3, 1, 2.5), (0, 0.3)))
    printed = np.array([theory.printed(*corner) for corner in grid])
    ours = np.array([equivalent(*corner)[0] for corner in grid])
    slip = np.array([theory.printed(*corner, of_prompts=False) for corner in grid])
    return float(np.abs(ours / printed - 1).max()), float(np.abs(slip / printed - 1).max())
