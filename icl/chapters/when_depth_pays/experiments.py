"""Chapter 11's experiments: prompts that each have a covariance of their own, and descent over steps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize

from icl.chapters.when_depth_pays.step_flow import turned_saddle
from icl.estimates import Estimate, NotRun, monte_carlo
from icl.parameters import Parameters
from icl.prompts import Prompts
from icl.theory import when_depth_pays as theory

MOST_LAYERS = 12  # for which steps and bounds are looked at
MOST_SAMPLED = 6  # covariates, where matrices are fitted on sampled rotations
Sampler = Callable[[int], Prompts]


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    rotations: int  # sampled rotations that matrices are fitted on
    fresh: int  # and those they are measured on
    starts: int  # descents over matrices


BUDGETS = {
    "quick": Budget(100_000, 500, 20_000, 3),
    "standard": Budget(1_000_000, 2000, 200_000, 6),
    "paper": Budget(4_000_000, 10_000, 1_000_000, 12),
    "claims": Budget(10_000, 200, 4000, 1),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer prompts where one prompt is large (their standard errors then grow)."""
    full = BUDGETS[parameters.profile]
    size = parameters.d * max(parameters.n, parameters.d)
    return Budget(max(2000, int(100 * full.prompts / max(100, size))), full.rotations, full.fresh, full.starts)


def haar(rng: np.random.Generator, B: int, d: int) -> np.ndarray:
    """B rotations or reflections from the Haar measure of O(d), (B, d, d)."""
    Q, R = np.linalg.qr(rng.standard_normal((B, d, d)))
    return Q * np.sign(np.einsum("bii->bi", R))[:, None, :]  # without the signs QR's law is not Haar


def prompts(
    eigenvalues: np.ndarray, n: int, sigma2: float, rng: np.random.Generator, B: int, *, fixed=False
) -> Prompts:
    """B prompts of n examples, x ~ N(0, H) with H = O diag(λ) O' and O Haar, anew for each prompt; beta ~ N(0, I).

    eigenvalues : λ, (d,). With `fixed` every prompt has H = diag(λ). Draws are float64.
    """
    d = len(eigenvalues)
    x = rng.standard_normal((B, n + 1, d)) * np.sqrt(eigenvalues)
    if not fixed:
        x = x @ haar(rng, B, d).mT
    return _labelled(x, sigma2, rng)


def endless(eigenvalues: np.ndarray, rng: np.random.Generator, B: int) -> Prompts:
    """B prompts as after endless many examples without noise, from eigenvalues (d,).

    They hold d examples √(dλ_i) o_i, so that X'X/d is H exactly.
    """
    d = len(eigenvalues)
    O, z = haar(rng, B, d), rng.standard_normal((B, 1, d))
    axes = np.sqrt(d) * np.broadcast_to(np.eye(d), O.shape)
    return _labelled(np.concatenate([axes, z], axis=1) * np.sqrt(eigenvalues) @ O.mT, 0.0, rng)


def _labelled(x: np.ndarray, sigma2: float, rng: np.random.Generator) -> Prompts:
    beta = rng.standard_normal((len(x), x.shape[2]))
    y = np.einsum("bnd,bd->bn", x, beta) + np.sqrt(sigma2) * rng.standard_normal(x.shape[:2])
    return Prompts(x[:, :-1], y[:, :-1], x[:, -1], y[:, -1], beta)


def mean_squared_error(answer: Callable, sample: Sampler, count: int) -> Estimate:
    """Of `answer(X, y, x)` on `count` prompts of `sample(B)`, for the query's label."""

    def squared_errors(B):
        batch = sample(B)
        return (answer(batch.X, batch.y, batch.x_query) - batch.y_query) ** 2

    return monte_carlo(squared_errors, count, chunk=2000)


def descend_over_steps(eigenvalues: np.ndarray, layers: int, starts: int, rng: np.random.Generator) -> float:
    """The least of Σ λ Π (1 − aλ)² that Gauss and Newton's method finds over the steps' logarithms.

    Starts are spread over the logarithms of 1/λ, with noise; the eigenvalues λ are (d,).
    """
    low, high = np.log(1 / eigenvalues.max()), np.log(1 / eigenvalues.min())
    roots = np.sqrt(eigenvalues)

    def residuals(logs):
        return roots * np.prod(1 - np.exp(logs)[:, None] * eigenvalues, axis=0)

    def jacobian(logs):
        factors = 1 - np.exp(logs)[:, None] * eigenvalues
        others = [np.prod(np.delete(factors, k, axis=0), axis=0) for k in range(layers)]
        return np.transpose([-a * roots * eigenvalues * other for a, other in zip(np.exp(logs), others, strict=True)])

    inner, whole = (np.arange(layers) + 0.5) / layers, np.linspace(0, 1, layers)
    options = dict(xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000)
    begin = lambda k: low + (high - low) * (whole if k % 2 else inner) + 0.1 * rng.standard_normal(layers)
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [least_squares(residuals, begin(k), jacobian, **options) for k in range(starts)]
    return 2 * min(end.cost for end in ends)


