"""Chapter 6: the constructed transformers against Newton's iteration on matrices, and one prompt on its way through."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from icl.chapters.newton_transformers.experiments import gram
from icl.constructions.newton_interleaved import design_b
from icl.constructions.newton_schulz import design_c, newton_schulz
from icl.constructions.newton_transformer import Design, design_a, design_a_prime, design_d
from icl.parameters import Parameters
from icl.prompts import PromptLaw, Prompts, conditioned_covariance
from icl.solvers import linear
from icl.solvers.iterations import newton_matrices

GRID = tuple(product((1, 2, 5, 10, 20), (1, 3, 10, 40), (0, 1, 3, 6, 12)))  # d, n, k
LARGEST_N = 400  # interleaved tokens see each other, all 2n + 1 of them: the chapter's own sizes up to these
LARGEST_D = 50
BUILDERS = {"D": design_d, "B": design_b}


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


def random_sizes(parameters: Parameters, rng: np.random.Generator) -> Iterator[tuple[Prompts, int, float]]:
    """Three random prompts at each of these sizes, with k and one alpha for the three."""
    for d, n, k in sizes(parameters):
        batch = prompts_of(d, n, parameters.sigma2, parameters.condition, rng)
        yield batch, k, alpha_for(batch)


def worst_errors(parameters: Parameters, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """By design, the largest |output − Newton's| / (1 + |Newton's|) over all sizes, and the same for one step more.

    A_prime: of slot o after each layer l ≥ 2 against Newton's iterate l − 2 (l − 1). C: of Newton–Schulz by an SVD,
    and of Newton's method.
    """
    worst = {name: np.zeros(2) for name in (*BUILDERS, "A_prime", "C")}
    for batch, k, alpha in random_sizes(parameters, rng):
        d, scale = batch.X.shape[2], alpha**0.25
        iterates = newton_predictions(batch, k + 1, alpha)
        predict = lambda design, batch=batch: design.predict(batch.X, batch.y, batch.x_query)
        found = {name: (predict(build(d, k, alpha)), iterates[k], iterates[k + 1]) for name, build in BUILDERS.items()}
        behind = answers_by_layer(design_a_prime(d, k, alpha), batch)[2:]
        found["A_prime"] = behind, iterates[:-1], iterates[1:]
        whitened = newton_schulz(batch.X, batch.y, batch.x_query, k, scale)
        found["C"] = predict(design_c(d, k, scale)), whitened, iterates[k]
        for name, (answer, *formulas) in found.items():
            worst[name] = np.maximum(worst[name], [relative_error(answer, formula) for formula in formulas])
    return {name: tuple(pair) for name, pair in worst.items()}


def answers_by_layer(design: Design, batch: Prompts) -> np.ndarray:
    """The answer slot o of the query, before and after each layer, (layers + 1, B)."""
    return design.states(batch.X, batch.y, batch.x_query)[:, :, -1, design.slots["o"]][..., 0]


def least_squares_limit(parameters: Parameters, rng: np.random.Generator) -> tuple[float, float, int]:
    """Design C's distance from least squares after 40 layers, that of ridge regression, and Newton's steps to where C
    is after 6; isotropic.

    d, n of the chapter, n at least 2d so that both are well conditioned; distances relative to 1 + |least squares|. The
    penalty is 1.
    """
    d = min(parameters.d, LARGEST_D)
    batch = prompts_of(d, max(min(parameters.n, LARGEST_N), 2 * d), parameters.sigma2, 1.0, rng)
    alpha = alpha_for(batch)
    limit = np.einsum("bd,bdn,bn->b", batch.x_query, np.linalg.pinv(batch.X), batch.y)
    whitened = {j: design_c(d, j, alpha**0.25).predict(batch.X, batch.y, batch.x_query) for j in (6, 40)}
    near = max(relative_error(whitened[6], limit), 1e-12)
    newton = [relative_error(found, limit) for found in newton_predictions(batch, 60, alpha)]
    ridge = (linear.ridge(batch.X, batch.y, 1.0) * batch.x_query).sum(1)
    reached = next(k for k, error in enumerate(newton) if error <= near)
    return relative_error(whitened[40], limit), relative_error(ridge, limit), reached


def printed_second_layer(parameters: Parameters, rng: np.random.Generator) -> tuple[Prompts, float, np.ndarray]:
    """Prompts, alpha, and what the second layer of design B leaves in the query's slot m, (B, d), if its two ReLU heads
    have values of one sign, as printed."""
    d, n = min(parameters.d, LARGEST_D), min(parameters.n, LARGEST_N)
    batch = prompts_of(d, n, parameters.sigma2, parameters.condition, rng)
    alpha = alpha_for(batch)
    design = design_b(d, 0, alpha, printed=True)
    return batch, alpha, design.states(batch.X, batch.y, batch.x_query)[2, :, -1, design.slots["m"]]


def relative_error(answers: np.ndarray, expected: np.ndarray) -> float:
    """The largest |answer − expected| / (1 + |expected|) of arrays (…, B)."""
    return float((np.abs(answers - expected) / (1 + np.abs(expected))).max())


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
