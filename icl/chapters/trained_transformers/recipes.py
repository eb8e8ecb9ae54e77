"""Chapter 7's trainings, by name: which model, on which prompts, for how long; each ends as a small checkpoint.

The models of this chapter take minutes to train, so the book carries their weights. A recipe fixes everything that a
training depends on; `weights.py` runs it and reads the result back.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np
import torch

from icl.chapters.trained_transformers.sequence_laws import LAWS, Curriculum
from icl.files import json_number
from icl.models.decoder import Decoder, DecoderConfig
from icl.models.encoder import Encoder, EncoderConfig
from icl.models.lstm import LSTM, LSTMConfig
from icl.models.pair_decoder import PairDecoder, PairDecoderConfig
from icl.optimisers import Schedule, quickest_products
from icl.settling import Plan
from icl.validation import InputError

D, N, QUERIES = 5, 10, 10
SLOW, SETTLED, LADDER = (Plan(2e-3, None, stretch=stretch, decay=0.5) for stretch in (8_000, 4_000, 2_000))

Config = EncoderConfig | LSTMConfig | DecoderConfig | PairDecoderConfig
MODELS = {EncoderConfig: Encoder, LSTMConfig: LSTM, DecoderConfig: Decoder, PairDecoderConfig: PairDecoder}


_LATER = ("curriculum", "full_context", "products")


def _as_recorded(schedule: Schedule | Plan) -> dict:
    if isinstance(schedule, Plan):
        return schedule.recorded()
    # What came later stands in the records of those trainings only that use it: older checkpoints stay readable.
    later = ("warm_up", "decay_from", "muon")
    values = {key: json_number(getattr(schedule, key)) for key in ("steps", "learning_rate", "clip")}
    return values | {
        key: getattr(schedule, key) for key in later if getattr(schedule, key) != getattr(Schedule(1, 1.0), key)
    }


@dataclass(frozen=True)
class Recipe:
    """A training, whole: model, law of the sequences, n, queries a context, batch, the schedule of Adam and Muon.

    A Schedule has a fixed number of steps, a Plan goes on until a stretch no longer helps.

    An encoder answers `queries` queries after a context of n examples, or, with `all_lengths`, of 1 … n examples, one
    length a batch; LSTM and decoders answer at each of n + 1 positions of one sequence, of fewer and in fewer
    dimensions early in a `curriculum`. In its first `full_context` steps a decoder of pairs answers `queries` queries
    after all n examples instead: there a step teaches most. With `products` "bfloat16" a training multiplies matrices
    in that on machines that have instructions for it, in half the time; weights, sums and attention are float32 always.
    """

    name: str
    model: Config = field(default_factory=lambda: EncoderConfig(D))
    law: str = "linear"
    n: int = N
    queries: int = QUERIES
    all_lengths: bool = False
    batch: int = 32
    schedule: Schedule | Plan = SLOW
    curriculum: Curriculum | None = None
    full_context: int = 0
    products: str = ""

    def configuration(self) -> dict:
        """Everything that the trained weights depend on but the seed, as JSON-able values."""
        values = {key: value for key, value in asdict(self).items() if key not in ("schedule", *_LATER)}
        values |= {"schedule": _as_recorded(self.schedule)}
        values |= {key: asdict(self)[key] for key in _LATER if getattr(self, key)}
        values |= {"kind": MODELS[type(self.model)].__name__.lower()}
        return json.loads(json.dumps(values))  # tuples become lists, as they do in a file

    def build(self, rng: np.random.Generator) -> torch.nn.Module:
        """The model before training, weights drawn from `rng`."""
        return MODELS[type(self.model)](self.model, rng=rng)

    def loss(self, model: torch.nn.Module, rng: np.random.Generator) -> Callable[[int], torch.Tensor]:
        """Step → the mean squared error on `batch` fresh sequences, in the model's unit, a scalar."""
        unit, device = getattr(self.model, "label_unit", 1.0), model.read_out.weight.device.type

        def loss(step: int) -> torch.Tensor:
            with torch.autocast(device, torch.bfloat16, enabled=self.products_on(device) == "bfloat16"):
                return self.squared_errors(model, rng, self.batch, step).mean() / unit**2

        return loss

    def products_on(self, device: str) -> str:
        """What a training multiplies in on "cpu" or "cuda": "bfloat16" or "float32"."""
        return self.products if self.products and quickest_products(device) == torch.bfloat16 else "float32"

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


