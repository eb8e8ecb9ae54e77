"""Chapter 6, first part: Newton's iteration run as written, beside its closed forms."""

import warnings
from dataclasses import dataclass
from itertools import islice

import numpy as np

from icl.parameters import Parameters
from icl.prompts import PromptLaw, conditioned_covariance
from icl.solvers import iterations
from icl.solvers.prefixes import StepSizeWarning
from icl.theory import newton as theory

RUN_D = 8  # iterations of whole matrices, tens of thousands of them, are run at this many covariates at most
EPS = 1e-8
RUN_KAPPA = 1e4  # and at this condition number at most: beyond, rounding in M_k spoils the last of EPS
KAPPAS = (2, 5, 10, 30, 100, 300, 1000, 3000, 10_000)


@dataclass(frozen=True)
class Budget:
    """Numbers of random prompts: for identities, for means over prompts."""

    prompts: int
    draws: int


BUDGETS = {"quick": Budget(20, 20_000), "standard": Budget(100, 200_000), "paper": Budget(100, 2_000_000)}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget, with fewer draws where one matrix is large."""
    full = BUDGETS[parameters.profile]
    return Budget(full.prompts, max(50, int(full.draws * min(1.0, (8 / parameters.d) ** 3))))


def law(parameters: Parameters, rng: np.random.Generator, *, d: int | None = None, n: int | None = None):
    """The chapter's prompts: x ~ N(0, H), H of the chapter's condition number with random axes; beta ~ N(0, I)."""
    d = d or parameters.d
    H = conditioned_covariance(d, parameters.condition, rng)
    return PromptLaw(n or parameters.n, H, np.eye(d), np.zeros(d), parameters.sigma2)


def gram(X: np.ndarray) -> np.ndarray:
    """S = X'X, (B, d, d)."""
    return np.swapaxes(X, -1, -2) @ X


def residual_identity_error(S: np.ndarray, k: int) -> float:
    """Largest entry of (I − M_j S) − (I − alpha S²)^{2^j} over problems and j ≤ k: M_j iterated, the power exact.

    S (P, d, d) holds P problems; alpha = 1 / λ_max² of each.
    """
    found, U = np.linalg.eigh(S)
    alpha = 1 / found[:, -1] ** 2
    worst = 0.0
    for j, M in enumerate(islice(iterations.newton_matrices(S, alpha), k + 1)):
        expected = (U * theory.residual(found, j, alpha[:, None])[:, None]) @ np.swapaxes(U, 1, 2)
        worst = max(worst, np.abs(np.eye(S.shape[1]) - M @ S - expected).max())
    return float(worst)


