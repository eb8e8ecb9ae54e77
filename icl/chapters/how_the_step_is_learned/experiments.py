"""Chapter 8: the flow of heads and of a merged matrix from small starts, where it rests, and what low rank can reach."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, least_squares, minimize

from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta_model import effective
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.theory import how_the_step_is_learned as theory
from icl.validation import InputError

Parts = tuple[np.ndarray, ...]  # v (m,), Q and K (m, R, d) of m heads of rank R; or v () and U (d, d)
Velocity = Callable[..., Parts]

MATRIX_D = 6  # flows of whole matrices are followed at this many covariates at most
START = 1e-6  # size of every factor at a small start, in units of the smallest head's size at the end


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    restarts: int  # searches for resting points


BUDGETS = {
    "quick": Budget(200_000, 40),
    "standard": Budget(2_000_000, 200),
    "paper": Budget(20_000_000, 1000),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts where one prompt is large."""
    full, size = BUDGETS[parameters.profile], parameters.n * parameters.d
    return Budget(max(1000, 100 * full.prompts // max(100, size)), full.restarts)


def spectra(d: int, slope: float) -> dict[str, np.ndarray]:
    """Spectra of trace 1, (d,) each, largest first: the chapter's, λ ∝ (d, …, 1)^slope, and three others."""
    i = np.arange(1.0, d + 1)
    shapes = {"chapter": (d + 1 - i) ** slope, "white": i**0, "power": 1 / i, "halving": 2.0**-i}
    return {name: shape / shape.sum() for name, shape in shapes.items()}


def diagonal_law(h: np.ndarray, n: int, sigma2: float) -> PromptLaw:
    """Covariates N(0, diag(h)), h (d,), tasks N(0, I): every H in the coordinates of its eigenvectors."""
    return PromptLaw(n, np.diag(h), np.eye(len(h)), np.zeros(len(h)), sigma2)


def unit(law: PromptLaw) -> float:
    """The unit of a start: the size at which the smallest head ends."""
    return float(theory.factor_sizes(np.diag(law.H), law.n, law.sigma2).min())


def small_heads(law: PromptLaw, heads: int, rank: int, start: float, rng: np.random.Generator) -> Parts:
    """v (heads,), Q and K (heads, rank, d): directions and signs at random, every v and row of size start · unit."""
    size = start * unit(law)
    Q, K = rng.standard_normal((2, heads, rank, law.d))
    rows = [size * part / np.linalg.norm(part, axis=-1, keepdims=True) for part in (Q, K)]
    return size * rng.choice([-1.0, 1.0], heads), *rows


def small_matrix(law: PromptLaw, start: float, rng: np.random.Generator) -> Parts:
    """v () and U (d, d) of size start · unit, U in a random direction."""
    size, U = start * unit(law), rng.standard_normal((law.d, law.d))
    return np.array(size), size * U / np.linalg.norm(U)


@dataclass(frozen=True)
class Path:
    """A flow at the integrator's own steps: times (T,), parts (T, …) each, the speed |d parts/dt| (T,), and between.

    `between(t)` gives the parts at any time up to the last.
    """

    times: np.ndarray
    parts: Parts
    speed: np.ndarray
    between: Callable[[float], Parts]

    def at(self, k: int) -> Parts:
        """The parts at times[k], in the shapes in which they began."""
        return tuple(part[k] for part in self.parts)


def follow(velocity: Velocity, start: Parts, end: float, *, rtol: float = 1e-8) -> Path:
    """The flow d parts/dt = velocity(*parts) from `start` at time 0 to `end`; relative error `rtol` of a step.

    LSODA's steps are short where something happens and long where the flow rests, however long that is. Raises
    InputError where it fails.
    """
    shapes = [part.shape for part in start]
    cuts = np.cumsum([part.size for part in start])[:-1]
    joined = lambda parts: np.concatenate([np.ravel(part) for part in parts])
    split = lambda state: [part.reshape(shape) for part, shape in zip(np.split(state, cuts), shapes, strict=True)]
    field = lambda _, state: joined(velocity(*split(state)))
    floor = rtol * max(np.abs(part).max() for part in start) / 100
    found = solve_ivp(field, (0.0, end), joined(start), method="LSODA", rtol=rtol, atol=floor, dense_output=True)
    if not found.success or not np.isfinite(found.y).all():
        raise InputError(f"the flow could not be followed up to t = {end:g}: {found.message}")
    speed = np.array([np.linalg.norm(field(0, state)) for state in found.y.T])
    parts = [part.reshape(-1, *shape) for part, shape in zip(np.split(found.y.T, cuts, axis=1), shapes, strict=True)]
    return Path(found.t, tuple(parts), speed, lambda t: tuple(split(found.sol(t))))


def horizon(law: PromptLaw, start: float) -> float:
    """A time by which heads from so small a start have long ended."""
    return 60 / (min(start, 1.0) * unit(law) * np.diag(law.H).min() ** 2)


def drop_horizon(law: PromptLaw) -> float:
    """A time by which a merged matrix from a start of any size above 1e-8 units has long ended."""
    h = np.diag(law.H)
    gamma = theory.best_entries(h, law.n, law.sigma2)
    slowest = (h**2 / gamma).min() * np.linalg.norm(gamma)  # λ ν v² at the end, where v² = |Gamma*|
    return 60 / np.linalg.norm(h**2) + 60 / slowest


def last_move(times: np.ndarray, risks: np.ndarray) -> float:
    """The last of the times (T,) at which a hundredth of the whole descent (T,) is still to come."""
    return float(times[np.flatnonzero(risks > risks[-1] + 0.01 * (risks[0] - risks[-1]))[-1]])


def no_stair_between(d: int) -> NotRun | None:
    """Why nothing can stop between start and end, or None."""
    return NotRun("one covariate has no stair between start and end") if d == 1 else None


def stops(risks: np.ndarray, speed: np.ndarray) -> list[int]:
    """Where a descent (T,) rests: its begin, every stop between, and its end, as indices in time.

    A stop is a local minimum of the speed; of several at one level the slowest. Levels within a millionth of the whole
    descent are one, and what rounding makes of the rest at the end is that end.
    """
    apart = 1e-6 * abs(risks[0] - risks[-1])
    minima = 1 + np.flatnonzero((speed[1:-1] <= speed[:-2]) & (speed[1:-1] < speed[2:]))
    between = minima[(risks[minima] < risks[0] - apart) & (risks[minima] > risks[-1] + apart)]
    kept = []
    for k in between:
        if kept and abs(risks[k] - risks[kept[-1]]) <= apart:
            kept[-1] = min(kept[-1], k, key=lambda j: speed[j])
        else:
            kept.append(int(k))
    return [0, *kept, len(risks) - 1]


def missed(found: np.ndarray, levels: np.ndarray) -> float:
    """Largest distance of levels found from those predicted, infinite where their numbers differ; both 1-D (k,)."""
    return float(np.abs(found - levels).max()) if len(found) == len(levels) else np.inf


def crossing(path: Path, value: Callable[[Parts], float], level: float) -> float:
    """The first time when `value(parts)` crosses `level`; NaN when it never does."""
    above = np.array([value(path.at(k)) for k in range(len(path.times))]) > level
    k = int(np.argmax(above != above[0]))
    if k == 0:
        return np.nan
    return float(brentq(lambda t: value(path.between(t)) - level, path.times[k - 1], path.times[k], rtol=1e-14))


def over_prompts(law: PromptLaw, guess, count: int, rng: np.random.Generator) -> Estimate:
    """Mean of (guess − y)² over random prompts; guess(X (n, d), y (n,), x (d,)) takes one prompt or a stack of them."""

    def costs(B):
        prompts = law.sample(rng, B)
        return (guess(prompts.X, prompts.y, prompts.x_query) - prompts.y_query) ** 2

    return monte_carlo(costs, count, chunk=max(100, 1_000_000 // (law.n * law.d)))


def half_slope(law: PromptLaw, parts: Parts) -> Parts:
    """Minus half the risk's gradient by v (m,), Q and K (m, R, d), from automatic differentiation of `ExactRisk`."""
    v, Q, K = leaves = [torch.from_numpy(np.array(part)).requires_grad_() for part in parts]
    Gamma = torch.einsum("m,mri,mrj->ij", v, Q, K)
    risk = ExactRisk(law)(effective(torch.zeros(law.d, dtype=torch.float64), Gamma))
    return tuple(-part.numpy() / 2 for part in torch.autograd.grad(risk, leaves))


def least_of_rank(risk, d: int, rank: int, restarts: int, rng: np.random.Generator) -> float:
    """The least risk(Gamma) over Gamma = A'B, A and B (rank, d), that L-BFGS finds; `risk` gives value and slope."""
    if rank == 0:
        return risk(np.zeros((d, d)))[0]

    def at(entries):
        A, B = entries.reshape(2, rank, d)
        value, slope = risk(A.T @ B)
        return value, np.concatenate([(B @ slope.T).ravel(), (A @ slope).ravel()])

    options = dict(maxiter=5000, maxfun=20_000, ftol=0.0, gtol=1e-12, maxcor=30)
    starts = rng.standard_normal((restarts, 2 * rank * d))
    return min(minimize(at, start, jac=True, method="L-BFGS-B", options=options).fun for start in starts)


def resting_points(velocity: Velocity, law: PromptLaw, count: int, rng: np.random.Generator) -> list[Parts]:
    """Points where the velocity of d rank-one heads vanishes, found by least squares from `count` random starts.

    Starts are of the size of the ends; some heads are begun at 0, so that points with few heads are found too. Kept is
    where the velocity is below 1e-12 of its size at the start.
    """
    d, alpha, found = law.d, unit(law), []
    shapes, cuts = [(d,), (d, 1, d), (d, 1, d)], [d, d + d * d]
    split = lambda state: [part.reshape(shape) for part, shape in zip(np.split(state, cuts), shapes, strict=True)]
    field = lambda state: np.concatenate([part.ravel() for part in velocity(*split(state))])
    for k in range(count):
        alive = (rng.permutation(d) <= k % d).astype(float)
        start = np.concatenate([
            alpha * alive * rng.standard_normal(d), *(alpha * np.repeat(alive, d) * rng.standard_normal((2, d * d)))
        ])  # fmt: skip
        end = least_squares(field, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300)
        if np.abs(end.fun).max() <= 1e-12 * np.abs(field(start)).max():
            found.append(tuple(split(end.x)))
    return found


def slope_of(x, y) -> float:
    """Least-squares slope of log y against log x, both (k,)."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
