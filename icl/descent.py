"""One descent on the exact risk, from a model's weights to the bottom: L-BFGS, and Newton's method at the end."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch

from icl.last_steps import newton, settle
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.theory.moments import label_unit, mean_size
from icl.training import Minimum, minimise_by_hand


class Builder(Protocol):
    """What makes a model of `effective(n)` parameters for d covariates: `LinearSelfAttention`, or the block."""

    def __call__(self, d: int, *, rng: np.random.Generator, **options) -> torch.nn.Module: ...


Weights = dict[str, np.ndarray]  # of a model, by the names of its parameters
HIDDEN, LOUD = 100, 10  # so many times as large, a mean task and noise hide how tasks vary
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


def units(law: PromptLaw) -> tuple[float, float]:
    """Units for a search: of labels, in which they vary like the covariates, and then of what is predicted.

    Without the first a large mean task puts the search far from everything, in a valley |beta_star|² times as steep
    across as along, and much noise makes it blind to y. The second is not 1 where noise outweighs the n examples: the
    best weights then predict next to nothing, and from larger ones a descent crawls along the plateau around zero.
    """
    noise = law.sigma2 * law.d
    learnable = (np.trace(law.H @ law.Psi) + mean_size(law)) * (law.n + law.d + 1)
    return label_unit(law), float(learnable / noise) if 0 < learnable < noise else 1.0


def eased(law: PromptLaw) -> list[PromptLaw]:
    """Laws that lead a search to the last of them, `law`: those before hide less of how tasks vary.

    A mean task far larger than what varies makes a narrow, bent valley, along which a descent only crawls; and what
    noise or a mean task hides, a search ends without. From law to law the bottom moves little.
    """
    varies = np.trace(law.H @ law.Psi)
    if not varies:
        return [law]
    spread = max(1.0, mean_size(law) / (HIDDEN * varies))
    quiet = min(1.0, LOUD * varies * (law.n + law.d + 1) / (law.sigma2 * law.d)) if law.sigma2 else 1.0
    count = math.ceil(math.log(max(spread, 1 / quiet), EASING))
    shares = [1 - k / count for k in range(count)]
    return [*(replace(law, Psi=spread**s * law.Psi, sigma2=(spread * quiet) ** s * law.sigma2) for s in shares), law]


def finish(laws: list[PromptLaw], build: Builder, parts: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """Risk and effective parameters after Newton's method, as arrays, through the `eased` laws.

    What goes in are those where a descent under the first of the laws ended; they come and go in no units.
    """
    weights = EffectiveParameters.from_numpy(**parts)
    for law in laws:
        weights = _stepped(newton, law, build, weights)
    return _told(laws[-1], weights)


def known(law: PromptLaw, build: Builder, parts: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """The same of effective parameters that `finish` left at the bottom, to the last digit of each."""
    return _told(law, _stepped(settle, law, build, EffectiveParameters.from_numpy(**parts)))


def _stepped(steps: Callable, law: PromptLaw, build: Builder, weights: EffectiveParameters) -> EffectiveParameters:
    """Steps, `newton` or `settle`, in the `units` of the law, over the parts that the model has."""
    labels, unit = units(law)
    trained = vars(build(law.d, rng=np.random.default_rng(0)).effective(law.n))
    scaled = weights.with_labels_scaled(1 / labels).magnified(1 / unit)
    found = steps(law.with_labels_scaled(1 / labels), scaled, w1=trained["w1"].requires_grad, unit=unit)
    return found.magnified(unit).with_labels_scaled(labels)


def _told(law: PromptLaw, weights: EffectiveParameters) -> tuple[float, dict[str, np.ndarray]]:
    """The risk, without what large labels would cost of its digits, and the parts as arrays."""
    labels, _ = units(law)
    risk = ExactRisk(law.with_labels_scaled(1 / labels))(weights.with_labels_scaled(1 / labels)).item()
    return labels**2 * risk, weights.numpy()


def weights_of(model: torch.nn.Module) -> Weights:
    """A model's parameters, by name."""
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def _built(law: PromptLaw, build: Builder, weights: Weights) -> torch.nn.Module:
    model = build(law.d, rng=np.random.default_rng(0))
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return model
