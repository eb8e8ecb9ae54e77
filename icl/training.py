"""Training: L-BFGS to the bottom of an exact loss, and Adam or Muon on any loss, exact or sampled, resumable.

A loss returns a scalar tensor. `train` asks it with the number of the step, by which a curriculum knows where it
stands; a sampled one draws fresh prompts from the generator that `train` is given, whose state is part of every
checkpoint.
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize
from torch import nn
from torch.nn.utils import parameters_to_vector

from icl import checkpoints, progress
from icl.optimisers import Optimiser, Schedule
from icl.validation import InputError, check_count

BINS = 100  # stretches of a thinned curve


@dataclass(frozen=True)
class Minimum:
    """Where L-BFGS stopped: the loss, the largest gradient entry there, and its iterations."""

    loss: float
    gradient: float
    iterations: int


def minimise(model: nn.Module, loss: Callable[[], torch.Tensor], *, iterations: int = 5000) -> Minimum:
    """Minimise a deterministic float64 loss of the model's parameters by L-BFGS with autograd's gradient, in place.

    Raises InputError for parameters that are not float64 and for a loss that is not finite.
    """
    parameters = list(model.parameters())

    def loss_and_gradient():
        value = loss()
        return value.item(), [gradient.numpy() for gradient in torch.autograd.grad(value, parameters)]

    return minimise_by_hand(model, loss_and_gradient, iterations=iterations)


def minimise_by_hand(
    model: nn.Module, loss_and_gradient: Callable[[], tuple[float, Sequence[np.ndarray]]], *, iterations: int = 5000
) -> Minimum:
    """`minimise` of a loss that brings its gradient along: an array for each parameter, in the model's order.

    SciPy's L-BFGS-B, run until neither loss nor gradient can improve in float64. Raises InputError as `minimise`.
    """
    parameters = list(model.parameters())
    if any(parameter.dtype != torch.float64 for parameter in parameters):
        raise InputError("minimise needs float64 parameters: build the model with dtype=torch.float64.")

    arrays = [parameter.detach().numpy() for parameter in parameters]  # of the parameters' own memory
    ends = np.cumsum([array.size for array in arrays])[:-1]

    def put(vector):
        for array, part in zip(arrays, np.split(vector, ends), strict=True):
            array[...] = part.reshape(array.shape)

    def at(vector):
        put(vector)
        value, gradients = loss_and_gradient()
        return value, np.concatenate([gradient.reshape(-1) for gradient in gradients])

    start = np.concatenate([array.ravel() for array in arrays])
    options = dict(maxiter=iterations, maxfun=2 * iterations, ftol=0.0, gtol=1e-13, maxcor=30)
    result = minimize(at, start, jac=True, method="L-BFGS-B", options=options)
    if not math.isfinite(result.fun):
        raise InputError("the loss is not finite along the descent: start from smaller weights.")
    put(result.x)
    return Minimum(float(result.fun), float(np.abs(result.jac).max()), int(result.nit))


def train(
    model: nn.Module,
    loss: Callable[[int], torch.Tensor],
    schedule: Schedule,
    *,
    rng: np.random.Generator | None = None,
    checkpoint: Path | str | None = None,
    every: int = 500,
    until: int | None = None,
    minutes: float = math.inf,
    label: str = "training",
) -> np.ndarray:
    """Adam, and Muon if the schedule has it, on `loss`, a function of the step: the losses before each step, (steps,).

    The model ends trained.

    `until` ends the run, saved, before that step; the losses from there on are NaN.

    With `checkpoint`, the run saves itself there every `every` steps and, started again, goes on from
    that file to the same bytes as if never interrupted: weights, the optimiser's moments, `rng` and curve are
    all in it. After more than so many `minutes` it stops at the next save; the losses from there on are NaN.
    Raises InputError for a checkpoint of another run or a loss that is not finite.
    """
    started = time.monotonic()
    optimiser = Optimiser(model, schedule)
    curve = np.full(schedule.steps, np.nan)
    run = _Run(model, optimiser, schedule, rng, curve, _identity(model, schedule, rng))
    first = run.restore(checkpoint) if checkpoint is not None and Path(checkpoint).exists() else 0
    last = schedule.steps if until is None else min(until, schedule.steps)
    with progress.bar(last, label, initial=first) as bar:
        for step in range(first, last):
            value = loss(step)
            curve[step] = value.item()
            if not math.isfinite(curve[step]):
                raise InputError(f"{label}: the loss is not finite at step {step}; lower the learning rate.")
            optimiser.zero_grad()
            value.backward()
            optimiser.step(step)
            bar.set_postfix_str(f"loss {curve[step]:.5g}", refresh=False)
            bar.update()
            if checkpoint is not None and ((step + 1) % every == 0 or step + 1 == last):
                run.save(checkpoint, step + 1)
                if time.monotonic() - started > 60 * minutes:
                    break
    return curve


def thinned(curve: np.ndarray) -> list[float]:
    """A loss curve (steps,) as records keep it: its means over BINS stretches, or all of it where it is shorter."""
    return [float(part.mean()) for part in np.array_split(curve, min(BINS, len(curve)))]


def _identity(model: nn.Module, schedule: Schedule, rng: np.random.Generator | None) -> dict:
    """What makes two runs the same one: schedule, shapes, and the weights and random numbers they start from."""
    shapes = {name: list(parameter.shape) for name, parameter in model.named_parameters()}
    settings = {name: repr(value) for name, value in vars(schedule).items()}
    start = hashlib.sha256(repr(None if rng is None else rng.bit_generator.state).encode())
    start.update(parameters_to_vector(model.parameters()).detach().cpu().numpy().tobytes())
    return {"schedule": settings, "shapes": shapes, "start": start.hexdigest()}


@dataclass(frozen=True)
class _Run:
    """All that a training run consists of, to and from one checkpoint file."""

    model: nn.Module
    optimiser: Optimiser
    schedule: Schedule
    rng: np.random.Generator | None
    curve: np.ndarray
    identity: dict

    def save(self, path, step: int) -> None:
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= self.optimiser.tensors()
        tensors["curve"] = torch.from_numpy(self.curve)
        state = None if self.rng is None else self.rng.bit_generator.state
        checkpoints.save(path, tensors, {"step": step, "rng": state, **self.identity})

    def restore(self, path) -> int:
        tensors, record = checkpoints.load(path)
        if not isinstance(record, dict) or {key: record.get(key) for key in self.identity} != self.identity:
            raise InputError(f"{path} is a checkpoint of another run (sizes, schedule or seed differ); move it away.")
        try:
            return self._put_back(tensors, record)
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise InputError(f"{path} does not hold a whole training run ({error}); delete it.") from None

    def _put_back(self, tensors, record) -> int:
        step = check_count("step", record["step"])
        if step > self.schedule.steps or tensors["curve"].shape != self.curve.shape:
            raise InputError("it has more steps than the schedule")
        self.model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
        self.optimiser.put_back(tensors)
        if self.rng is not None:
            self.rng.bit_generator.state = record["rng"]
        self.curve[:] = tensors["curve"].numpy()
        return step