def worst_over_depths(eigenvalues: np.ndarray) -> tuple[float, float]:
    """Over 1 to MOST_LAYERS layers: largest of 1/(aλ_max) and aλ_min over the steps a, and of excess over its bound.

    eigenvalues : (d,).
    """
    depths = range(1, MOST_LAYERS + 1)
    steps = [theory.free_steps(eigenvalues, L) for L in depths]
    ends = [max(1 / (eigenvalues.max() * a.min()), eigenvalues.min() * a.max()) for a in steps]
    pairs = [(theory.least_excess(eigenvalues, L), theory.chebyshev_bound(eigenvalues, L)) for L in depths]
    return max(ends), max(found / bound if bound else found for found, bound in pairs)


def too_steep(eigenvalues: np.ndarray, layers: int) -> NotRun | None:
    """Why so many steps, for eigenvalues (d,), cannot be run in float64, if they cannot.

    Later steps magnify the rounding of earlier ones.
    """
    steps = theory.free_steps(eigenvalues, layers)
    after = np.cumprod(np.abs(1 - steps[:, None] * eigenvalues)[:0:-1], axis=0)[::-1]  # (L − 1, d): of later layers
    magnified = (1 + steps * eigenvalues.max()) * np.r_[after.max(1), 1.0]
    rounding = eigenvalues.sum() * (np.finfo(float).eps * magnified.max()) ** 2
    if rounding < 1e-8 * theory.least_excess(eigenvalues, layers) + 1e-10:
        return None
    return NotRun("nearly as many layers as eigenvalues and a large κ: float64 does not hold the steps well enough")


def unless_too_steep(eigenvalues: np.ndarray, layers: int, *measured) -> list:
    """Measurements of so many steps, or in place of each the reason why float64 does not allow them.

    eigenvalues : (d,).
    """
    return [too_steep(eigenvalues, layers) or each for each in measured]


def descend_over_one_matrix(eigenvalues: np.ndarray, rng: np.random.Generator) -> float:
    """The control: tr H (I − ΓH)(I − ΓH)' with one H for all prompts, L-BFGS over Γ.

    eigenvalues : those of H, (d,), in whose scale Γ is searched.
    """
    d, roots = len(eigenvalues), np.sqrt(eigenvalues)
    H = np.diag(eigenvalues)

    def value_and_gradient(flat):
        G = flat.reshape(d, d) / roots[:, None] / roots  # Γ; flat is the whitened one
        rest = np.eye(d) - G @ H
        gradient = -2 * H @ rest @ H / roots[:, None] / roots
        return np.trace(H @ rest @ rest.T), gradient.ravel()

    start = rng.standard_normal((d, d)).ravel()
    options = dict(ftol=0.0, gtol=1e-14, maxiter=20_000, maxfun=40_000)
    return float(minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).fun)


def overtakes(eigenvalues: np.ndarray, most: int = 62) -> dict[str, float]:
    """The first numbers of layers, at most `most`, at which Newton's iteration is ahead of own steps and of one.

    eigenvalues : (d,).
    """
    first = {"past_free": np.inf, "past_shared": np.inf}
    for L in range(most, 1, -1):
        newton = theory.newton_excess(eigenvalues, L - 2, theory.newton_alpha(eigenvalues, L - 2))
        shared = theory.excess(np.full(L, theory.shared_step(eigenvalues, L)), eigenvalues)
        for name, other in (("past_free", theory.least_excess(eigenvalues, L)), ("past_shared", shared)):
            if newton < other:
                first[name] = L
    return first


def prose_numbers(parameters: Parameters, turned_d3: float) -> dict[str, float]:
    """What the page's sentences quote besides its claims; `turned_d3` is what a looped matrix left at d = 3."""
    lam = theory.spectrum(parameters.d, parameters.condition)
    own = {name: getattr(parameters, name) for name in ("d", "n", "condition", "layers")}
    return own | {
        "prompts": budget(parameters).prompts,
        "one_layer": theory.least_excess(lam, 1),
        "capped": min(parameters.d, MOST_SAMPLED),
        "short_layers": min(parameters.layers, 3),
        "saddle": turned_saddle(),
        "turned_d3": turned_d3,
        **overtakes(theory.spectrum(64, parameters.condition)),
    }
