"""Chapter 5, second half: the gradient flow on GD-β from many starts."""

import numpy as np
import torch

from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta_model import effective, effective_arrays, pull_back
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.theory import gd_beta
from icl.theory import gradient_flow as theory

NEAREST = 1e-2  # from where the end of a flow is seen
MATRIX_D = 12  # the flow of whole matrices is followed at this many covariates at most

# Reference trajectory at d = 5, n = 9, H = 0.7 I, Psi = 1.3 I, sigma2 = 0.3 from r = 1, Gamma = 0: (r, g_par, g_perp).
# Computed once with two other integrators, which agree to 1e-10; the last row to the digits given.
REFERENCE = {
    0.5: (0.6534479588, 0.5897587533, 0.4423215622),
    1.0: (0.4983491847, 0.7661188827, 0.6484871533),
    4.0: (0.0983829092, 0.8424977343, 0.8356953308),
    16.0: (1.185581e-4, 0.8387096872, 0.8387096751),
}


def reference_law() -> PromptLaw:
    """The problem of `REFERENCE`; beta_star = 0."""
    return PromptLaw(9, 0.7 * np.eye(5), 1.3 * np.eye(5), np.zeros(5), 0.3)


def starts(law: PromptLaw, count: int, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Starts (beta, Gamma): zero; the slowest, near and far; random ones of size 0.1, 1 and 10, each sign.

    The slowest are off along e, where H e = h e with the least h > 0, at Gamma = n/((n+2) h) ee'. Random Gammas have
    independent normal entries: neither symmetric nor positive.
    """
    d, n = law.d, law.n
    h, U = np.linalg.eigh(law.H)
    least = int(np.argmax(h > 1e-10 * h[-1]))
    e = U[:, least]
    slowest = n / ((n + 2) * h[least]) * np.outer(e, e)
    chosen = [(np.zeros(d), np.zeros((d, d))), *((law.beta_star + size * e, slowest) for size in (0.1, 100.0))]
    for k in range(count - len(chosen)):
        signed = (1, -1)[k % 2] * (0.1, 1.0, 10.0)[k % 3] / np.sqrt(d)
        if k % 2 == 0:  # every other start is the mirror image of the one before, at the next size
            b, G = rng.standard_normal(d), rng.standard_normal((d, d))
        chosen.append((law.beta_star + signed * b, signed * G))
    return chosen


def horizon(law: PromptLaw) -> float:
    """A time by which the theorem has every start of these sizes at the minimum to many digits.

    The start at zero is |beta_star| away, which may be more than any other.
    """
    farther = max(0.0, np.log(max(1e-300, np.linalg.norm(law.beta_star)) / 100))
    return (20 + farther) / min(4 * theory.least_curvature(law) / (law.n + 2), theory.gamma_rate(law))


def flows(law: PromptLaw, points, *, count: int = 80) -> list[theory.Flow]:
    """The flow from each start at `count` times, evenly spaced in logarithm up to the horizon, and at 0."""
    end = horizon(law)
    times = np.r_[0.0, np.geomspace(1e-3 * min(1.0, end), end, count)]
    return [theory.integrate(law, beta, Gamma, times) for beta, Gamma in points]


def largest_bound_ratio(law: PromptLaw, found: list[theory.Flow], *, shorter: int = 0) -> float:
    """Largest |b_t| / (e^{−4 λ_min t/(n+2)} |b_0|) over all flows and times t > 0 at which the bound is above 1e-3.

    The bound is that of a context `shorter` by so many examples.
    """
    ratios = []
    for flow in found:
        bound = theory.beta_bound(law, flow.times * (law.n + 2) / (law.n + 2 - shorter))
        size = np.linalg.norm((flow.beta - law.beta_star) @ gd_beta.range_projector(law), axis=1)
        shown = (flow.times > 0) & (bound > 1e-3)
        if size[0] > 0:
            ratios.append((size[shown] / (bound[shown] * size[0])).max())
    return float(max(ratios))


def largest_excess_ratio(law: PromptLaw, found: list[theory.Flow], *, speed: float = 1.0) -> float:
    """Largest excess risk over its bound, over all flows and times at which the excess is above 1e-12 of its start.

    The bound is taken at `speed` times the time.
    """
    ratios = []
    for flow in found:
        excess = gd_beta.excess(law, flow.beta, flow.Gamma)
        bound = theory.excess_bound(law, flow.beta[0], flow.Gamma[0], speed * flow.times)
        shown = excess > 1e-12 * excess[0]
        ratios.append((excess[shown] / bound[shown]).max())
    return float(max(ratios))


def slope(law: PromptLaw, beta, Gamma) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the transformer block's exact risk in beta (d,) and Gamma (d, d), by autograd."""
    point = torch.from_numpy(np.array(beta, dtype=float)), torch.from_numpy(np.array(Gamma, dtype=float))
    by_beta, by_Gamma = torch.func.grad(block_risk(law), argnums=(0, 1))(*point)
    return by_beta.numpy(), by_Gamma.numpy()


def curvatures(law: PromptLaw, beta, Gamma) -> np.ndarray:
    """Eigenvalues of the Hessian of the block's exact risk in all entries of (beta, Gamma), ascending, by autograd."""
    d, risk = law.d, block_risk(law)
    point = torch.from_numpy(np.r_[beta, np.ravel(Gamma)].astype(float))
    hessian = torch.autograd.functional.hessian(lambda vector: risk(vector[:d], vector[d:].reshape(d, d)), point)
    return eigenvalues(hessian.numpy())


def eigenvalues(A: np.ndarray) -> np.ndarray:
    """Of a symmetric matrix (k, k) whose rows may be of very different sizes, ascending, each to its own digits.

    The solver knows them to the rounding of the largest; those that are small beside it are told by the inverse, from
    the matrix with its rows and columns brought to one size.
    """
    found, size = np.linalg.eigvalsh(A), 1 / np.sqrt(np.abs(A).max(0))
    small = np.abs(found) < 1e-6 * np.abs(found).max()
    if small.any():
        inverse = size[:, None] * np.linalg.inv(size[:, None] * A * size) * size
        found = np.where(small, np.sort(1 / np.linalg.eigvalsh((inverse + inverse.T) / 2)), found)
    return found


def measured_tail_rate(law: PromptLaw, direction: np.ndarray, Gamma: np.ndarray, window=(1e-5, 1e-9)) -> float:
    """Exponential rate of b along `direction`, from (beta_star + direction, Gamma): slope of its logarithm.

    Between the times at which b, relative to its start, passes the ends of `window` (a fit to the points inside would
    jump when rounding lets one in); direction (d,), Gamma (d, d). A far start is first followed to where it is none:
    there the end has not begun, and the solver's digits are those of the start. A start so near that the solver's floor
    would hide the end is moved away along its direction.
    """
    times = np.linspace(0, horizon(law), 4001)
    direction = direction * max(1.0, NEAREST / np.linalg.norm(direction))
    near = np.sqrt(law.n + 1 + np.trace(law.H @ law.Psi) + law.sigma2)  # so large a b doubles what damps Gamma
    if (size := np.linalg.norm(direction)) > near:
        flow = theory.integrate(law, law.beta_star + direction, Gamma, times, rtol=1e-13)
        k = int(np.argmax(np.linalg.norm(flow.beta - law.beta_star, axis=1) < min(near, 1e-3 * size)))
        direction, Gamma = flow.beta[k] - law.beta_star, flow.Gamma[k]
    flow = theory.integrate(law, law.beta_star + direction, Gamma, times, rtol=1e-13)
    size = (flow.beta - law.beta_star) @ direction / (direction @ direction)
    below = np.flatnonzero(size < window[1])
    end = below[0] + 1 if len(below) else len(size)
    levels = np.log([window[0], max(window[1], size[end - 1])])
    enters, leaves = np.interp(-levels, -np.log(size[:end]), times[:end])
    return float((levels[0] - levels[1]) / (leaves - enters))


def block_risk(law: PromptLaw):
    """The transformer block's exact risk as a function of beta (d,) and Gamma (d, d), torch tensors."""
    risk = ExactRisk(law)
    return lambda beta, Gamma: risk(effective(beta, Gamma))


def block_slope(law: PromptLaw):
    """The gradient of `block_risk`, written out: a function of beta (..., d) and Gamma (..., d, d), of many at once."""
    risk = RiskGradient(law)
    return lambda beta, Gamma: pull_back(risk.of_parts(**effective_arrays(beta, Gamma))[1])
