"""The rungs of the ladder of trainings: recipes, the sizes they are tried at, and one training of a rung."""

from timing import PROCESSOR, once  # sets one thread, before NumPy starts

# isort: split
from dataclasses import dataclass, replace

import numpy as np
import torch

from icl.chapters.trained_transformers.sequence_laws import Curriculum, linear
from icl.models.decoder import Decoder, DecoderConfig
from icl.models.gpt import GPT, GPTConfig
from icl.optimisers import Schedule
from icl.prompts import PromptLaw
from icl.theory.moments import label_size
from icl.training import train
from icl.validation import InputError

torch.set_num_threads(1)
BATCH, TEST_PROMPTS, CHECKS = 64, 4000, 25


@dataclass(frozen=True)
class Size:
    """A problem, noiseless with H = Psi = I, a transformer for it, and how long each rung trains."""

    d: int
    n: int
    layers: int
    width: int
    heads: int
    seconds: float  # of one core, about
    per_token: float  # seconds of a step, measured on one core of an EPYC; kept, so that all machines train alike
    fixed: float
    for_muon: float

    def steps(self, rung: "Rung") -> int:
        """So many of a rung's steps take about `seconds`."""
        tokens = BATCH * (2 * self.n + 2 if rung.interleaved else self.n + rung.queries(self.n))
        step = self.per_token * tokens + self.fixed + self.for_muon * rung.muon
        return max(CHECKS, int(rung.budget * self.seconds / step))


@dataclass(frozen=True)
class Rung:
    """A recipe; the first is Garg et al.'s (2022), and each of the ladder's adds one ingredient.

    It trains `budget` times as long as its size says.
    """

    name: str
    interleaved: bool = False  # x and y as tokens of their own, as published, or one token a pair
    curriculum: bool = False  # dimensions and points grow over the first half
    answers: str = "prefixes"  # one query for every prefix, "one" after all n examples, or "many" of them, n
    unit: bool = True  # labels in units of their size
    start: str = "fan_in"  # or "gpt2"
    shape: str = "trapezoid"  # warm-up, flat, linear decay; or "constant"
    muon: bool = True
    budget: int = 1

    def queries(self, n: int) -> int:
        """How many queries of a prompt are answered by a step."""
        return {"prefixes": n + 1, "one": 1, "many": n}[self.answers]


PUBLISHED = Rung("Garg et al.", True, True, unit=False, start="gpt2", shape="constant", muon=False)
PAIRS = replace(PUBLISHED, interleaved=False, curriculum=False)
FULL = Rung("Muon on the hidden matrices", answers="many")
LADDER = [
    PUBLISHED,
    replace(PUBLISHED, name="without curriculum", curriculum=False),
    replace(PAIRS, name="one token a pair"),
    replace(PAIRS, name="n queries after all examples", answers="many"),
    replace(PAIRS, name="labels in their unit", answers="many", unit=True),
    replace(FULL, name="start by fan-in", shape="constant", muon=False),
    replace(FULL, name="warm-up, flat, decay", muon=False),
    FULL,
]
OTHERS = [  # the whole recipe but one ingredient, or two; or for longer
    replace(FULL, name="one query", answers="one"),
    replace(FULL, name="one query, and Adam", answers="one", muon=False),
    replace(FULL, name="a query for every prefix", answers="prefixes"),
    replace(FULL, name="GPT-2's start", start="gpt2"),
    replace(FULL, name="raw labels", unit=False),
    replace(FULL, name="constant rates", shape="constant"),
    replace(FULL, name="four times the budget", budget=4),
]
SIZES = {
    "d5": Size(d=5, n=10, layers=6, width=32, heads=4, seconds=45, per_token=12.5e-6, fixed=0.01, for_muon=0.01),
    "d8": Size(d=8, n=16, layers=4, width=64, heads=4, seconds=85, per_token=22e-6, fixed=0.001, for_muon=0.0085),
}


