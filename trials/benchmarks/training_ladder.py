"""What each ingredient of the training is worth: a ladder from Garg et al.'s recipe to this one, one step at a time.

Every rung trains the same kind of transformer on the same task for about the same processor time, and is tested on the
way. Its learning rate is swept first, with a seed of its own, past the ends of the grid if the best lies there; then
three seeds run at the best one. Every finished run is added to `results/measurements/training_ladder.json`, so that a
killed ladder goes on:

    python trials/benchmarks/training_ladder.py d5 d8  # train what is missing, then write the tables
    python trials/benchmarks/training_ladder.py        # the tables of what there is
"""

from timing import PROCESSOR, ROOT, once, write_tables  # sets one thread, before NumPy starts

# isort: split
import json
import sys
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch

from icl.chapters.mlp_benefit.gpt_sweep import label_unit
from icl.chapters.newton_transformers.sequence_laws import Curriculum, linear
from icl.files import read_sealed, sealed, write_atomically
from icl.models.decoder import Decoder, DecoderConfig
from icl.models.gpt import GPT, GPTConfig, initialise_by_fan_in
from icl.optimisers import Schedule
from icl.prompts import PromptLaw
from icl.training import train
from icl.validation import InputError

torch.set_num_threads(1)
RESULTS = ROOT / "results" / "measurements" / "training_ladder.json"
LEVELS = (0.02, 0.005, 0.001)  # errors a dimension; 1 is the error of answering 0
SEEDS, SWEEP_SEED = (0, 1, 2), 100
BATCH, TEST_PROMPTS, CHECKS = 64, 4000, 25
ADAM, MUON = (3e-4, 1e-3, 3e-3, 1e-2), (0.002, 0.005, 0.0125, 0.03)  # geometric, about three times each


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
        return max(CHECKS, int(self.seconds / (self.per_token * tokens + self.fixed + self.for_muon * rung.muon)))


