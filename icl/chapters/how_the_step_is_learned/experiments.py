"""Chapter 8: the flow of heads and of a merged matrix from small starts, and where it rests."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.signal import find_peaks

from icl.estimates import NotRun
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.theory import how_the_step_is_learned as theory
from icl.validation import InputError

Parts = tuple[np.ndarray, ...]  # v (m,), Q and K (m, R, d) of m heads of rank R; or v () and U (d, d)
Velocity = Callable[..., Parts]  # of the parts, with any leading axes (…)
Value = Callable[[Parts], np.ndarray]  # one number (…) of parts, such as the risk

MATRIX_D = 6  # flows of whole matrices are followed at this many covariates at most
START = 1e-6  # size of every factor at a small start, in units of the smallest head's size at the end
_MOST_EVALUATIONS = 3_000_000  # of a velocity in one flow


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    restarts: int  # searches for resting points


BUDGETS = {
    "quick": Budget(200_000, 40),
    "standard": Budget(2_000_000, 200),
    "paper": Budget(20_000_000, 1000),
    "claims": Budget(20_000, 40),
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


def diagonal_law(h, n: int, sigma2: float) -> PromptLaw:
    """Covariates N(0, diag(h)), h (d,), tasks N(0, I): every H in the coordinates of its eigenvectors."""
    return PromptLaw(n, np.diag(np.array(h)), np.eye(len(h)), np.zeros(len(h)), sigma2)


def unit(law: PromptLaw) -> float:
    """The unit of a start: the size at which the smallest head ends."""
    return float(theory.factor_sizes(np.diag(law.H), law.n, law.sigma2).min())


def small_heads(law: PromptLaw, heads: int, rank: int, start: float, rng: np.random.Generator) -> Parts:
    """v (heads,), Q and K (heads, rank, d): directions at random, every v and row of size start · unit.

    The sign of v is that with which a head grows: at d = 1 the other one leads to 0, where the flow rests for ever.
    """
    size = start * unit(law)
    Q, K = rng.standard_normal((2, heads, rank, law.d))
    rows = [size * part / np.linalg.norm(part, axis=-1, keepdims=True) for part in (Q, K)]
    grows = np.einsum("mri,ij,mrj->m", rows[0], law.H @ law.H, rows[1])
    return np.where(grows < 0, -size, size), *rows


def small_matrix(law: PromptLaw, start: float, rng: np.random.Generator) -> Parts:
    """v () and U (d, d) of size start · unit, U in a random direction, v with the sign that grows."""
    size, U = start * unit(law), rng.standard_normal((law.d, law.d))
    return np.array(-size if np.trace(law.H @ U @ law.H) < 0 else size), size * U / np.linalg.norm(U)


@dataclass(frozen=True)
class Path:
    """A flow at the integrator's own steps: times (T,), parts (T, …) each, the speed |d parts/dt| (T,), and between.

    `between(t)` gives the parts at any time up to the last, or at many.
    """

    times: np.ndarray
    parts: Parts
    speed: np.ndarray
    between: Callable[[np.ndarray | float], Parts]

    def at(self, k: int) -> Parts:
        """The parts at times[k], in the shapes in which they began."""
        return tuple(part[k] for part in self.parts)


class Joined:
    """Parts of given shapes as one state (size,), and states (…, size) as parts with the same leading axes."""

    def __init__(self, parts: Parts):
        stops = np.cumsum([part.size for part in parts])
        self.places = [(slice(stop - part.size, stop), part.shape) for stop, part in zip(stops, parts, strict=True)]

    def split(self, state: np.ndarray) -> Parts:
        """The parts of one state or of many."""  # np.split is three times as slow
        return tuple([state[..., place].reshape((*state.shape[:-1], *shape)) for place, shape in self.places])

    def join(self, parts: Parts) -> np.ndarray:
        """The state, or the states, of which these are the parts."""
        many = parts[0].shape[: parts[0].ndim - len(self.places[0][1])]
        return np.concatenate([part.reshape((*many, -1)) for part in parts], -1)

    def speeds(self, velocity: Velocity, state: np.ndarray) -> np.ndarray:
        """The velocity of one state or of many, joined."""
        return self.join(velocity(*self.split(state)))

    def jacobian(self, velocity: Velocity, state: np.ndarray) -> np.ndarray:
        """The derivative (size, size) of a velocity that takes many states at once, exact: by steps of 10⁻³⁰ i.

        A velocity is a polynomial, so that the imaginary part loses nothing to cancellation.
        """
        return self.speeds(velocity, state + 1e-30j * np.eye(len(state))).imag.T / 1e-30


def follow(velocity: Velocity, start: Parts, end: float, *, rtol: float = 1e-8) -> Path:
    """The flow d parts/dt = velocity(*parts) from `start` at time 0 to `end`; relative error `rtol` of a step.

    LSODA's steps are short where something happens and long where the flow rests, however long that is. The velocity
    takes leading axes (…): its derivative asks for many states at once. Raises InputError where it fails.
    """
    joined, evaluations = Joined(start), count()

    def field(_, state):
        if next(evaluations) >= _MOST_EVALUATIONS:  # a flow that runs away would keep the integrator busy for ever
            raise InputError(f"the flow could not be followed up to t = {end:g}: it runs away. Start closer.")
        return joined.speeds(velocity, state)

    tolerances = dict(rtol=rtol, atol=rtol * max(np.abs(part).max() for part in start) / 100)
    derivative = lambda _, state: joined.jacobian(velocity, state)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a failure is raised below, in words
        found = solve_ivp(
            field, (0.0, end), joined.join(start), method="LSODA", jac=derivative, dense_output=True, **tolerances
        )
    if not found.success or not np.isfinite(found.y).all():
        raise InputError(f"the flow could not be followed up to t = {end:g}: {found.message}")
    parts = joined.split(found.y.T)
    speed = np.linalg.norm(joined.speeds(velocity, found.y.T), axis=-1)
    return Path(found.t, parts, speed, lambda t: joined.split(found.sol(t).T))


def horizon(law: PromptLaw, start: float) -> float:
    """A time by which heads from so small a start have ended: a hundred times what most take, for rest costs little."""
    return 6000 / (min(start, 1.0) * unit(law) * np.diag(law.H).min() ** 2)


def drop_horizon(law: PromptLaw) -> float:
    """A time by which a merged matrix from a start of any size above 1e-8 units has long ended."""
    h = np.diag(law.H)
    gamma = theory.best_entries(h, law.n, law.sigma2)
    slowest = (h**2 / gamma).min() * np.linalg.norm(gamma)  # λ ν v² at the end, where v² = |Gamma*|
    return 60 / np.linalg.norm(h**2) + 60 / slowest


def drops(law: PromptLaw, velocity: Velocity, value: Value, stream) -> tuple[list[int], list[float]]:
    """How often a merged matrix stops between start and end, and where it ends, from three small random starts."""
    counts, ends = [], []
    for k in range(3):
        path = follow(velocity, small_matrix(law, START, stream("merged", k)), drop_horizon(law))
        risks = value(path.parts)
        counts.append(len(stops(risks, path.speed)) - 2)
        ends.append(float(risks[-1]))
    return counts, ends


def last_move(times: np.ndarray, risks: np.ndarray) -> float:
    """The last of the times (T,) at which a hundredth of the whole descent (T,) is still to come."""
    return float(times[np.flatnonzero(risks > risks[-1] + 0.01 * (risks[0] - risks[-1]))[-1]])


def no_stair_between(d: int) -> NotRun | None:
    """Why nothing can stop between start and end, or None."""
    return NotRun("one covariate has no stair between start and end") if d == 1 else None


def stops(risks: np.ndarray, speed: np.ndarray) -> list[int]:
    """Where a descent (T,) rests: its begin, every stop between, and its end, as indices in time.

    A stop is a local minimum of the speed, half as fast as what comes before and after it or slower; of several at one
    level the slowest. Levels within a millionth of the whole descent are one, and what rounding makes of the rest at
    the end is that end.
    """
    apart = 1e-6 * abs(risks[0] - risks[-1])
    minima, _ = find_peaks(-np.log(np.maximum(speed, np.finfo(float).tiny)), prominence=np.log(2))
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


def crossing(path: Path, value: Value, level: float) -> float:
    """The first time when `value(parts)`, of any leading axes, crosses `level`; NaN when it never does."""
    above = value(path.parts) > level
    k = int(np.argmax(above != above[0]))
    if k == 0:
        return np.nan
    return float(brentq(lambda t: value(path.between(t)) - level, path.times[k - 1], path.times[k], rtol=1e-14))


def sampled(path: Path, value: Value, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`times` (T,) and `value(parts)` there, (T,), the path's last beyond its end: a curve to draw."""
    return times, value(path.between(np.minimum(times, path.times[-1])))


def slope_of(x, y) -> float:
    """Least-squares slope of log y against log x, both (k,)."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