class Trial:
    """One rung at one size: model, loss and test error, all from one seed."""

    def __init__(self, size: Size, rung: Rung, seed: int):
        self.size, self.rung, self.steps = size, rung, size.steps(rung)
        self.rng, self.law = np.random.default_rng([seed, 70]), PromptLaw.isotropic(size.d, size.n, 0.0)
        self.unit = label_size(self.law) if rung.unit else 1.0
        shared = dict(d=size.d, layers=size.layers, width=size.width, heads=size.heads)
        if rung.interleaved:
            self.model = Decoder(DecoderConfig(points=size.n + 1, start=rung.start, **shared), rng=self.rng)
        else:
            config = GPTConfig(n=size.n, label_unit=self.unit, **shared)
            self.model = GPT(config, rng=self.rng, start=rung.start)
        every = max(1, self.steps // (2 * size.d))  # the last notch after half of the steps
        points = (size.n // 2 + 1, size.n + 1, max(1, size.n // (2 * size.d)))
        self.curriculum = Curriculum((max(1, size.d // 4), size.d, 1), points, every)
        self.test = linear(np.random.default_rng([seed, 71]), TEST_PROMPTS, size.n + 1, size.d)

    def schedule(self, rate: float) -> Schedule:
        """At this rate of Muon, Adam's being 1e-3, or of Adam."""
        adam, muon = (1e-3, rate) if self.rung.muon else (rate, None)
        if self.rung.shape == "constant":
            return Schedule(self.steps, adam, 1.0, decay=False, muon=muon)
        return Schedule(self.steps, adam, 1.0, warm_up=self.steps // 20, decay_from=self.steps // 2, muon=muon)

    def loss(self, step: int) -> torch.Tensor:
        """Mean squared error on fresh prompts, over all that the rung asks; labels in the rung's unit."""
        size, (d, points) = self.size, (self.size.d, self.size.n + 1)
        if self.rung.curriculum:
            d, points = self.curriculum.at(step)
        extra = self.rung.queries(size.n) if self.rung.answers != "prefixes" else 0
        if self.rung.answers == "prefixes" and not self.rung.interleaved:
            return self._of_every_prefix()
        pairs = size.n + extra if extra else points
        X, y = tensors(linear(self.rng, BATCH, pairs, d), size.d)
        if self.rung.interleaved:
            return ((self.model(X, y) - y) ** 2).mean()
        answers = self.model.answers(X[:, : size.n], y[:, : size.n], X[:, size.n :])
        return ((answers - y[:, size.n :]) ** 2).mean() / self.unit**2

    def _of_every_prefix(self) -> torch.Tensor:
        """x_{t+1} asked after t examples, t = 0 … n, as the interleaved decoder is."""
        n = self.size.n
        X, y = tensors(linear(self.rng, BATCH, n + 1, self.size.d), self.size.d)
        answers = self.model.answers(X[:, :n], y[:, :n], X, torch.arange(n + 1))
        return ((answers - y) ** 2).mean() / self.unit**2

    @torch.no_grad()
    def error(self) -> float:
        """Mean squared error after all n examples, divided by d: 1 is that of answering 0."""
        n, (X, y) = self.size.n, tensors(self.test, self.size.d)
        if self.rung.interleaved:
            predicted = self.model(X, y)[:, n]
        else:
            predicted = self.model.answers(X[:, :n], y[:, :n], X[:, n:])[:, 0]
        return ((predicted - y[:, n]) ** 2).double().mean().item() / self.size.d

    def run(self, rate: float) -> dict:
        """Train at `rate`: errors at CHECKS points, each with the processor seconds of training alone until there.

        A training that goes astray ends in the error null.
        """
        points = np.linspace(0, self.steps, CHECKS + 1)[1:].astype(int).tolist()
        kept = {"steps": points, "seconds": [], "errors": []}
        began, tested = PROCESSOR(), 0.0

        def check():
            nonlocal tested
            kept["seconds"].append(round(PROCESSOR() - began - tested, 2))
            error, cost = once(self.error, PROCESSOR)
            kept["errors"].append(error)
            tested += cost

        def loss(step):
            if step in points:
                check()
            return self.loss(step)

        try:
            train(self.model, loss, self.schedule(rate), rng=self.rng, label=f"{self.rung.name}, {rate:g}")
            check()
        except InputError:
            kept["errors"].append(None)
        return kept


def tensors(sequences, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """X (B, T, d) and y (B, T), float32; covariates that a curriculum leaves out are 0."""
    X, y = sequences
    X = np.pad(X, ((0, 0), (0, 0), (0, d - X.shape[-1])))
    return torch.from_numpy(X).float(), torch.from_numpy(y).float()
