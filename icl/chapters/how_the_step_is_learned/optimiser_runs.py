"""Chapter 8: heads trained on the exact risk by plain descent, Adam and Muon: do they stand on the stairs?"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from icl.chapters.how_the_step_is_learned.experiments import Parts, Velocity, small_heads
from icl.optimisers import Schedule
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.theory import how_the_step_is_learned as theory
from icl.training import train

START = 0.03  # size of the start at which rates are compared
STARTS = (0.3, START, 0.01)
RATES = (0.003, 0.01, 0.03)  # peak rates of Adam and of Muon, all shown
TRAVEL = 4.0  # rate × steps: how far an entry could go
_MARGIN = 0.01  # of the whole descent: what counts as on a stair


class RankOneHeads(nn.Module):
    """m heads of rank one in float64: values (m,), and as matrices between hidden states queries and keys (m, d)."""

    def __init__(self, start: Parts):
        super().__init__()
        v, Q, K = (torch.from_numpy(np.array(part, dtype=float)) for part in start)
        self.values = nn.Parameter(v)
        self.blocks = nn.ParameterDict({"query": Q[:, 0], "key": K[:, 0]})

    def forward(self, law: PromptLaw) -> torch.Tensor:
        """The exact risk on prompts of `law`, a scalar: tau − 2 tr(H² Gamma) + tr(H Gamma N Gamma')."""
        H = torch.from_numpy(law.H)
        tau, n = torch.trace(H) + law.sigma2, law.n
        Gamma = (self.values[:, None] * self.blocks["query"]).T @ self.blocks["key"]
        N = (n + 1) / n * H @ H + tau / n * H
        return tau - 2 * (H @ H * Gamma).sum() + (H @ Gamma @ N * Gamma).sum()


@dataclass(frozen=True)
class Descent:
    """One training: the optimiser's name, its rate, and the exact risk before each step, (steps,)."""

    name: str
    rate: float
    curve: np.ndarray


def with_torch(law: PromptLaw, start: Parts, name: str, rate: float) -> Descent:
    """Adam, or Muon on queries and keys with Adam on the values, at a constant rate: TRAVEL / rate steps."""
    model = RankOneHeads(start)
    schedule = Schedule(round(TRAVEL / rate), rate, decay=False, muon=rate if name == "Muon" else None)
    return Descent(name, rate, train(model, lambda step: model(law), schedule, label=f"{name}, rate {rate:g}"))


def plain(law: PromptLaw, velocity: Velocity, risk, start: Parts, *, most: int = 100_000) -> Descent:
    """Gradient descent, the flow in steps a fifth of the largest stable one, until 10⁻⁴ of the descent is left.

    `risk(parts)` is that of values v (m,), queries and keys (m, 1, d); after `most` steps it ends anyhow.
    """
    h = np.diag(law.H)
    gamma = theory.best_entries(h, law.n, law.sigma2)
    rate = 0.4 / (3 * np.cbrt(gamma) * h**2).max()  # a head's rate at its end is 3 α λ²
    top, *_, least = theory.stairs(h, law.n, law.sigma2)
    parts, curve = start, [risk(start)]
    while curve[-1] > least + 1e-4 * (top - least) and len(curve) < most:
        parts = tuple(part + rate * moved for part, moved in zip(parts, velocity(*parts), strict=True))
        curve.append(risk(parts))
    return Descent("descent", float(rate), np.array(curve))


def on_the_stairs(curve: np.ndarray, stairs: np.ndarray) -> float:
    """Of the steps between the first and the last hundredth of the descent, the part spent on a stair between.

    On a stair is within a hundredth of the whole descent of it. `curve` (steps,), `stairs` (d+1,); 0 where there is no
    stair between. A descent at an even pace would give 0.02 (d − 1).
    """
    margin = _MARGIN * (stairs[0] - stairs[-1])
    below_top, at_end = (np.flatnonzero(curve < level) for level in (stairs[0] - margin, stairs[-1] + margin))
    first = below_top[0] if len(below_top) else len(curve)
    last = at_end[0] if len(at_end) else len(curve)
    between = curve[first:last]
    if not len(between) or len(stairs) < 3:
        return 0.0
    return float((np.abs(between[:, None] - stairs[1:-1]).min(1) < margin).mean())


@dataclass(frozen=True)
class Comparison:
    """Runs by optimiser: at every rate from START, and from every start of STARTS at the middle rate."""

    by_rate: dict[str, list[Descent]]
    by_start: dict[str, dict[float, Descent]]

    def numbers(self, stairs: np.ndarray) -> dict[str, float]:
        """Least and most share `on_the_stairs` (d+1,) of every optimiser over its rates; the start; an even pace."""
        found = {"optimiser_start": START, "even_pace": 2 * _MARGIN * (len(stairs) - 2)}
        for name, runs in self.by_rate.items():
            shares = [on_the_stairs(run.curve, stairs) for run in runs]
            found |= {f"{name}_least": min(shares), f"{name}_most": max(shares)}
        return found


def compare(law: PromptLaw, velocity: Velocity, risk, stream: Streams) -> Comparison:
    """Plain descent, Adam and Muon on d + 1 rank-one heads, the same directions for all, drawn from `stream`."""
    key = stream.entropy("optimisers")
    begin = lambda size: small_heads(law, law.d + 1, 1, size, np.random.default_rng(key))
    by_start = {"descent": {size: plain(law, velocity, risk, begin(size)) for size in STARTS}}
    by_rate = {"descent": [by_start["descent"][START]]}
    for name in ("Adam", "Muon"):
        by_start[name] = {size: with_torch(law, begin(size), name, RATES[1]) for size in STARTS}
        others = [with_torch(law, begin(START), name, rate) for rate in (RATES[0], RATES[2])]
        by_rate[name] = [by_start[name][START], *others]
    return Comparison(by_rate, by_start)
