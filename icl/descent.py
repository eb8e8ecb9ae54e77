"""One descent on the exact risk, from a model's weights to the bottom: L-BFGS, and Newton's method at the end."""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch

from icl.last_steps import newton, settle
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.theory import moments
from icl.training import Minimum, minimise_by_hand


class Builder(Protocol):
    """What makes a model of `effective(n)` parameters for d covariates: `LinearSelfAttention`, or the block."""

    def __call__(self, d: int, *, rng: np.random.Generator, **options) -> torch.nn.Module: ...


Weights = dict[str, np.ndarray]  # of a model, by the names of its parameters
AT_REST = 1e-7  # largest entry of the gradient where a descent has reached the bottom and only settles
HIDDEN = 100  # times as large as what varies, a mean task hides it
EASING = 30  # from one of the `eased` laws to the next


def minimise_exactly(model: torch.nn.Module, law: PromptLaw, *, iterations: int = 5000, unit: float = 1.0) -> Minimum:
    """L-BFGS on the exact risk over all weights of a model with `effective` and `pull_back`, in place.

    The risk is that of `unit` times what the model predicts.
    """
    risk = RiskGradient(law, unit)
    found = minimise_by_hand(model, lambda: risk.of_model(model), iterations=iterations)
    return replace(found, loss=risk.constant + unit**2 * found.loss)


@dataclass(frozen=True)
class End:
    """Where a descent over a model's weights ends. They travel as arrays: tensors hold files of shared memory open."""

    risk: float
    gradient: float  # its largest entry
    weights: Weights


def descend(law: PromptLaw, build: Builder, start: Weights, iterations: int, unit: float) -> End:
    """L-BFGS from the weights of a model that `build` makes, for at most so many iterations; `unit` as above."""
    model = _built(law, build, start)
    found = minimise_exactly(model, law, iterations=iterations, unit=unit)
    return End(found.loss, found.gradient, weights_of(model))


def effective(law: PromptLaw, build: Builder, end: End) -> EffectiveParameters:
    """The effective parameters at an end, v, u (d,), c (), V (d, d)."""
    return EffectiveParameters.from_numpy(**_built(law, build, end.weights).effective(law.n).numpy())


def eased(law: PromptLaw) -> list[PromptLaw]:
    """Laws that lead a search to the last of them, `law`: in those before, tasks vary the more and so does the noise.

    A mean task far larger than what varies makes a narrow, bent valley, along which a descent only crawls. From law to
    law its bottom moves little.
    """
    mean = law.beta_star @ law.H @ law.beta_star
    spread = max(1.0, mean / (HIDDEN * moments.tau(law))) if mean else 1.0
    count = math.ceil(math.log(spread, EASING))
    factors = [spread / EASING**k for k in range(count)]
    return [*(replace(law, Psi=factor * law.Psi, sigma2=factor * law.sigma2) for factor in factors), law]


def finish(laws: list[PromptLaw], build: Builder, end: End, unit: float) -> tuple[float, dict[str, np.ndarray]]:
    """Risk and effective parameters after the last steps, as arrays, through the `eased` laws; `unit` as above.

    The end is one under the first of the laws.
    """
    law = laws[-1]
    weights = _built(law, build, end.weights).effective(law.n)
    free = [name for name, part in vars(weights).items() if part.requires_grad]  # attention alone has no w1
    for step in laws if end.gradient > AT_REST else laws[1:]:
        weights = newton(step, weights, free, unit=unit)
    weights = settle(law, weights, free, unit=unit)
    return ExactRisk(law)(weights.magnified(unit)).item(), weights.numpy()


def weights_of(model: torch.nn.Module) -> Weights:
    """A model's parameters, by name."""
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def _built(law: PromptLaw, build: Builder, weights: Weights) -> torch.nn.Module:
    model = build(law.d, rng=np.random.default_rng(0))
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return model
