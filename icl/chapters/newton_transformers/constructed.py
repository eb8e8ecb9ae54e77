"""Chapter 6: the constructed transformers against Newton's iteration on matrices, and one prompt on its way through."""

from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from icl.chapters.newton_transformers.experiments import gram
from icl.constructions.newton_interleaved import design_b
from icl.constructions.newton_schulz import design_c, newton_schulz
from icl.constructions.newton_transformer import Design, design_a, design_a_prime, design_d
from icl.parameters import Parameters
from icl.prompts import PromptLaw, Prompts, conditioned_covariance
from icl.solvers.iterations import newton_matrices

GRID = tuple(product((1, 2, 5, 10, 20), (1, 3, 10, 40), (0, 1, 3, 6, 12)))  # d, n, k
LARGEST_N = 400  # interleaved tokens see each other, all 2n + 1 of them: the chapter's own sizes up to these
LARGEST_D = 50
BUILDERS = {"A": design_a, "D": design_d, "A_prime": design_a_prime, "B": design_b}


def prompts_of(d: int, n: int, sigma2: float, condition: float, rng: np.random.Generator, count: int = 3) -> Prompts:
    """Random prompts, covariates of the given condition number with random axes."""
    law = PromptLaw(n, conditioned_covariance(d, condition, rng), np.eye(d), np.zeros(d), sigma2)
    return law.sample(rng, count)


def alpha_for(batch: Prompts) -> float:
    """1 / λ_max² of the prompt with the largest: one alpha, in the range of every prompt of the batch."""
    return float(np.linalg.eigvalsh(gram(batch.X))[:, -1].max()) ** -2


def newton_predictions(batch: Prompts, k: int, alpha: float) -> np.ndarray:
    """x'M_j X'y for j ≤ k by Newton's iteration on matrices, (k + 1, B): what the transformers must output."""
    S, b = gram(batch.X), np.einsum("bnd,bn->bd", batch.X, batch.y)
    matrices = islice(newton_matrices(S, np.full(len(S), alpha)), k + 1)
    return np.array([np.einsum("bd,bde,be->b", batch.x_query, M, b) for M in matrices])


def sizes(parameters: Parameters) -> tuple[tuple[int, int, int], ...]:
    """The grid, and the chapter's own d, n and k (at most LARGEST_D and LARGEST_N)."""
    return (*GRID, (min(parameters.d, LARGEST_D), min(parameters.n, LARGEST_N), parameters.k))


def worst_errors(parameters: Parameters, rng: np.random.Generator) -> dict[str, float]:
    """By design, the largest |output − Newton's| / (1 + |Newton's|) over all sizes; C: Newton–Schulz by an SVD."""
    worst = dict.fromkeys((*BUILDERS, "C"), 0.0)
    for d, n, k in sizes(parameters):
        batch = prompts_of(d, n, parameters.sigma2, parameters.condition, rng)
        alpha = alpha_for(batch)
        expected = newton_predictions(batch, k, alpha)[-1]
        for name, build in BUILDERS.items():
            worst[name] = max(worst[name], _error(build(d, k, alpha), batch, expected))
        expected = newton_schulz(batch.X, batch.y, batch.x_query, k, alpha**0.25)
        worst["C"] = max(worst["C"], _error(design_c(d, k, alpha**0.25), batch, expected))
    return worst


def layerwise_error(parameters: Parameters, rng: np.random.Generator) -> float:
    """Design A′: largest error of slot o after each layer l ≥ 2 against Newton's iterate l − 2, over all sizes."""
    worst = 0.0
    for d, n, k in sizes(parameters):
        batch = prompts_of(d, n, parameters.sigma2, parameters.condition, rng)
        alpha = alpha_for(batch)
        expected = newton_predictions(batch, k, alpha)
        found = answers_by_layer(design_a_prime(d, k, alpha), batch)[2:]
        worst = max(worst, float((np.abs(found - expected) / (1 + np.abs(expected))).max()))
    return worst


def answers_by_layer(design: Design, batch: Prompts) -> np.ndarray:
    """The answer slot o of the query, before and after each layer, (layers + 1, B)."""
    return design.states(batch.X, batch.y, batch.x_query)[:, :, -1, design.slots["o"]][..., 0]


