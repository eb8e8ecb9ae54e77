"""Chapter 7's trainings, by name: which model, on which prompts, for how long; each ends as a small checkpoint.

The models of this chapter take minutes to train, so the book carries their weights. A recipe fixes everything that a
training depends on; `train_recipe` runs it, `load_model` reads the result back and refuses anything else.
"""

import json
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from icl import checkpoints, training
from icl.chapters.trained_transformers.sequence_laws import LAWS, Curriculum
from icl.checkpoints import FOLDER, STATES
from icl.files import json_number
from icl.models.decoder import Decoder, DecoderConfig
from icl.models.encoder import Encoder, EncoderConfig
from icl.models.lstm import LSTM, LSTMConfig
from icl.models.pair_decoder import PairDecoder, PairDecoderConfig
from icl.optimisers import Schedule
from icl.validation import InputError, check_count

D, N, QUERIES = 5, 10, 10
SLICE = 500  # steps between two saves
REPLAYED = 20  # first losses that a checkpoint records
TEST_PROMPTS = 4096

Config = EncoderConfig | LSTMConfig | DecoderConfig | PairDecoderConfig
MODELS = {EncoderConfig: Encoder, LSTMConfig: LSTM, DecoderConfig: Decoder, PairDecoderConfig: PairDecoder}


_LATER = ("curriculum", "full_context")


@dataclass(frozen=True)
class Recipe:
    """A training, whole: model, law of the sequences, n, queries a context, batch, the schedule of Adam and Muon.

    An encoder answers `queries` queries after a context of n examples, or, with `all_lengths`, of 1 … n examples, one
    length a batch; LSTM and decoders answer at each of n + 1 positions of one sequence, of fewer and in fewer
    dimensions early in a `curriculum`. In its first `full_context` steps a decoder of pairs answers `queries` queries
    after all n examples instead: there a step teaches most.
    """

    name: str
    model: Config = field(default_factory=lambda: EncoderConfig(D))
    law: str = "linear"
    n: int = N
    queries: int = QUERIES
    all_lengths: bool = False
    batch: int = 32
    schedule: Schedule = Schedule(20_000, 2e-3, 1.0)
    curriculum: Curriculum | None = None
    full_context: int = 0

    def configuration(self) -> dict:
        """Everything that the trained weights depend on but the seed, as JSON-able values."""
        values = {key: value for key, value in asdict(self).items() if key not in ("schedule", *_LATER)}
        schedule = {key: json_number(getattr(self.schedule, key)) for key in ("steps", "learning_rate", "clip")}
        # What came later stands in the records of those trainings only that use it: older checkpoints stay readable.
        schedule |= {key: getattr(self.schedule, key) for key in ("warm_up", "decay_from", "muon")
                     if getattr(self.schedule, key) != getattr(Schedule(1, 1.0), key)}  # fmt: skip
        values |= {key: asdict(self)[key] for key in _LATER if getattr(self, key)}
        values |= {"kind": MODELS[type(self.model)].__name__.lower(), "schedule": schedule}
        return json.loads(json.dumps(values))  # tuples become lists, as they do in a file

    def build(self, rng: np.random.Generator) -> torch.nn.Module:
        """The model before training, weights drawn from `rng`."""
        return MODELS[type(self.model)](self.model, rng=rng)

    def loss(self, model: torch.nn.Module, rng: np.random.Generator) -> Callable[[int], torch.Tensor]:
        """Step → the mean squared error on `batch` fresh sequences, in the model's unit, a scalar."""
        unit = getattr(self.model, "label_unit", 1.0)
        return lambda step: self.squared_errors(model, rng, self.batch, step).mean() / unit**2

    def squared_errors(
        self, model: torch.nn.Module, rng: np.random.Generator, B: int, step: int | None = None
    ) -> torch.Tensor:
        """(prediction − y)² on B fresh sequences: (B, queries) or (B, positions); on the model's device.

        At a training's `step` they are as large as the curriculum has come by then, without one as large as they get.
        """
        n = int(rng.integers(1, self.n + 1)) if self.all_lengths else self.n
        asked = isinstance(self.model, EncoderConfig) or (step is not None and step < self.full_context)
        T, d = n + (self.queries if asked else 1), self.model.d
        if self.curriculum is not None and step is not None:
            d, T = self.curriculum.at(step)
        X, y = LAWS[self.law](rng, B, T, d)
        X = np.pad(X, ((0, 0), (0, 0), (0, self.model.d - d)))  # the curriculum's missing dimensions are 0
        X, y = (torch.from_numpy(array).float().to(model.read_out.weight.device) for array in (X, y))
        if isinstance(self.model, EncoderConfig):
            return (model(X[:, :n], y[:, :n], X[:, n:]) - y[:, n:]) ** 2
        if asked:
            return (model.answers(X[:, :n], y[:, :n], X[:, n:]) - y[:, n:]) ** 2
        return (model(X, y) - y) ** 2


