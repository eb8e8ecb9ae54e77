"""Looped layers that share one step: the gradient flow of that step, and what many layers leave. Chapter 11."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from icl.estimates import NotRun
from icl.theory import when_depth_pays as theory


@dataclass(frozen=True)
class Flow:
    """Two flows of one shared step, from 0 and from twice the best.

    excess : the worse at their ends; ratio : the largest of the distance from the best step to exp(−mt) times the
    first; rate : minus the slope of the distance's logarithm, late.
    """

    excess: float
    ratio: float
    rate: float


def curvature(eigenvalues: np.ndarray, layers: int, step: float) -> float:
    """The second derivative of Σ λ (1 − aλ)^{2L} in a, for eigenvalues λ (d,)."""
    L = layers
    return float(2 * L * (2 * L - 1) * np.sum(eigenvalues**3 * (1 - step * eigenvalues) ** (2 * L - 2)))


def least_curvature(eigenvalues: np.ndarray, layers: int) -> float:
    """The least of `curvature` over all steps: positive unless all eigenvalues, (d,), are equal and L ≥ 2."""
    if layers == 1:
        return curvature(eigenvalues, 1, 0.0)
    falling = lambda a: np.sum(eigenvalues**4 * (1 - a * eigenvalues) ** (2 * layers - 3))
    return curvature(eigenvalues, layers, theory.zero_of_falling(falling, 1 / eigenvalues.max()))


def flow(eigenvalues: np.ndarray, layers: int) -> Flow | NotRun:
    """Gradient flow da/dt = −f'(a) of f(a) = Σ λ (1 − aλ)^{2L}, until nothing is left of the distance.

    `NotRun` where all eigenvalues, (d,), are equal and L ≥ 2: the curvature is 0 and the end is approached like a power
    of t.
    """
    best, m = theory.shared_step(eigenvalues, layers), least_curvature(eigenvalues, layers)
    if m <= 1e-9 * curvature(eigenvalues, layers, 0.0):
        return NotRun("the curvature is nearly 0 on the way: all eigenvalues are equal, or the two ends far apart")
    slope = lambda _, a: 2 * layers * np.sum(eigenvalues**2 * (1 - a * eigenvalues) ** (2 * layers - 1))
    times, faster = (np.linspace(0, 60 / rate, 6001) for rate in (m, curvature(eigenvalues, layers, best)))
    worst, ratio, rates = 0.0, 0.0, []
    for start in (0.0, 2 * best):
        run = solve_ivp(slope, (0, times[-1]), [start], "LSODA", dense_output=True, rtol=1e-12, atol=1e-15 * best)
        distance = np.abs(run.sol(times)[0] - best)
        worst = max(worst, theory.excess(np.full(layers, run.y[0, -1]), eigenvalues))
        early = distance > 1e-6 * best  # what is below is nearly rounding
        ratio = max(ratio, float((distance / (best * np.exp(-m * times)))[early].max()))
        rates.append(_late_rate(times, distance, best) or _late_rate(faster, np.abs(run.sol(faster)[0] - best), best))
    return Flow(worst, ratio, float(np.mean(rates)))


def _late_rate(times, distance, best):
    """Minus the slope of log distance, late; None where the grid is too coarse to see the distance fall."""
    late = (distance > 1e-9 * best) & (distance < 1e-4 * best)
    return -np.polyfit(times[late], np.log(distance[late]), 1)[0] if late.sum() >= 20 else None


def tail_ratio(eigenvalues: np.ndarray) -> tuple[float, float | NotRun, float]:
    """−log of the factor of one more looped layer: its limit, what 100κ layers have, and that for free steps.

    eigenvalues : (d,).
    """
    kappa = eigenvalues.max() / eigenvalues.min()
    if kappa < 1 + 1e-6:
        return np.nan, NotRun("all eigenvalues are equal: one layer leaves nothing"), np.nan
    L = int(np.ceil(100 * kappa))
    logs = [_log_excess(eigenvalues, layers) for layers in (L, L + 1)]
    limit = lambda ratio: -2 * np.log((ratio - 1) / (ratio + 1))
    return limit(kappa), logs[0] - logs[1], limit(np.sqrt(kappa))


def _log_excess(eigenvalues, layers):
    """log Σ λ (1 − aλ)^{2L} at the best step, without underflow."""
    residuals = np.abs(1 - theory.shared_step(eigenvalues, layers) * eigenvalues)
    logs = np.log(eigenvalues) + 2 * layers * np.log(np.maximum(residuals, 1e-300))
    return logs.max() + np.log(np.exp(logs - logs.max()).sum())


def turned_saddle() -> float:
    """The condition number at d = 2 from which the best step of two looped layers is a minimum in the turn as well."""

    def second_order(kappa):
        pair = theory.spectrum(2, kappa)
        left = 1 - theory.shared_step(pair, 2) * pair
        return pair.sum() * left.sum() ** 2 - 2 * pair @ left**2

    return float(brentq(second_order, 1.5, 100))