@dataclass(frozen=True)
class Rung:
    """A recipe; the first is Garg et al.'s (2022), and each of the ladder's adds one ingredient."""

    name: str
    interleaved: bool = False  # x and y as tokens of their own, as published, or one token a pair
    curriculum: bool = False  # dimensions and points grow over the first half
    answers: str = "prefixes"  # one query for every prefix, "one" after all n examples, or "many" of them, n
    unit: bool = True  # labels in units of their size
    start: str = "fan_in"  # or "gpt2"
    shape: str = "trapezoid"  # warm-up, flat, linear decay; or "constant"
    muon: bool = True

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
WITHOUT = [  # the whole recipe but one
    replace(FULL, name="one query", answers="one"),
    replace(FULL, name="a query for every prefix", answers="prefixes"),
    replace(FULL, name="GPT-2's start", start="gpt2"),
    replace(FULL, name="raw labels", unit=False),
    replace(FULL, name="constant rates", shape="constant"),
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
        self.unit = label_unit(self.law) if rung.unit else 1.0
        shared = dict(d=size.d, layers=size.layers, width=size.width, heads=size.heads)
        if rung.interleaved:
            self.model = Decoder(DecoderConfig(points=size.n + 1, **shared), rng=self.rng)
            if rung.start == "fan_in":
                initialise_by_fan_in(self.model, self.rng)
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


def read() -> dict:
    """Size → rung → "sweep" (rate → run) and "runs" (seed → run with its rate); {} where there is no file."""
    return read_sealed(RESULTS)["sizes"] if RESULTS.exists() else {}


def add(size: str, rung: str, part: str, key: str, run: dict) -> None:
    """Keep one run; the file is written whole or not at all."""
    sizes = read()
    sizes.setdefault(size, {}).setdefault(rung, {"sweep": {}, "runs": {}})[part][key] = run
    settings = {name: asdict(size) for name, size in SIZES.items()} | {"batch": BATCH, "test_prompts": TEST_PROMPTS}
    write_atomically(RESULTS, sealed({"settings": json.loads(json.dumps(settings)), "sizes": sizes}))


def climb(name: str) -> None:
    """Run what is missing of one size: each rung's sweep, then its seeds at the best rate."""
    for rung in LADDER + WITHOUT:
        key = label(rung)
        while (rate := missing(read().get(name, {}).get(key, {}).get("sweep", {}), rung)) is not None:
            add(name, key, "sweep", f"{rate:g}", Trial(SIZES[name], rung, SWEEP_SEED).run(rate))
        rate = best(read()[name][key]["sweep"])
        for seed in SEEDS:
            if str(seed) not in read()[name][key]["runs"]:
                add(name, key, "runs", str(seed), {"rate": rate} | Trial(SIZES[name], rung, seed).run(rate))


def label(rung: Rung) -> str:
    """A rung's name in the file: what the ladder adds, or what the whole recipe lacks."""
    return rung.name if rung in LADDER else f"all but: {rung.name}"


def best(sweep: dict) -> float:
    """The rate with the least error at the end; null, of a training that went astray, never is."""
    return float(min(sweep, key=lambda rate: at_the_end(sweep[rate])))


def at_the_end(run: dict) -> float:
    """The last error of a run, infinite where it went astray."""
    return np.inf if run["errors"][-1] is None else run["errors"][-1]


def missing(sweep: dict, rung: Rung) -> float | None:
    """The next rate to try: of the grid, then a third below or three times above it while the best is at an end."""
    grid = MUON if rung.muon else ADAM
    for rate in grid:
        if f"{rate:g}" not in sweep:
            return rate
    tried = sorted(map(float, sweep))
    if len(tried) < len(grid) + 2 and best(sweep) in (tried[0], tried[-1]):
        return float(f"{tried[0] / 3:.2g}" if best(sweep) == tried[0] else f"{tried[-1] * 3:.2g}")
    return None


def reached(run: dict, level: float) -> float:
    """Processor seconds until the error was first at or below `level`; infinite if it never was."""
    checks = zip(run["seconds"], run["errors"], strict=False)
    return next((seconds for seconds, error in checks if error is not None and error <= level), np.inf)


def table(name: str):
    """Rows of one size: rate, error at the end of three seeds, median seconds to each level."""
    found = read().get(name, {})
    columns = ["recipe", "rate", "steps", "error at the end, three seeds", *(f"s to {level:g}" for level in LEVELS)]
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for rung in LADDER + WITHOUT:
        runs = list(found.get(label(rung), {}).get("runs", {}).values())
        if not runs:
            continue
        ends = ", ".join(f"{at_the_end(run):.4f}" for run in runs)
        times = [np.median([reached(run, level) for run in runs]) for level in LEVELS]
        said = " | ".join(f"{time:.0f}" if np.isfinite(time) else "—" for time in times)
        kind = "Muon" if rung.muon else "Adam"
        yield f"| {label(rung)} | {kind} {runs[0]['rate']:g} | {runs[0]['steps'][-1]} | {ends} | {said} |"


def d5():
    """d = 5, n = 10, 6 layers, 4 heads, width 32. Each of the first eight rows adds an ingredient to the one above; the
    others are the whole recipe but one. Error at the query after all examples, divided by d; seconds of one core until
    the error was first there (median of three seeds), — where it was not within the budget of about 45 seconds.
    """
    yield from table("d5")


def d8():
    """d = 8, n = 16, 4 layers, 4 heads, width 64; the same with a budget of about 85 seconds."""
    yield from table("d8")


def sweep():
    """The sweeps: error at the end of one training of a seed of its own, by rate."""
    yield "| size | recipe | rates and errors |"
    yield "|---|---|---|"
    for name, rungs in read().items():
        for key, found in rungs.items():
            ends = {float(rate): at_the_end(run) for rate, run in found["sweep"].items()}
            yield f"| {name} | {key} | " + ", ".join(f"{rate:g}: {ends[rate]:.3g}" for rate in sorted(ends)) + " |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        climb(name)
    write_tables("training_ladder", "What each ingredient of the training is worth", (d5, d8, sweep))
