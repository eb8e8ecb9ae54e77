"""Chapter 7's trained weights: a recipe's training, whole or in slices, and its checkpoint read back."""

import math
import platform
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from icl import checkpoints, training
from icl.chapters.trained_transformers.recipes import Recipe, check_recipe
from icl.checkpoints import FOLDER, STATES
from icl.settling import Plan, states, train_until_flat
from icl.validation import InputError, check_count

SLICE = 500  # steps between two saves
REPLAYED = 20  # first losses that a checkpoint records
TEST_PROMPTS = 4096


def checkpoint_name(recipe: str, seed: int) -> str:
    """The file of a trained recipe."""
    return f"{recipe}-seed{seed}.safetensors"


def generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Of a training's weights and sequences, and of its test."""
    return np.random.default_rng([check_count("seed", seed, least=0), 60]), np.random.default_rng([seed, 61])


def train_recipe(
    recipe: Recipe,
    seed: int,
    folder: Path,
    *,
    state: Path | None = None,
    minutes: float = math.inf,
    device: str = "cpu",
) -> Path | None:
    """Train and write the checkpoint (weights and record) into `folder`; returns its path.

    `state` is the file in which a killed run goes on, and which a finished one deletes; with it, a run of more than so
    many `minutes` stops, saved, and None is returned. Weights are stored in float16, which no test error notices.
    Raises InputError as `training.train`.
    """
    test = generators(seed)[1]
    named = dict(every=SLICE, minutes=minutes, label=f"{recipe.name}, seed {seed}")
    run = _until_flat if isinstance(recipe.schedule, Plan) else _to_schedule
    if (trained := run(recipe, seed, state, device, named)) is None:
        return None
    model, curve, ends = trained
    model.eval()
    record = {
        "recipe": recipe.configuration(),
        "seed": seed,
        "first_losses": curve[:REPLAYED].tolist(),
        "curve": training.thinned(curve),
        "test_error": tested(recipe, model, test),
        "made_with": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
        | {"machine": f"{platform.machine()}, {device}, {torch.get_num_threads()} thread(s)"}
        | ({"products": recipe.products_on(device)} if recipe.products else {}),
    }
    weights = {name: value.cpu().half() for name, value in model.state_dict().items()}
    path = checkpoints.save(folder / checkpoint_name(recipe.name, seed), weights, record | ends)
    for file in [state, *states(state)] if state is not None else []:
        file.unlink(missing_ok=True)
    return path


def begin(recipe: Recipe, seed: int, device: str = "cpu"):
    """Model, loss of a step and generator of a training before its first step."""
    rng, _ = generators(seed)
    model = recipe.build(rng).to(device)
    return model, recipe.loss(model, rng), rng


def _to_schedule(recipe: Recipe, seed: int, state: Path | None, device: str, named: dict):
    """Model, curve (steps,) and what the record tells of its steps; None where it was stopped."""
    model, loss, rng = begin(recipe, seed, device)
    curve = training.train(model, loss, recipe.schedule, rng=rng, checkpoint=state, **named)
    steps = {"constant": recipe.schedule.kept, "all": len(curve)}
    return None if math.isnan(curve[-1]) else (model, curve, {"steps": steps})


def _until_flat(recipe: Recipe, seed: int, state: Path | None, device: str, named: dict):
    """The same of a Plan; the record tells its steps, and whether the last stretch at constant rates was flat."""
    with tempfile.TemporaryDirectory() as scratch:
        checkpoint = state or Path(scratch) / "state"
        found = train_until_flat(lambda: begin(recipe, seed, device), recipe.schedule, checkpoint=checkpoint, **named)
    if found is None:
        return None
    steps = {"constant": found.constant, "all": len(found.curve)}
    return found.model, found.curve, {"steps": steps, "flat": found.stretches.flat}


def tested(recipe: Recipe, model: torch.nn.Module, rng: np.random.Generator) -> float:
    """Mean squared error on fresh sequences, over queries or positions alike."""
    with torch.no_grad():
        parts = [recipe.squared_errors(model, rng, 512).double().mean().item() for _ in range(TEST_PROMPTS // 512)]
    return float(np.mean(parts))


def load_model(folder: Path, recipe: Recipe, seed: int) -> tuple[torch.nn.Module, dict]:
    """The trained model, float32, and its record.

    Raises InputError, naming file and reason, for a file that is not intact or not this recipe and seed.
    """
    path = folder / checkpoint_name(recipe.name, seed)
    tensors, record = checkpoints.load(path)
    wanted = recipe.configuration()
    found = record.get("recipe") if isinstance(record, dict) else None
    if found != wanted or record.get("seed") != seed:
        differing = [key for key in wanted if not isinstance(found, dict) or found.get(key) != wanted[key]] or ["seed"]
        raise InputError(
            f"{path} holds another configuration than recipe {recipe.name!r}, seed {seed} (it differs in"
            f" {', '.join(differing)}); train it with `python -m icl train {recipe.name} --seed {seed}`."
        )
    plan, steps = recipe.schedule, record.get("steps")
    if isinstance(plan, Plan) and not plan.ends(steps["constant"], record["flat"]):
        raise InputError(
            f"{path} was given up after {steps['constant']} of {plan.last * plan.stretch} steps at constant rates,"
            f" while they still helped; go on with `python -m icl train {recipe.name} --seed {seed}`."
        )
    model = recipe.build(np.random.default_rng(0))
    expected = {name: value.shape for name, value in model.state_dict().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise InputError(f"{path} does not hold the weights of recipe {recipe.name!r}; delete it and train again.")
    model.load_state_dict(tensors)  # float16 becomes float32
    return model.eval(), record


def standard(recipe: Recipe) -> Recipe:
    """The same recipe at about a quarter of its steps: what the standard profile retrains, with seeds of its own."""
    quarter = lambda steps: max(2, steps // 4)
    schedule = recipe.schedule
    if isinstance(schedule, Plan):
        return replace(recipe, schedule=replace(schedule, stretch=quarter(schedule.stretch), most=8))
    return replace(recipe, schedule=replace(schedule, steps=quarter(schedule.steps)))


def model_of(name: str, run: int, profile: str, seed: int) -> tuple[torch.nn.Module, dict]:
    """Run 0, 1, … of a recipe: shipped weights and their record, or, at the standard profile, trained now.

    There the seeds are seed + 10, seed + 11, …, none of them shipped; a training that was killed goes on.
    """
    recipe = check_recipe(name)
    if profile != "standard":
        return load_model(FOLDER, recipe, run)
    recipe, seed, folder = standard(recipe), seed + 10 + run, STATES / "standard"
    try:
        return load_model(folder, recipe, seed)
    except InputError:
        train_recipe(recipe, seed, folder, state=folder / f"{checkpoint_name(name, seed)}.state")
    return load_model(folder, recipe, seed)


def replay(recipe: Recipe, seed: int) -> np.ndarray:
    """The first losses of the training, run again from its seed: (REPLAYED,)."""
    model, loss, rng = begin(recipe, seed)
    schedule = recipe.schedule.constant() if isinstance(recipe.schedule, Plan) else recipe.schedule
    return training.train(model, loss, schedule, rng=rng, until=REPLAYED, label=f"{recipe.name}, replayed")[:REPLAYED]
