"""The front page's training: a small encoder on points about lines, until more steps bring nothing more.

`python -m icl train front_page` runs it and writes the checkpoint from which the page's transformer is read: weights, a
read-out for each layer, fitted on prompts of their own, and a record of how near all of them come to Bayes.
"""

import json
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch

from icl import checkpoints, training
from icl.chapters.front_page import law
from icl.estimates import monte_carlo
from icl.models.encoder import Encoder, EncoderConfig
from icl.probes import ReadOuts, fit_readouts
from icl.settling import Plan, Settled, train_until_flat
from icl.theory import lines
from icl.validation import InputError, check_count

NAME = "front_page"
# A folder of its own: chapter 7 reads all of the one above, and does not depend on this training.
FOLDER = checkpoints.FOLDER / NAME
REPLAYED = 20  # first losses that the checkpoint records
SLICE = 500  # steps between two saves
FITTED, TESTED, ASKED = 1_000, 2_000, 8  # prompts of each length to fit read-outs on and to test on; queries of each


@dataclass(frozen=True)
class Recipe:
    """The training, whole: model, contexts a step, queries a context, and the plan of Adam's and Muon's rates."""

    model: EncoderConfig = field(default_factory=lambda: EncoderConfig(2, layers=5, heads=4, width=32))
    batch: int = 48
    queries: int = 8
    plan: Plan = Plan(2e-3, 0.006, stretch=1750, most=4, decay=0.4)

    def configuration(self) -> dict:
        """Everything that the trained weights depend on but the seed, as JSON-able values."""
        return json.loads(json.dumps(asdict(self) | {"plan": self.plan.recorded()}))

    def begin(self, seed: int) -> tuple[torch.nn.Module, Callable[[int], torch.Tensor], np.random.Generator]:
        """The model before its first step, its loss (a scalar) and their generator, for `train_until_flat`."""
        rng = np.random.default_rng([check_count("seed", seed, least=0), 70])
        model = Encoder(self.model, rng=rng)
        return model, lambda step: self.squared_errors(model, rng).mean(), rng

    def squared_errors(self, model: torch.nn.Module, rng: np.random.Generator) -> torch.Tensor:
        """(answer − y)² on a batch of fresh prompts, all of one length: (batch, queries)."""
        n = int(rng.integers(1, law.MOST + 1))
        prompts = law.draw(rng, self.batch, n, self.queries)
        X, y, asked, answers = (
            torch.from_numpy(part).float() for part in (prompts.X, prompts.y, prompts.x_query, prompts.y_query)
        )
        return (model(X, y, asked) - answers) ** 2


RECIPE = Recipe()