def least_squares_limit(parameters: Parameters, rng: np.random.Generator) -> tuple[float, int]:
    """Design C's distance from least squares after 40 layers, and Newton's steps to where C is after 6, isotropic.

    d, n of the chapter, n at least 2d so that both are well conditioned; distances relative to 1 + |least squares|.
    """
    d = min(parameters.d, LARGEST_D)
    batch = prompts_of(d, max(min(parameters.n, LARGEST_N), 2 * d), parameters.sigma2, 1.0, rng)
    alpha = alpha_for(batch)
    limit = np.einsum("bd,bdn,bn->b", batch.x_query, np.linalg.pinv(batch.X), batch.y)
    size = 1 + np.abs(limit)
    distance = lambda found: float((np.abs(found - limit) / size).max())
    whitened = distance(design_c(d, 6, alpha**0.25).predict(batch.X, batch.y, batch.x_query))
    newton = [distance(found) for found in newton_predictions(batch, 60, alpha)]
    reached = next(k for k, error in enumerate(newton) if error <= max(whitened, 1e-12))
    return distance(design_c(d, 40, alpha**0.25).predict(batch.X, batch.y, batch.x_query)), reached


def printed_heads(parameters: Parameters, rng: np.random.Generator) -> tuple[float, float]:
    """Two ReLU heads with values of one sign, as printed: distance of m after the second layer from two formulas.

    From alpha Σ_i |⟨x_i, x⟩| x_i, and from alpha S x, which is wanted; each relative to the size of alpha S x.
    """
    d, n = min(parameters.d, LARGEST_D), min(parameters.n, LARGEST_N)
    batch = prompts_of(d, n, parameters.sigma2, parameters.condition, rng)
    alpha = alpha_for(batch)
    design = design_b(d, 0, alpha, printed=True)
    m = design.states(batch.X, batch.y, batch.x_query)[2, :, -1, design.slots["m"]]
    scores = np.einsum("bnd,bd->bn", batch.X, batch.x_query)
    formulas = [alpha * np.einsum("bn,bnd->bd", weights, batch.X) for weights in (np.abs(scores), scores)]
    size = np.linalg.norm(formulas[1], axis=1)
    absolute, wanted = (float((np.linalg.norm(m - formula, axis=1) / size).max()) for formula in formulas)
    return absolute, wanted


def _error(design, batch, expected):
    found = design.predict(batch.X, batch.y, batch.x_query)
    return float((np.abs(found - expected) / (1 + np.abs(expected))).max())


@dataclass(frozen=True)
class Walk:
    """One prompt in design A: tokens before and after each layer (layers + 1, N, width), and answers by design."""

    prompt: Prompts
    alpha: float
    design: Design
    tokens: np.ndarray
    answers: dict[str, np.ndarray]
    least_squares: float
    label: float


def walk(parameters: Parameters, rng: np.random.Generator) -> Walk:
    """The chapter's k on one of its prompts, at most 8 covariates and 24 examples; alpha = 1 / λ_max² of that prompt.

    `answers`: after layer l, what designs A′ and C with l − 1 steps (A′: its own slot after layer l) would output.
    """
    d, n, k = min(parameters.d, 8), min(parameters.n, 24), parameters.k
    batch = prompts_of(d, n, parameters.sigma2, parameters.condition, rng, count=1)
    alpha = alpha_for(batch)
    design = design_a(d, k, alpha)
    schulz = [design_c(d, j, alpha**0.25).predict(batch.X, batch.y, batch.x_query)[0] for j in range(k + 1)]
    answers = {"A_prime": answers_by_layer(design_a_prime(d, k, alpha), batch)[:, 0], "C": np.array(schulz)}
    limit = float(batch.x_query[0] @ np.linalg.pinv(batch.X[0]) @ batch.y[0])
    tokens = design.states(batch.X, batch.y, batch.x_query)[:, 0]
    return Walk(batch, alpha, design, tokens, answers, limit, float(batch.y_query[0]))
