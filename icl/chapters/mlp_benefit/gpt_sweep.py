"""Chapter 4's sweep of small GPT-2s with and without the MLP: every rate, every seed, each trained until it is done.

Together they take about a core hour, so the book carries the result, `results/checkpoints/gpt_sweep.json`.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from icl.chapters.mlp_benefit.kept_results import KeptResults
from icl.chapters.mlp_benefit.query_training import BATCH, QUERIES, QueryTraining
from icl.checkpoints import FOLDER, STATES
from icl.estimates import Estimate
from icl.models.gpt import GPTConfig
from icl.prompts import PromptLaw
from icl.settling import Plan
from icl.theory.moments import label_size
from icl.validation import InputError

# Small models: sizes of this experiment only.
SIZES = dict(d=3, n=10, layers=2, heads=2, width=32)
SIGMA2, BETA_NORM = 0.25, 3.0
RATES, SEEDS = (0.004, 0.01, 0.025), (0, 1, 2)  # of Muon; 3e-3 is Adam's, of what Muon does not move
PLAN = Plan(3e-3, None, stretch=500, most=40)
TEST_PROMPTS = 100_000
NAMES = {"zero_mlp": (0.0, True), "zero_no_mlp": (0.0, False), "mean_mlp": (BETA_NORM, True),
         "mean_no_mlp": (BETA_NORM, False)}  # name → size of the task mean, and whether there is an MLP  # fmt: skip
RESULTS = FOLDER / "gpt_sweep.json"
COMMAND = "python -m icl train gpt_sweep"


@dataclass(frozen=True)
class Sweep:
    """Test risks and how many steps they took, (2 means, 2 architectures, rates, seeds).

    Mean zero, then BETA_NORM; with the MLP, then without. `settled` says of each whether it was done.
    """

    laws: tuple[PromptLaw, PromptLaw]
    risks: np.ndarray
    steps: np.ndarray
    settled: np.ndarray

    def ratios(self) -> np.ndarray:
        """Risk without over risk with the MLP, geometric mean over seeds: (2 means, rates)."""
        logs = np.log(self.risks).mean(-1)
        return np.exp(logs[:, 1] - logs[:, 0])


def law(beta_norm: float) -> PromptLaw:
    """H = Psi = I and beta_star = beta_norm (1, 1, 1)/√3."""
    d = SIZES["d"]
    return PromptLaw.isotropic(d, SIZES["n"], SIGMA2, np.full(d, beta_norm / np.sqrt(d)))


def settings() -> dict:
    """Everything that a result depends on but its name, rate and seed, as JSON-able values."""
    plan = {key: value for key, value in PLAN.recorded().items() if key != "muon"}
    sizes = SIZES | {"sigma2": SIGMA2, "beta_norm": BETA_NORM, "batch": BATCH, "queries": QUERIES}
    return {"sizes": sizes, "start": "fan_in", "plan": plan, "test_prompts": TEST_PROMPTS}


def sweep(path: Path = RESULTS) -> Sweep:
    """All trainings of the file.

    Raises InputError where one is missing, and for a file that is damaged or of other settings.
    """
    runs = _kept(path).read()["runs"]
    if missing := [run for run in every_run() if _key(*run[1:]) not in runs.get(run[0], {})]:
        raise InputError(f"{len(missing)} trainings of the sweep are missing in {path}: `{COMMAND}` makes them.")
    found = [runs[name][_key(rate, seed)] for name, rate, seed in every_run()]
    shape = 2, 2, len(RATES), len(SEEDS)
    risks, steps, settled = (np.reshape([run[key] for run in found], shape) for key in ("loss", "steps", "settled"))
    return Sweep((law(0.0), law(BETA_NORM)), risks, steps, settled)


def every_run() -> Iterator[tuple[str, float, int]]:
    """Name, rate and seed of every training."""
    return product(NAMES, RATES, SEEDS)


def is_there(name: str, rate: float, seed: int, path: Path = RESULTS) -> bool:
    """Whether the file has a training; errors as `sweep`."""
    return _key(rate, seed) in _kept(path).read()["runs"].get(name, {})


def train_run(
    name: str,
    rate: float,
    seed: int,
    path: Path = RESULTS,
    *,
    states: Path = STATES,
    minutes: float = math.inf,
    device: str = "cpu",
) -> Estimate | None:
    """Train one GPT until constant rates help no more, test it, and add its risk to the file at `path`.

    A killed run goes on from its file in `states`; one of more than so many `minutes` stops, saved, and None is
    returned. Raises InputError as `training.train`.
    """
    beta_norm, mlp = NAMES[name]
    config = GPTConfig(**SIZES, mlp=mlp, label_unit=label_size(law(beta_norm)))
    number = 1 + list(every_run()).index((name, rate, seed))
    state, label = states / f"gpt-{name}-{rate:g}-seed{seed}.safetensors", f"{name}, rate {rate:g}, seed {seed}"
    seeds = [0, 46, number], [0, 47, number]
    training = QueryTraining(config, law(beta_norm), rate, *seeds, state=state, label=label, device=device)
    trained = training.whole(PLAN, TEST_PROMPTS, time.monotonic() + 60 * minutes)
    if trained is None:
        return None
    settled, risk = trained
    record = training.record(settled, risk, None)
    told = {key: record[key] for key in ("loss", "stderr", "settled", "last_stretches", "core_seconds")}
    _kept(path).add("runs", name, _key(rate, seed), told | {"steps": len(settled.curve)})
    training.forget()
    return risk


def _key(rate: float, seed: int) -> str:
    return f"{rate:g}, seed {seed}"


def _kept(path: Path) -> KeptResults:
    return KeptResults(path, settings(), {"runs": NAMES}, COMMAND)
