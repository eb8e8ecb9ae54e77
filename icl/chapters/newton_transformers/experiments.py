"""Chapter 6, first part: Newton's iteration run as written, beside its closed forms."""

import warnings
from dataclasses import dataclass
from itertools import islice

import numpy as np

from icl.parameters import Parameters
from icl.prompts import PromptLaw, conditioned_covariance
from icl.solvers import iterations
from icl.solvers.prefixes import StepSizeWarning

RUN_D = 8  # iterations of whole matrices, tens of thousands of them, are run at this many covariates at most
EPS = 1e-8
EQUAL_STEPS = 10  # of Newton's method at most are compared with 2^k steps of gradient descent
RUN_KAPPA = 1e4  # and at this condition number at most: beyond, rounding in M_k spoils the last of EPS
KAPPAS = (2, 5, 10, 30, 100, 300, 1000, 3000, 10_000)


@dataclass(frozen=True)
class Budget:
    """Numbers of random prompts: for identities, for means over prompts."""

    prompts: int
    draws: int


BUDGETS = {
    "quick": Budget(20, 20_000),
    "standard": Budget(100, 200_000),
    "paper": Budget(100, 2_000_000),
    "claims": Budget(5, 5000),
}


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


def slowest_problem(d: int, kappa: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """S (1, d, d) with λ_max = 1, λ_min = 1/kappa, random axes, and b (1, d), the unit eigenvector of λ_min; d ≥ 2."""
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
    """Steps to relative accuracy EPS by condition number: arrays of len(kappas)."""

    kappas: np.ndarray
    newton: np.ndarray
    gd: np.ndarray


def steps_by_condition(d: int, kappas, rng: np.random.Generator) -> Steps:
    """Newton and GD run on `slowest_problem` at each condition number."""
    problems = [slowest_problem(d, kappa, rng) for kappa in kappas]
    return Steps(
        np.array(kappas, dtype=float),
        np.array([measured_newton_steps(*problem, EPS) for problem in problems]),
        np.array([measured_gd_steps(*problem, EPS) for problem in problems]),
    )


def errors_by_alpha(S: np.ndarray, b: np.ndarray, factors, k: int) -> np.ndarray:
    """|w_j − ŵ| / |ŵ| for j ≤ k at alpha = factor / λ_max², (len(factors), k + 1), on one problem S (d, d), b (d,)."""
    limit, top = np.linalg.pinv(S, hermitian=True) @ b, np.linalg.eigvalsh(S)[-1]
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", StepSizeWarning)
        runs = [islice(iterations.newton(f / top**2)(S[None], b[None]), k + 1) for f in factors]
        found = np.array([[w[0] for w in run] for run in runs])
        return np.linalg.norm(found - limit, axis=2) / np.linalg.norm(limit)


def _relative_residual(S, b, w):
    return np.linalg.norm(b - (S @ w[..., None])[..., 0]) / np.linalg.norm(b)
