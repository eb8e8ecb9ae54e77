"""Trainings from the command line, chapter 7's and Table 1: one after the other, on one thread, resumable."""

import math
from collections.abc import Iterator
from pathlib import Path

import torch

from icl.chapters.mlp_benefit import table1
from icl.chapters.trained_transformers import recipes
from icl.validation import InputError

_STOPPED = "stopped and saved; the same command goes on."
_KEPT = "there already; --anew trains it again."


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
        if not anew and _intact(recipe, seed, folder):
            yield f"{name}, seed {seed}: {_KEPT}"
            continue
        state = recipes.STATES / recipes.checkpoint_name(name, seed)
        path = recipes.train_recipe(recipe, seed, folder, state=state, minutes=minutes or math.inf, device=device)
        if path is None:
            yield f"{name}, seed {seed}: {_STOPPED}"
            continue
        state.unlink()
        error = recipes.load_model(folder, recipe, seed)[1]["test_error"]
        yield f"{path}: test error {error:.4g}"


def train_table(
    seed: int, path: Path, *, anew: bool = False, minutes: float | None = None, device="cpu"
) -> Iterator[str]:
    """Train Table 1's four entries and add their losses to the file at `path`; options and errors as `train_all`."""
    _prepare(device)
    for id in table1.ENTRIES:
        if not anew and not table1.unfinished(id, seed, path):
            yield f"{id}, seed {seed}: {_KEPT}"
            continue
        found = table1.train_entry(id, seed, path, minutes=minutes or math.inf, device=device)
        if found is None:
            yield f"{id}, seed {seed}: {_STOPPED}"
            return
        yield f"{id}, seed {seed}: test loss {found.mean:.4g} ± {found.stderr:.1g}, in {path}"


def _prepare(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("this machine has no CUDA GPU; leave --device away to train on the processor.")
    torch.set_num_threads(1)  # the first losses are recorded, and must not depend on the machine's cores


def _intact(recipe: recipes.Recipe, seed: int, folder: Path) -> bool:
    try:
        recipes.load_model(folder, recipe, seed)
    except InputError:
        return False
    return True