def _pairs(steps: int, muon: float) -> Schedule:
    """Constant rates for half of the steps, then down to 0."""
    return Schedule(steps, 1e-3, 1.0, warm_up=100, decay_from=steps // 2, muon=muon)


UNIT = math.sqrt(20)  # √(E y²) of the linear law at d = 20
SMALL = PairDecoderConfig(layers=6, heads=4, width=128, label_unit=UNIT)
LARGE = dict(n=40, batch=64, queries=20, full_context=1_200)
SHORT, LADDER = Schedule(10_000, 2e-3, 1.0), Schedule(6_000, 2e-3, 1.0)
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("base"),
        Recipe("all_lengths", all_lengths=True),
        Recipe("lstm", LSTMConfig(D), queries=1, schedule=Schedule(30_000, 2e-3, 1.0)),
        Recipe("ill_conditioned", law="ill_conditioned", schedule=SHORT),
        Recipe("noisy", law="noisy", schedule=SHORT),
        Recipe("relu_network", law="relu_network", schedule=SHORT),
        # heads of size 8 throughout, so that a wider model has more of them
        *(Recipe(f"width_{w}", EncoderConfig(D, heads=w // 8, width=w), schedule=LADDER) for w in (8, 16, 32, 64)),
        # the same ladder in other dimensions, n = 2d; not shipped
        *(
            Recipe(f"width_{w}_d{d}", EncoderConfig(d, heads=w // 8, width=w), n=2 * d, schedule=LADDER)
            for d in (3, 10) for w in (8, 16, 32, 64)
        ),
        # as published; wants a GPU
        Recipe(
            "published", DecoderConfig(), n=40, batch=64, curriculum=Curriculum(),
            schedule=Schedule(500_001, 1e-4, math.inf, decay=False),
        ),
        # of the published size and of Garg et al.'s small one, in pairs: core hours
        Recipe("pairs", PairDecoderConfig(label_unit=UNIT), schedule=_pairs(3_600, 0.003), **LARGE),
        *(
            Recipe(name, SMALL, law=law, schedule=_pairs(4_500, 0.004), **LARGE)
            for name, law in (
                ("pairs_small", "linear"),
                ("pairs_small_ill_conditioned", "ill_conditioned"),
                ("pairs_small_noisy", "noisy"),
            )
        ),
    )
}  # fmt: skip
# What the book ships: two recipes at three seeds, the rest at one. No seed was chosen.
THREE_SEEDS = ("base", "all_lengths")
SHIPPED = [(name, 0) for name in RECIPES if RECIPES[name].n == N]
SHIPPED += [(name, seed) for name in THREE_SEEDS for seed in (1, 2)]


def check_recipe(name: str) -> Recipe:
    """The recipe of that name; raises InputError for an unknown one."""
    if name not in RECIPES:
        raise InputError(f"there is no recipe {name!r}; recipes: {', '.join(RECIPES)}.")
    return RECIPES[name]


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

    `state` is the file in which a killed run goes on; with it, a run of more than so many `minutes` stops, saved, and
    None is returned. Weights are stored in float16, which no test error notices. Raises InputError as `training.train`.
    """
    rng, test = generators(seed)
    model = recipe.build(rng).to(device)
    loss, label = recipe.loss(model, rng), f"{recipe.name}, seed {seed}"
    curve = training.train(
        model, loss, recipe.schedule, rng=rng, checkpoint=state, every=SLICE, minutes=minutes, label=label
    )
    if math.isnan(curve[-1]):
        return None
    model.eval()
    record = {
        "recipe": recipe.configuration(),
        "seed": seed,
        "first_losses": curve[:REPLAYED].tolist(),
        "curve": training.thinned(curve),
        "test_error": tested(recipe, model, test),
        "made_with": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
        | {"machine": f"{platform.machine()}, {device}, {torch.get_num_threads()} thread(s)"},
    }
    weights = {name: value.cpu().half() for name, value in model.state_dict().items()}
    return checkpoints.save(folder / checkpoint_name(recipe.name, seed), weights, record)


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
    model = recipe.build(np.random.default_rng(0))
    expected = {name: value.shape for name, value in model.state_dict().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise InputError(f"{path} does not hold the weights of recipe {recipe.name!r}; delete it and train again.")
    model.load_state_dict(tensors)  # float16 becomes float32
    return model.eval(), record


def standard(recipe: Recipe) -> Recipe:
    """The same recipe at a quarter of its steps: what the standard profile retrains, with seeds of its own."""
    return replace(recipe, schedule=replace(recipe.schedule, steps=max(1, recipe.schedule.steps // 4)))


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
    rng, _ = generators(seed)
    model = recipe.build(rng)
    loss, label = recipe.loss(model, rng), f"{recipe.name}, replayed"
    return training.train(model, loss, recipe.schedule, until=REPLAYED, label=label)[:REPLAYED]
