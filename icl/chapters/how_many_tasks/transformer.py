"""Chapter 10's deep transformers: encoders trained on prompts of a few tasks, of many, of ever new ones.

After Raventós, Paul, Chen and Ganguli (2023), much smaller. `ship` makes a training in minutes: constant rates until a
stretch no longer helps, then down to 0. The book carries the weights; the standard profile trains again, shorter, and
the paper profile in full.
"""

import math
import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from icl import checkpoints, training
from icl.checkpoints import FOLDER as SHIPPED
from icl.checkpoints import STATES
from icl.models.encoder import Encoder, EncoderConfig
from icl.randomness import entropy
from icl.settling import Plan, Settled, states, train_until_flat
from icl.validation import InputError

D, N, QUERIES, SIGMA2 = 3, 6, 6, 0.25
MODEL = EncoderConfig(D, layers=3, heads=3, width=24)
BATCH = 64
PLAN = Plan(2e-3, None, stretch=3000, decay=0.4)
SHORTER = Plan(2e-3, None, stretch=1500, most=2, decay=0.4)  # what the standard profile has time for
FRESH = 0  # in place of a number of tasks: every prompt has a task of its own
COUNTS, SEEDS = (4, 16, 64, 256, FRESH), (0, 1, 2)
REPLAYED = 20  # first losses that a checkpoint records
FOLDER = SHIPPED / "how_many_tasks"
COMMAND = "python -m icl train how_many_tasks"


@dataclass(frozen=True)
class Batch:
    """Prompts with several queries each: X (B, n, D), y (B, n), queries (B, Q, D), answers (B, Q) with their noise."""

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    answers: np.ndarray


def draw(rng: np.random.Generator, B: int, tasks: np.ndarray | None = None) -> Batch:
    """B prompts of tasks drawn from the rows of `tasks` (K, D), or, without them, from N(0, I)."""
    w = rng.standard_normal((B, D)) if tasks is None else tasks[rng.integers(len(tasks), size=B)]
    x = rng.standard_normal((B, N + QUERIES, D))
    y = np.einsum("bnd,bd->bn", x, w) + np.sqrt(SIGMA2) * rng.standard_normal((B, N + QUERIES))
    return Batch(x[:, :N], y[:, :N], x[:, N:], y[:, N:])


def predictions(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """The model's answers (B, Q), float32, differentiable."""
    return model(*(torch.from_numpy(part).float() for part in (batch.X, batch.y, batch.queries)))


def file_name(count: int, seed: int) -> str:
    """The checkpoint of a training on `count` tasks."""
    return f"tasks_{count or 'fresh'}-seed{seed}.safetensors"


def start(count: int, seed: int) -> tuple[np.random.Generator, np.ndarray | None, Encoder]:
    """The generator of a training, its tasks (K, D), None for fresh ones, and the model before it."""
    rng = np.random.default_rng(entropy("10_how_many_tasks", seed, "training on tasks", count))
    tasks = rng.standard_normal((count, D)) if count else None
    return rng, tasks, Encoder(MODEL, rng=rng)


def begin(count: int, seed: int):
    """Model, loss of a step and generator of a training, as `settling.train_until_flat` wants them."""
    rng, tasks, model = start(count, seed)

    def loss(step):
        batch = draw(rng, BATCH, tasks)
        return (predictions(model, batch) - torch.from_numpy(batch.answers).float()).square().mean()

    return model, loss, rng


def train(
    count: int, seed: int, *, plan: Plan = PLAN, folder: Path = STATES, minutes: float = math.inf
) -> Settled | None:
    """Train by Adam on fresh prompts of `count` tasks until it is done, or the plan's stretches are.

    A killed run goes on from its files in `folder`; after more than so many `minutes` it stops, saved: None.
    """
    label = f"{count or 'fresh'} tasks, seed {seed}"
    named = dict(checkpoint=folder / file_name(count, seed), minutes=minutes, label=label)
    settled = train_until_flat(lambda: begin(count, seed), plan, **named)
    if settled is not None:
        settled.model.eval()
        for file in states(folder / file_name(count, seed)):
            file.unlink()
    return settled


def replay(count: int, seed: int, steps: int = REPLAYED) -> np.ndarray:
    """The first losses of a training, run again from its seed: (steps,)."""
    model, loss, rng = begin(count, seed)
    return training.train(model, loss, PLAN.constant(), rng=rng, until=steps, label="replayed")[:steps]


def configuration() -> dict:
    """What every training shares, as its record keeps it."""
    sizes = dict(d=D, n=N, queries=QUERIES, sigma2=SIGMA2, batch=BATCH, plan=PLAN.recorded())
    return sizes | dict(layers=MODEL.layers, heads=MODEL.heads, width=MODEL.width)


def ship(
    count: int, seed: int, folder: Path = FOLDER, *, state: Path = STATES, minutes: float = math.inf
) -> Path | None:
    """Train and write the checkpoint: weights in float16, the tasks, and a record; None as `train`."""
    settled = train(count, seed, folder=state, minutes=minutes)
    if settled is None:
        return None
    tensors = {name: value.half() for name, value in settled.model.state_dict().items()}
    if (tasks := start(count, seed)[1]) is not None:
        tensors["tasks"] = torch.from_numpy(tasks)
    record = {
        "recipe": configuration(),
        "count": count,
        "seed": seed,
        "steps": {"constant": settled.constant, "all": len(settled.curve)},
        "flat": settled.stretches.flat,
        "first_losses": settled.curve[:REPLAYED].tolist(),
        "curve": training.thinned(settled.curve),
        "made_with": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
        | {"machine": f"{platform.machine()}, cpu, {torch.get_num_threads()} thread(s)"},
    }
    return checkpoints.save(folder / file_name(count, seed), tensors, record)


def load(count: int, seed: int, folder: Path = FOLDER) -> tuple[np.ndarray | None, Encoder, dict]:
    """A shipped training's tasks (K, D), None for fresh ones, its model, float32, and its record.

    Raises InputError for a file that is not intact, holds another training, or was given up too early.
    """
    path = folder / file_name(count, seed)
    tensors, record = checkpoints.load(path)
    wanted = {"recipe": configuration(), "count": count, "seed": seed}
    if {key: record.get(key) for key in wanted} != wanted:
        named = f"{count or 'fresh'} tasks, seed {seed}"
        raise InputError(f"{path} holds another training than {named}; `{COMMAND}` trains it.")
    if not PLAN.ends(record["steps"]["constant"], record["flat"]):
        raise InputError(f"{path} was given up while constant rates still helped; `{COMMAND}` trains it again.")
    tasks = tensors.pop("tasks").numpy() if count else None
    model = Encoder(MODEL, rng=np.random.default_rng(0))
    model.load_state_dict(tensors)  # float16 becomes float32
    return tasks, model.eval(), record


def trained(count: int, seed: int, profile: str) -> tuple[np.ndarray | None, Encoder]:
    """Tasks (K, D) and model: as shipped, or, at the other profiles, trained now from a seed of its own."""
    if profile == "quick":
        return load(count, seed)[:2]
    plan = PLAN if profile == "paper" else SHORTER
    return start(count, seed + 10)[1], train(count, seed + 10, plan=plan, folder=STATES / profile).model