def slowest_problem(d: int, kappa: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """S (1, d, d) with λ_max = 1, λ_min = 1/kappa and random axes, and b (1, d), the eigenvector of λ_min; d ≥ 2."""
    S = conditioned_covariance(d, kappa, rng)
    return S[None], np.linalg.eigh(S)[1][None, :, 0]


def measured_newton_steps(S: np.ndarray, b: np.ndarray, eps: float) -> float:
    """Steps until |b − S w| ≤ eps |b|, by running the iteration on matrices; infinite if 200 do not suffice.

    One problem: S (1, d, d), b (1, d).
    """
    runs = enumerate(islice(iterations.newton()(S, b), 201))
    return next((k for k, w in runs if _relative_residual(S, b, w) <= eps), np.inf)


def measured_gd_steps(S: np.ndarray, b: np.ndarray, eps: float) -> int:
    """The same for gradient descent with step 2 / (λ_max + λ_min), one step after the other, without a limit.

    One problem: S (1, d, d), b (1, d).
    """
    found = np.linalg.eigvalsh(S[0])
    step, matrix, right = 2 / (found[-1] + found[0]), S[0], b[0]
    w, k, goal = np.zeros_like(right), 0, (eps**2) * (right @ right)
    while True:
        gradient = matrix @ w - right
        if gradient @ gradient <= goal:
            return k
        w = w - step * gradient
        k += 1


@dataclass(frozen=True)
class Steps:
    """Steps to relative accuracy EPS by condition number, run and predicted: arrays of len(kappas)."""

    kappas: np.ndarray
    newton: np.ndarray
    newton_predicted: np.ndarray
    gd: np.ndarray
    gd_predicted: np.ndarray


def steps_by_condition(d: int, kappas, rng: np.random.Generator) -> Steps:
    """Newton and GD run on `slowest_problem` at each condition number."""
    problems = [slowest_problem(d, kappa, rng) for kappa in kappas]
    return Steps(
        np.array(kappas, dtype=float),
        np.array([measured_newton_steps(*problem, EPS) for problem in problems]),
        np.array([theory.steps_to_eps(kappa, EPS) for kappa in kappas]),
        np.array([measured_gd_steps(*problem, EPS) for problem in problems]),
        np.array([theory.gd_steps_to_eps(kappa, EPS) for kappa in kappas]),
    )


def gd_identity_errors(S: np.ndarray, b: np.ndarray, k: int) -> tuple[float, float]:
    """Newton after j ≤ k steps against GD steps, largest difference of the estimates relative to their size.

    First M_0 = eta I against 2^j equal steps, then M_0 = eta² S against 2^{j+1} steps eta, −eta, …; eta = 1 / λ_max.
    S (P, d, d) and b (P, d) hold P problems.
    """
    eta = 1 / np.linalg.eigvalsh(S)[:, -1]
    identity = eta[:, None, None] * np.eye(S.shape[1])
    cases = ((identity, (eta,), 0), (eta[:, None, None] ** 2 * S, (eta, -eta), 1))
    return tuple(_identity_error(S, b, k, *case) for case in cases)


def _identity_error(S, b, k, start, etas, shift):
    wanted = [2 ** (j + shift) for j in range(k + 1)]
    descent = islice(iterations.gradient_descent(*etas)(S, b), wanted[-1] + 1)
    descended = {s: w for s, w in enumerate(descent) if s in wanted}
    worst = 0.0
    for s, M in zip(wanted, iterations.newton_from(start, S), strict=False):
        difference = np.linalg.norm((M @ b[..., None])[..., 0] - descended[s], axis=1)
        worst = max(worst, (difference / np.linalg.norm(descended[s], axis=1)).max())
    return float(worst)


def top_residual(S: np.ndarray, alpha, k: int) -> np.ndarray:
    """|u'(I − M_j S) u| for the top eigenvector u, (k + 1, P), by iterating at any alpha, converging or not."""
    u = np.linalg.eigh(S)[1][..., -1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepSizeWarning)  # here the end point of the range is the subject
        matrices = islice(iterations.newton_matrices(S, alpha), k + 1)
        Su = (S @ u[..., None])[..., 0]
        return np.array([np.abs(1 - np.einsum("pi,pij,pj->p", u, M, Su)) for M in matrices])


def errors_by_alpha(S: np.ndarray, b: np.ndarray, factors, k: int) -> np.ndarray:
    """|w_j − ŵ| / |ŵ| for j ≤ k at alpha = factor / λ_max², (len(factors), k + 1), on one problem S (d, d), b (d,)."""
    limit, top = np.linalg.pinv(S, hermitian=True) @ b, np.linalg.eigvalsh(S)[-1]
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", StepSizeWarning)
        runs = [islice(iterations.newton(f / top**2)(S[None], b[None]), k + 1) for f in factors]
        found = np.array([[w[0] for w in run] for run in runs])
        return np.linalg.norm(found - limit, axis=2) / np.linalg.norm(limit)


def expanded_iterates(k: int) -> list[np.ndarray]:
    """Coefficients of M_0 S, …, M_k S in powers 1, 2, … of z = alpha S², exact integers, by running the iteration.

    Those of M_j S have the shape (2^j,).
    """
    e, found = np.array([0, 1], dtype=object), []
    for _ in range(k + 1):
        found.append(e[1:])
        square = np.convolve(e, e)
        e = -square
        e[: len(found[-1]) + 1] += 2 * np.r_[[0], found[-1]].astype(object)
    return found


def printed_expansion_error(S: np.ndarray, factor: float = 1.0) -> float:
    """|printed M_1 − M_1| / |M_1| for S (d, d) and alpha = factor / λ_max², Fu et al. (2024), eq. (38)."""
    alpha = factor / np.linalg.eigvalsh(S)[-1] ** 2
    M = 2 * alpha * S - alpha**2 * S @ S @ S
    printed = 2 * alpha * S - 4 * alpha**2 * S @ S @ S
    return float(np.linalg.norm(printed - M) / np.linalg.norm(M))


def _relative_residual(S, b, w):
    return np.linalg.norm(b - (S @ w[..., None])[..., 0]) / np.linalg.norm(b)


def largest_step_error(steps: Steps) -> int:
    """The largest difference of a run from its prediction, in steps."""
    return int(max(np.abs(steps.newton - steps.newton_predicted).max(), np.abs(steps.gd - steps.gd_predicted).max()))