@dataclass(frozen=True)
class Shipped:
    """What the checkpoint holds: the model, float64, a read-out for each layer but the last, and the record.

    The last layer is read by the model's own head.
    """

    model: Encoder
    readouts: ReadOuts
    record: dict

    def answers(self, X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """What each layer would answer, (layers, B, Q), the model's own answer last; shapes as `law.draw`."""
        with torch.no_grad():
            states = self.model.states(*map(torch.from_numpy, (X, y, queries)))
            own = self.model.read_out(self.model.norm(states[-1]))[..., 0]
        early = self.readouts(torch.stack(states[1:-1]).numpy())
        return np.concatenate([early, own.numpy()[None]])


def train_checkpoint(recipe: Recipe, seed: int, folder: Path, *, state: Path, minutes: float = math.inf) -> Path | None:
    """Train and write the checkpoint into `folder`; returns its path.

    A killed run goes on from files beside `state`; after more than so many `minutes` it stops, saved, and None is
    returned. Weights are stored in float16. Raises InputError as `training.train`.
    """
    label = f"{NAME}, seed {seed}"
    named = dict(checkpoint=state, every=SLICE, minutes=minutes, label=label)
    settled = train_until_flat(lambda: recipe.begin(seed), recipe.plan, **named)
    if settled is None:
        return None
    weights = {name: value.half() for name, value in settled.model.state_dict().items()}
    model = _restored(recipe, weights)
    readouts = _fit(model, np.random.default_rng([seed, 71]))
    record = _record(recipe, seed, settled)
    shipped = Shipped(model, readouts, record)
    record["risks"] = measured(shipped, np.random.default_rng([seed, 72]))
    tensors = {f"model.{name}": value for name, value in weights.items()}
    tensors |= {f"readouts.{name}": torch.from_numpy(value) for name, value in vars(readouts).items()}
    return checkpoints.save(folder / f"{NAME}-seed{seed}.safetensors", tensors, record)


def load(folder: Path = FOLDER, recipe: Recipe = RECIPE, seed: int = 0) -> Shipped:
    """The checkpoint in `folder`. Raises InputError for a file that is not intact or of another recipe or seed."""
    path = folder / f"{NAME}-seed{seed}.safetensors"
    tensors, record = checkpoints.load(path)
    if not isinstance(record, dict) or (record.get("recipe"), record.get("seed")) != (recipe.configuration(), seed):
        raise InputError(f"{path} is of another recipe or seed; `python -m icl train {NAME} --anew` trains it again.")
    part = lambda head: {name[len(head) :]: value for name, value in tensors.items() if name.startswith(head)}
    readouts = ReadOuts(**{name: value.numpy() for name, value in part("readouts.").items()})
    return Shipped(_restored(recipe, part("model.")), readouts, record)


def measured(shipped: Shipped, rng: np.random.Generator) -> dict:
    """Risks on fresh prompts of every length, each mean with its standard error.

    `bayes` is E (Bayes − y)². Of a layer, and of one layer of linear attention, it is E (answer − Bayes)²: exactly the
    risk beyond that of Bayes, because Bayes is the mean of y given the prompt.
    """
    step = law.best_step()

    def one(B):  # the lengths alternate, so that each has the same share of the draws
        found = [_errors(shipped, law.draw(rng, B // law.MOST, n, ASKED), step) for n in law.LENGTHS]
        return np.concatenate(found)

    estimate = monte_carlo(one, TESTED * law.MOST, chunk=200 * law.MOST)
    named = ["bayes", "one_layer", *(f"layer_{k + 1}" for k in range(shipped.model.config.layers))]
    return {
        name: {"mean": float(mean), "stderr": float(stderr)}
        for name, mean, stderr in zip(named, estimate.mean, estimate.stderr, strict=True)
    } | {"prompts": estimate.count}


def _errors(shipped: Shipped, prompts, step: np.ndarray) -> np.ndarray:
    """Of each prompt, the mean over queries of (Bayes − y)² and of each other answer's distance to Bayes, squared."""
    X, y, asked = prompts.X, prompts.y, prompts.x_query
    at = lambda w: np.einsum("bqd,bd->bq", asked, w)
    bayes = at(lines.posterior_mean(X, y, law.SIGMA2))
    others = [at(lines.one_layer(X, y, step)), *shipped.answers(X, y, asked)]
    return np.stack([(bayes - prompts.y_query) ** 2, *((other - bayes) ** 2 for other in others)], -1).mean(1)


def replay(recipe: Recipe, seed: int, steps: int = REPLAYED) -> np.ndarray:
    """The first losses of the training, run again from its seed: (steps,)."""
    model, loss, rng = recipe.begin(seed)
    return training.train(model, loss, recipe.plan.constant(), rng=rng, until=steps, label="replayed")[:steps]


def _restored(recipe: Recipe, weights: dict[str, torch.Tensor]) -> Encoder:
    """The model with the weights as stored, in float64."""
    model = Encoder(recipe.model, rng=np.random.default_rng(0))
    try:
        model.load_state_dict(weights)  # float16 becomes float32
    except RuntimeError as error:
        raise InputError(f"the checkpoint does not hold the weights of this recipe ({error}).") from None
    return model.double().eval()


def _fit(model: Encoder, rng: np.random.Generator) -> ReadOuts:
    """A read-out of the labels for every layer but the last, on prompts of all lengths."""
    found, labels = [], []
    for n in law.LENGTHS:
        prompts = law.draw(rng, FITTED, n, ASKED)
        with torch.no_grad():
            states = model.states(*map(torch.from_numpy, (prompts.X, prompts.y, prompts.x_query)))
        found.append(torch.stack(states[1:-1]).numpy())
        labels.append(prompts.y_query)
    return fit_readouts(np.concatenate(found, axis=1), np.concatenate(labels))


def _record(recipe: Recipe, seed: int, settled: Settled) -> dict:
    pair = lambda estimate: {"mean": estimate.mean, "stderr": estimate.stderr}
    return {
        "recipe": recipe.configuration(),
        "seed": seed,
        "steps": {"constant": settled.constant, "all": len(settled.curve)},
        "last_stretches": {"first": pair(settled.stretches.first), "second": pair(settled.stretches.second)}
        | {"flat": settled.stretches.flat},
        "first_losses": settled.curve[:REPLAYED].tolist(),
        "curve": training.thinned(settled.curve),
        "made_with": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
        | {"machine": f"{platform.machine()}, cpu, {torch.get_num_threads()} thread(s)"},
    }
