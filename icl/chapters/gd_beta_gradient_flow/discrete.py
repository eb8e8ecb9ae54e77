"""Chapter 5: discrete steps of gradient descent and of Adam beside the gradient flow."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from icl.chapters.gd_beta_gradient_flow.flow import block_slope
from icl.chapters.gd_beta_gradient_flow.risk_ratios import log_slope
from icl.estimates import Estimate
from icl.optimisers import Adam
from icl.prompts import PromptLaw
from icl.theory import gd_beta
from icl.theory import gradient_flow as theory


@dataclass(frozen=True)
class Descent:
    """L runs of an optimiser, one a learning rate: beta (K+1, L, d), Gamma (K+1, L, d, d) by step."""

    learning_rates: np.ndarray
    beta: np.ndarray
    Gamma: np.ndarray

    def excess(self, law: PromptLaw) -> np.ndarray:
        """Excess risk, (K+1, L); infinite where a run has left the range of numbers."""
        gone = ~(np.isfinite(self.beta).all(-1) & (np.abs(self.Gamma).max((-2, -1)) < 1e100))
        beta = np.where(gone[..., None], 0.0, self.beta)
        Gamma = np.where(gone[..., None, None], 0.0, self.Gamma)
        return np.where(gone, np.inf, gd_beta.excess(law, beta, Gamma))


def descend(law: PromptLaw, optimiser: str, learning_rates, steps: int, beta, Gamma) -> Descent:
    """`steps` steps of "gd" or "adam" on the exact risk from (beta, Gamma), by its gradient, all rates at once."""
    rates, slope = np.asarray(learning_rates, dtype=float), block_slope(law)
    points = [np.stack([part] * len(rates)).astype(float) for part in (beta, Gamma)]
    step, path = {"gd": _gd, "adam": _adam}[optimiser](points, rates), [[part.copy() for part in points]]
    for _ in range(steps):
        with np.errstate(over="ignore", invalid="ignore"):  # of rates at which the run goes to infinity
            step(slope(*points))
        path.append([part.copy() for part in points])
    return Descent(rates, *(np.stack(part) for part in zip(*path, strict=True)))


def _gd(points, rates):
    """A step of gradient descent, each run at its own rate, in place."""

    def step(gradients):
        for part, gradient in zip(points, gradients, strict=True):
            part -= rates.reshape(-1, *[1] * (part.ndim - 1)) * gradient

    return step


def _adam(points, rates):
    """A step of PyTorch's Adam, which has one rate: one for each run, on views of the points' memory."""
    methods = [
        Adam((nn.Parameter(torch.from_numpy(part)[k]) for part in points), fused=False) for k in range(len(rates))
    ]

    def step(gradients):
        for k, method in enumerate(methods):
            for view, gradient in zip(method.parameters, gradients, strict=True):
                view.grad = torch.from_numpy(gradient[k])
            method.step(float(rates[k]))

    return step


def first_order(law: PromptLaw, beta, Gamma) -> Estimate:
    """Order of GD's deviation from the flow in the learning rate: slope over T/50 … T/400 at a fixed time T."""
    end = 3 / theory.fastest_rate(law, beta, Gamma)
    flow = theory.integrate(law, beta, Gamma, [end])
    counts, deviations = np.array([50, 100, 200, 400]), []
    for steps in counts:
        path = descend(law, "gd", [end / steps], int(steps), beta, Gamma)
        apart = np.r_[path.beta[-1, 0] - flow.beta[0], (path.Gamma[-1, 0] - flow.Gamma[0]).ravel()]
        deviations.append(Estimate(float(np.linalg.norm(apart)), 0.0, 1))
    return log_slope(deviations, end / counts)


def largest_stable_step(law: PromptLaw, rng: np.random.Generator, *, steps: int = 300) -> float:
    """The learning rate above which GD runs away from the minimum, from 1e-4 beside it; found by five sweeps."""
    beta = law.beta_star + 1e-4 * rng.standard_normal(law.d)
    Gamma = gd_beta.optimal_gamma(law) + 1e-4 * rng.standard_normal((law.d, law.d))

    def runs_away(rates):
        excess = descend(law, "gd", rates, steps, beta, Gamma).excess(law)
        return (excess[-1] > excess[2 * steps // 3]) & (excess[-1] > 1e-20) | ~np.isfinite(excess[-1])

    low, high = 1e-4, 100.0
    while runs_away([low])[0]:  # a mean task of some hundreds, say
        low /= 1e3
    while not runs_away([high])[0]:
        high *= 1e3
    for _ in range(5):
        grid = np.geomspace(low, high, 10)
        first = max(1, int(np.argmax(runs_away(grid))))
        low, high = grid[first - 1], grid[first]
    return float(np.sqrt(low * high))


def sweep_rates(law: PromptLaw, beta, Gamma, count: int = 28) -> np.ndarray:
    """Learning rates, (count,), from far below the curvature at the start to well above the one at the minimum."""
    at_start = theory.fastest_rate(law, beta, Gamma)
    at_minimum = theory.fastest_rate(law, law.beta_star, gd_beta.optimal_gamma(law))
    return np.geomspace(0.02 / max(at_start, at_minimum), 6 / min(at_start, at_minimum), count)


def deviation_from_flow(law: PromptLaw, path: Descent) -> np.ndarray:
    """Largest distance between a run after k steps and the flow at time k·rate, over |start − minimum|, (L,)."""
    b0, D0 = path.beta[0, 0] - law.beta_star, path.Gamma[0, 0] - gd_beta.optimal_gamma(law)
    scale = np.sqrt((b0**2).sum() + (D0**2).sum())
    worst = np.full(len(path.learning_rates), np.inf)
    for k, rate in enumerate(path.learning_rates):
        times = rate * np.arange(1, len(path.beta))
        flow = theory.integrate(law, path.beta[0, k], path.Gamma[0, k], times, rtol=1e-9)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = ((path.beta[1:, k] - flow.beta) ** 2).sum(1) + ((path.Gamma[1:, k] - flow.Gamma) ** 2).sum((1, 2))
        if np.isfinite(apart).all():
            worst[k] = np.sqrt(apart.max()) / scale
    return worst