UNIT = math.sqrt(20)  # √(E y²) of the linear law at d = 20
SMALL = PairDecoderConfig(layers=6, heads=4, width=128, label_unit=UNIT)
LARGE = dict(n=40, batch=64, queries=20, full_context=1_200, products="bfloat16")
# The same prompts for both layouts, as many tokens, a question after every number of examples; the best of Muon at
# .0025, .005 and .01 for each (error after 1,250 steps: .028, .022, .029 in pairs, .052, .028, .017 interleaved).
LAYOUT = dict(layers=8, heads=4, width=32, label_unit=math.sqrt(D))
BY_LAYOUT = {
    "layout_pairs": (PairDecoderConfig(D, N, **LAYOUT), 0.005),
    "layout_interleaved": (DecoderConfig(D, N + 1, **LAYOUT, start="fan_in"), 0.01),
}
WIDTHS = {3: (4, 8, 16), D: (8, 16, 32, 64), 10: (4, 8, 16)}
LADDERS = {(d, w): f"width_{w}" + (f"_d{d}" if d != D else "") for d, widths in WIDTHS.items() for w in widths}
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("base"),
        Recipe("all_lengths", all_lengths=True),
        Recipe("lstm", LSTMConfig(D), queries=1),
        Recipe("ill_conditioned", law="ill_conditioned", schedule=SETTLED),
        Recipe("noisy", law="noisy", schedule=SETTLED),
        Recipe("relu_network", law="relu_network", schedule=SETTLED),
        # heads of size 8, of all of it where that is less, so that a wider model has more of them; n = 2d
        *(
            Recipe(name, EncoderConfig(d, heads=max(1, w // 8), width=w), n=2 * d, schedule=LADDER)
            for (d, w), name in LADDERS.items()
        ),
        *(
            Recipe(name, model, batch=32, schedule=Plan(1e-3, muon, stretch=3_000, decay=0.5))
            for name, (model, muon) in BY_LAYOUT.items()
        ),
        # as published; wants a GPU
        Recipe(
            "published", DecoderConfig(), n=40, batch=64, curriculum=Curriculum(),
            schedule=Schedule(500_001, 1e-4, math.inf, decay=False),
        ),
        # of the published size and of Garg et al.'s small one, in pairs: core hours; only from the second stretch on is
        # every prompt of all lengths, so the third is the first to be compared
        Recipe(
            "pairs", PairDecoderConfig(label_unit=UNIT), **LARGE,
            schedule=Plan(1e-3, 0.003, stretch=1_500, decay=0.1, least=3),
        ),
        *(
            Recipe(name, SMALL, law=law, schedule=Plan(1e-3, 0.004, stretch=1_500, decay=0.5, least=3), **LARGE)
            for name, law in (
                ("pairs_small", "linear"),
                ("pairs_small_ill_conditioned", "ill_conditioned"),
                ("pairs_small_noisy", "noisy"),
            )
        ),
    )
}  # fmt: skip
SEEDS = (0, 1, 2)  # of whatever the book ships at small sizes; none was chosen
AT_PUBLISHED_D = ("pairs", "pairs_small_ill_conditioned", "pairs_small_noisy")  # shipped too, seed 0
SHIPPED = [
    *((name, seed) for name, r in RECIPES.items() if r.model.d < 20 for seed in SEEDS),
    *((name, 0) for name in AT_PUBLISHED_D),
]


def check_recipe(name: str) -> Recipe:
    """The recipe of that name; raises InputError for an unknown one."""
    if name not in RECIPES:
        raise InputError(f"there is no recipe {name!r}; recipes: {', '.join(RECIPES)}.")
    return RECIPES[name]
