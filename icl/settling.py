"""Training until it is done: constant rates for as long as they help, then down to 0.

How many steps a transformer needs is not known before. So the rates stay at their peak for one stretch after another
until a stretch brings nothing more, and only then fall. What was kept of the constant rates can be gone on from later:
a training that was cut short is not lost to a longer one.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from icl.estimates import Estimate
from icl.optimisers import Schedule
from icl.training import train
from icl.validation import InputError, check_count

LONGEST = 400_000  # steps at constant rates that a file has room for

Begin = Callable[[], tuple[nn.Module, Callable[[int], torch.Tensor], np.random.Generator]]


@dataclass(frozen=True)
class Plan:
    """Peak rates of Adam and Muon, at first risen to over `warm_up` steps, kept for `least` … `most` stretches of
    `stretch` steps, and then linearly taken to 0 over `decay` times as many steps as they were kept.

    Without `most` they are kept for as long as it takes, and a file has room. `least` is more than 2 where the loss of
    the first steps is another one, with which those after it cannot be compared.

    Raises InputError as Schedule.
    """

    learning_rate: float
    muon: float | None
    stretch: int
    most: int | None = None
    decay: float = 1.0
    warm_up: int = 100
    clip: float = 1.0
    least: int = 2

    def __post_init__(self):
        check_count("stretch", self.stretch, least=2)
        check_count("least", self.least, least=2)
        if check_count("most", self.last, least=self.least) * self.stretch > LONGEST:
            raise InputError(f"{self.last} stretches of {self.stretch} steps are more than {LONGEST} steps.")
        if not (math.isfinite(self.decay) and self.decay > 0):
            raise InputError(f"decay must be a positive number, not {self.decay!r}.")
        self.constant()

    def recorded(self) -> dict:
        """What the weights of a training that ended flat depend on, for its record: not when it would have been given
        up, and `least` only where it is said, so that records of before stay readable."""
        left_out = {"most"} | ({"least"} if self.least == Plan.least else set())
        return {key: value for key, value in asdict(self).items() if key not in left_out}

    @property
    def last(self) -> int:
        """The stretch with which the constant rates end, whether it helped or not."""
        return LONGEST // self.stretch if self.most is None else self.most

    def ends(self, constant: int, flat: bool) -> bool:
        """Whether a training is done after so many steps at constant rates: its last stretch `flat`, or none left."""
        return flat or constant >= self.last * self.stretch

    def constant(self) -> Schedule:
        """Warm-up and peak, the same whatever `most` is: a longer plan goes on where a shorter one began to fall."""
        return Schedule(LONGEST, self.learning_rate, self.clip, decay=False, warm_up=self.warm_up, muon=self.muon)

    def falling(self, kept: int) -> Schedule:
        """From the peak to 0 after `kept` steps at it; moments begin anew, over a tenth of the steps."""
        steps = max(2, round(self.decay * kept))
        rising = max(1, min(self.warm_up, steps // 10))
        return replace(self.constant(), steps=steps, decay=True, warm_up=rising, decay_from=rising)


@dataclass(frozen=True)
class Stretches:
    """Mean loss over two neighbouring stretches at constant rates, with standard errors; `flat` if it fell no more.

    It counts as flat where the second mean is not below the first by more than two standard errors of the difference.
    """

    first: Estimate
    second: Estimate

    @classmethod
    def last_two(cls, curve: np.ndarray, stretch: int) -> "Stretches":
        """The last two stretches of so many steps of a loss curve (steps,)."""
        mean = lambda part: Estimate(float(part.mean()), float(part.std(ddof=1) / math.sqrt(len(part))), len(part))
        return cls(*map(mean, (curve[-2 * stretch : -stretch], curve[-stretch:])))

    @property
    def flat(self) -> bool:
        """Whether training on at these rates has stopped to help."""
        return bool(self.first.mean - self.second.mean <= 2 * math.hypot(self.first.stderr, self.second.stderr))


@dataclass(frozen=True)
class Settled:
    """A trained model, its loss curve (steps,), how many of the steps had constant rates, and their last stretches.

    The rates may have begun to fall because `most` was reached: then `stretches.flat` is False.
    """

    model: nn.Module
    curve: np.ndarray
    constant: int
    stretches: Stretches


def train_until_flat(
    begin: Begin, plan: Plan, *, checkpoint: Path, every: int = 500, minutes: float = math.inf, label: str = "training"
) -> Settled | None:
    """Train what `begin` returns, the same each time: a model before its first step, its loss, and their generator.

    A killed run goes on from files beside `checkpoint`, named after it, to the same bytes, and a later one with more
    stretches from the last of these; the caller deletes them (`states`). After more than so many `minutes` it stops,
    saved, and None is returned. Raises InputError as `train`.
    """
    constant = checkpoint.with_suffix(".constant.safetensors")
    end = time.monotonic() + 60 * minutes
    go_on = lambda *run, **named: train(*run, every=every, minutes=(end - time.monotonic()) / 60, **named)
    for k in range(plan.least, plan.last + 1):
        model, loss, rng = begin()
        until = k * plan.stretch
        curve = go_on(model, loss, plan.constant(), rng=rng, checkpoint=constant, until=until, label=label)
        if math.isnan(curve[until - 1]):
            return None
        stretches = Stretches.last_two(curve[:until], plan.stretch)
        if stretches.flat:
            break
    falling, later = checkpoint.with_suffix(f".falling{until}.safetensors"), lambda step: loss(until + step)
    down = go_on(model, later, plan.falling(until), rng=rng, checkpoint=falling, label=f"{label}, falling")
    if math.isnan(down[-1]):
        return None
    return Settled(model, np.concatenate([curve[:until], down]), until, stretches)


def states(checkpoint: Path) -> list[Path]:
    """The files that there are of a run: its constant rates, and each time that they fell."""
    return sorted(checkpoint.parent.glob(f"{checkpoint.stem}.*.safetensors"))
