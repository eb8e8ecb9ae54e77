"""Chapter 4: where training the linear transformer block directly goes wrong, and training GD-β does not."""

import numpy as np
import torch

from icl.estimates import Estimate
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw
from icl.search import Restarts, descend_beside, gd_beta_minimisers, restarts
from icl.theory import mlp_benefit as theory

# A problem whose risk has a valley besides the global one; sizes of this experiment only.
TRAP = PromptLaw(8, np.diag([1, 1 / 2, 1 / 3]), np.eye(3), np.ones(3), 0.25)
SCALES = (0.1, 0.3, 0.7)


def trap_restarts(count: int, rng: np.random.Generator) -> dict[float, Restarts]:
    """`count` descents of the block on TRAP, at most 800 iterations each, from each of the SCALES."""
    options = dict(build=LinearTransformerBlock, iterations=800)
    return {scale: restarts(TRAP, count, rng, scale=scale, **options) for scale in SCALES}


def stuck_rate(ends: Restarts, risk: float) -> Estimate:
    """Share of the ends at `risk`, with its binomial standard error."""
    share, count = ends.reached(risk).mean(), len(ends.risks)
    return Estimate(float(share), float(np.sqrt(share * (1 - share) / count)), count)


def gd_beta_reached(count: int, rng: np.random.Generator) -> int:
    """How many of `count` descents of GD-β itself on TRAP, from N(0, 1) entries, end at the global minimum."""
    ends, floor = gd_beta_minimisers(TRAP, count, rng), theory.ltb_minimal_risk(TRAP)
    return int((np.abs(ends.risks - floor) <= 1e-7 * floor).sum())


def descend_from_valley(valley: theory.Valley, rng: np.random.Generator) -> float:
    """L-BFGS over all matrices of the block from beside a valley of TRAP: every entry moved by 1e-3 · N(0, 1)."""
    part = theory.Profile(TRAP, block=True).weights(valley)
    model = LinearTransformerBlock(TRAP.d, rng=rng, scale=1e-3)
    with torch.no_grad():
        model.W_2[-1, -1] += 1.0
        model.W_1[-1] += torch.from_numpy(np.r_[part["w1"], 1.0])
    return descend_beside(model, part, TRAP)
