"""Trainings from the command line, of chapters 4, 7 and 10 and the front page, each on one thread."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from icl.chapters.front_page import recipe as front
from icl.chapters.how_many_tasks import transformer as tasks
from icl.chapters.mlp_benefit import gpt_sweep, table1
from icl.chapters.trained_transformers import recipes, weights
from icl.settling import states
from icl.validation import InputError

_STOPPED = "stopped and saved; the same command goes on."
_KEPT = "there already; --anew trains it again."


def missing() -> list[str]:
    """What `icl train` has to be asked for until the repository holds every result intact, the largest models first."""
    there = lambda name, seed: _succeeds(weights.load_model, weights.FOLDER, recipes.RECIPES[name], seed)
    asked = [f"{name} --seed {seed}" for name, seed in reversed(recipes.SHIPPED) if not there(name, seed)]
    others = {
        "gpt_sweep": all(gpt_sweep.is_there(*run, gpt_sweep.RESULTS) for run in gpt_sweep.every_run()),
        "how_many_tasks": all(
            _succeeds(tasks.load, K, seed, tasks.FOLDER) for K in tasks.COUNTS for seed in tasks.SEEDS
        ),
        "front_page": _succeeds(front.load, front.FOLDER, seed=0),
    }
    return asked + [name for name, complete in others.items() if not complete]


def train_all(
    wanted: list[tuple[str, int]], folder: Path, *, anew: bool = False, minutes: float | None = None, device="cpu"
) -> Iterator[str]:
    """Train each (recipe, seed) into `folder`, saying of each what came of it.

    A training that was killed goes on from its file under `_build/train`; `minutes` stops each after so long. What
    `folder` holds intact, of the same recipe and seed, is left alone, unless `anew`. Raises InputError for a device
    that this machine does not have.
    """
    _prepare(device)
    for name, seed in wanted:
        recipe = recipes.RECIPES[name]
        if not anew and _succeeds(weights.load_model, folder, recipe, seed):
            yield f"{name}, seed {seed}: {_KEPT}"
            continue
        state = weights.STATES / weights.checkpoint_name(name, seed)
        path = weights.train_recipe(recipe, seed, folder, state=state, minutes=minutes or math.inf, device=device)
        if path is None:
            yield f"{name}, seed {seed}: {_STOPPED}"
            continue
        error = weights.load_model(folder, recipe, seed)[1]["test_error"]
        yield f"{path}: test error {error:.4g}"


def train_table(
    seed: int, path: Path, *, anew: bool = False, minutes: float | None = None, device="cpu"
) -> Iterator[str]:
    """Train Table 1's four entries and add their losses to the file at `path`; options and errors as `train_all`."""
    runs = {f"{id}, seed {seed}": (id, seed, path) for id in table1.ENTRIES}
    there, train = lambda *run: not table1.unfinished(*run), table1.train_entry
    return _add_results(runs, there, train, "loss", anew=anew, minutes=minutes, device=device)


def train_sweep(path: Path, *, anew: bool = False, minutes: float | None = None, device="cpu") -> Iterator[str]:
    """Train chapter 4's small GPTs and add their risks to the file at `path`; options and errors as `train_all`."""
    runs = {"{}, rate {:g}, seed {}".format(*run): (*run, path) for run in gpt_sweep.every_run()}
    there, train = gpt_sweep.is_there, gpt_sweep.train_run
    return _add_results(runs, there, train, "risk", anew=anew, minutes=minutes, device=device)


def _add_results(
    runs: dict[str, tuple], there: Callable, train: Callable, what: str, *, anew: bool, minutes: float | None, device
) -> Iterator[str]:
    """Train each of the runs, by name, whose result is not `there` in its file, the last of its arguments."""
    _prepare(device)
    for named, run in runs.items():
        if not anew and there(*run):
            yield f"{named}: {_KEPT}"
            continue
        found = train(*run, minutes=minutes or math.inf, device=device)
        if found is None:
            yield f"{named}: {_STOPPED}"
            return
        yield f"{named}: test {what} {found.mean:.4g} ± {found.stderr:.1g}, in {run[-1]}"


def train_tasks(
    folder: Path | None, *, anew: bool = False, minutes: float | None = None, device="cpu"
) -> Iterator[str]:
    """Train chapter 10's transformers into `folder`, by default where they are shipped; options as `train_all`.

    Raises InputError for another device than the processor, on which each takes minutes.
    """
    if device != "cpu":
        raise InputError("chapter 10's trainings are small: leave --device away.")
    _prepare(device)
    folder = folder or tasks.FOLDER
    for count in tasks.COUNTS:
        for seed in tasks.SEEDS:
            name = tasks.file_name(count, seed).removesuffix(".safetensors")
            if not anew and _succeeds(tasks.load, count, seed, folder):
                yield f"{name}: {_KEPT}"
                continue
            path = tasks.ship(count, seed, folder, minutes=minutes or math.inf)
            yield f"{path}" if path else f"{name}: {_STOPPED}"


def train_front_page(
    seed: int, folder: Path | None, *, anew: bool = False, minutes: float | None = None, device="cpu"
) -> Iterator[str]:
    """Train the front page's transformer into `folder`, by default where it is shipped; options as `train_all`.

    Raises InputError for another device than the processor, on which it takes minutes.
    """
    if device != "cpu":
        raise InputError("the front page's training is small: leave --device away.")
    _prepare(device)
    folder, state = folder or front.FOLDER, weights.STATES / f"{front.NAME}-seed{seed}.safetensors"
    if not anew and _succeeds(front.load, folder, seed=seed):
        yield f"{front.NAME}, seed {seed}: {_KEPT}"
        return
    path = front.train_checkpoint(front.RECIPE, seed, folder, state=state, minutes=minutes or math.inf)
    if path is None:
        yield f"{front.NAME}, seed {seed}: {_STOPPED}"
        return
    for file in states(state):
        file.unlink()
    shipped = front.load(folder, seed=seed)
    risks = shipped.record["risks"]
    above = risks[f"layer_{shipped.model.config.layers}"]
    yield f"{path}: {above['mean']:.4f} ± {above['stderr']:.1g} above Bayes, who errs by {risks['bayes']['mean']:.3f}"


def _prepare(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("this machine has no CUDA GPU; leave --device away to train on the processor.")
    torch.set_num_threads(1)  # the first losses are recorded, and must not depend on the machine's cores


def _succeeds(load: Callable, *arguments, **named) -> bool:
    """Whether a checkpoint is there and intact."""
    try:
        load(*arguments, **named)
    except InputError:
        return False
    return True
