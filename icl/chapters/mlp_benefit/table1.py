"""Table 1 of Zhang, Wu and Bartlett (2024) at the size of the setting it follows: GPT-2 with and without MLPs.

It takes core hours, so the book carries the result, `results/checkpoints/table1.json`, beside the printed numbers. The
paper follows Garg et al. (2022) except for the token matrix; d, n, batch, H = Psi = I and no noise are theirs. The
training is ours: many queries a prompt, Muon beside Adam, labels in units of their size. Muon's rate is swept for every
entry, by short whole trainings of a seed of their own, and the sweep is kept beside the result. Each training keeps its
rates until a stretch of steps brings nothing more, or says that it did not get there.
"""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from icl.chapters.mlp_benefit.kept_results import KeptResults
from icl.chapters.mlp_benefit.query_training import BATCH, QUERIES, QueryTraining
from icl.checkpoints import FOLDER, STATES
from icl.estimates import Estimate, NotRun
from icl.models.gpt import GPTConfig
from icl.optimisers import Schedule
from icl.prompts import PromptLaw
from icl.search import mean_over_trainings
from icl.settling import Plan
from icl.theory import mlp_benefit as theory
from icl.theory.moments import label_size
from icl.validation import InputError, check_count


@dataclass(frozen=True)
class Entry:
    """One number of the table: each coordinate of the task mean, whether there are MLPs, and the printed test loss."""

    mean: float
    mlp: bool
    printed: float


ENTRIES = {
    "table1.zero_mean_mlp": Entry(0.0, True, 0.003),
    "table1.zero_mean_no_mlp": Entry(0.0, False, 0.024),
    "table1.mean_mlp": Entry(10.0, True, 0.013),
    "table1.mean_no_mlp": Entry(10.0, False, 8.871),
}
ORDERS = {  # claim → the entries with MLPs and without
    "table1.zero_mean_order": ("table1.zero_mean_mlp", "table1.zero_mean_no_mlp"),
    "table1.mean_order": ("table1.mean_mlp", "table1.mean_no_mlp"),
}
SIZES = dict(d=20, n=40, layers=6, heads=4, width=128)
PLAN = Plan(1e-3, None, stretch=500, most=60)  # Muon's rate comes from the sweep, `most` from whoever trains
SWEEP = Schedule(500, 1e-3, clip=1.0, warm_up=50, decay_from=300)
RATES = (0.0015, 0.004, 0.01)  # of Muon, as large as Adam's
RESULTS = FOLDER / "table1.json"
COMMAND = "python -m icl train table1"
_MISSING = f"no result yet: {COMMAND} makes one"
TEST_PROMPTS, SWEEP_PROMPTS = 100_000, 10_000


def settings() -> dict:
    """Everything that a result depends on but its entry, its seed and the swept rate, as JSON-able values."""
    plan = {key: value for key, value in PLAN.recorded().items() if key != "muon"}
    kept = ("steps", "learning_rate", "clip", "warm_up", "decay_from")
    return {
        "sizes": SIZES,
        "sigma2": 0.0,
        "batch": BATCH,
        "queries": QUERIES,
        "start": "fan_in",
        "plan": plan,
        "sweep": {key: getattr(SWEEP, key) for key in kept} | {"muon": list(RATES), "test_prompts": SWEEP_PROMPTS},
        "test_prompts": TEST_PROMPTS,
    }


def law_of(entry: Entry) -> PromptLaw:
    """Noiseless prompts with H = Psi = I and every coordinate of the task mean as the entry says."""
    d = SIZES["d"]
    return PromptLaw.isotropic(d, SIZES["n"], 0.0, np.full(d, entry.mean))


def floors() -> dict[str, float]:
    """Least risks at the table's sizes, raw: one head, any number of heads, the block; `zero`, of all, at mean zero."""
    tens, zero = law_of(ENTRIES["table1.mean_mlp"]), law_of(ENTRIES["table1.zero_mean_mlp"])
    block = theory.ltb_minimal_risk(tens)
    return {
        "lsa": theory.lsa_minimum(tens).risk,
        "heads": block + theory.multi_head_floor(tens),
        "ltb": block,
        "zero": theory.lsa_minimum(zero).risk,
    }


def results(profile: str, path: Path = RESULTS) -> dict[str, Estimate | NotRun]:
    """Entry → its raw test loss, or why none decides; at the paper profile a GPU trains the missing ones first.

    The printed loss is a bound: a loss at or below it confirms it, whenever the training ended. One above it decides
    only when every training of the entry has settled. Raises InputError for a file that is damaged or of other
    settings.
    """
    if profile == "paper" and torch.cuda.is_available():
        for id in [id for id in ENTRIES if id not in committed(path)]:
            train_entry(id, 0, path, device="cuda")
    found = committed(path)
    return {id: _deciding(id, found[id], path) if id in found else NotRun(_MISSING) for id in ENTRIES}


def _deciding(id: str, found: Estimate, path: Path) -> Estimate | NotRun:
    """A loss that decides an entry, or what is missing for that."""
    trained = runs(path)[id]
    if found.mean <= ENTRIES[id].printed or _settled(trained):
        return found
    longer = any(unfinished(id, seed, path) for seed in trained)
    then = f"{COMMAND} goes on" if longer else "no longer training is planned"
    told = f"{found.mean:.3g} ± {found.stderr:.1g} raw, mean of {len(trained)} training{'s' * (len(trained) > 1)}"
    return NotRun(f"above the printed loss but not settled ({told}): {then}")


def orders(path: Path = RESULTS) -> dict[str, Estimate | NotRun]:
    """For each mean, the loss with MLPs over the loss without, by the claim's id, or why that decides nothing yet.

    The ratio has no unit. It decides when every training of both entries has settled.
    """
    trained, found, ratios = runs(path), committed(path), {}
    for id, pair in ORDERS.items():
        if missing := [entry for entry in pair if entry not in found]:
            ratios[id] = NotRun(f"no training yet of {' and '.join(missing)}: {COMMAND} makes one")
            continue
        ratio = _ratio(*(found[entry] for entry in pair))
        still = " and ".join(entry for entry in pair if not _settled(trained[entry]))
        ratios[id] = NotRun(f"not settled: {still} ({ratio.mean:.2g} ± {ratio.stderr:.1g} so far)") if still else ratio
    return ratios


def step_for_step(steps: int | None = None, path: Path = RESULTS) -> tuple[int, dict[str, Estimate]]:
    """Loss with MLPs over loss without at constant rates after as many steps: these steps, and for each mean the ratio.

    Over the stretch that ends there, by default the last that every training in the file went through; means over
    trainings.
    """
    found = {id: [run["stretches"] for run in trained.values()] for id, trained in runs(path).items()}
    last = min(len(means) for trained in found.values() for means in trained)
    last = last if steps is None else steps // PLAN.stretch
    at = {id: mean_over_trainings([means[last - 1] for means in trained]) for id, trained in found.items()}
    return last * PLAN.stretch, {id: _ratio(at[over], at[under]) for id, (over, under) in ORDERS.items()}


def _ratio(over: Estimate, under: Estimate) -> Estimate:
    error = over.mean / under.mean * math.hypot(over.stderr / over.mean, under.stderr / under.mean)
    return Estimate(over.mean / under.mean, error, min(over.count, under.count))


def _settled(trained: dict[int, dict]) -> bool:
    return all(run["settled"] for run in trained.values())


def committed(path: Path = RESULTS) -> dict[str, Estimate]:
    """Entry → mean test loss, in raw units, over the trainings in the file; {} where there is no file.

    The standard error is that over trainings, or, of a single one, that over its test prompts. Raises InputError for a
    file that is damaged or of other settings.
    """
    found = {}
    for id, trained in runs(path).items():
        losses = [run["loss"] for run in trained.values()]
        (first, *others) = trained.values()
        one = Estimate(first["loss"], first["stderr"], TEST_PROMPTS)
        found[id] = mean_over_trainings(losses) if others else one
    return found


def runs(path: Path = RESULTS) -> dict[str, dict[int, dict]]:
    """Entry → seed → all that is kept of a training (see `QueryTraining.record`); errors as `committed`."""
    return {id: {int(seed): run for seed, run in found.items()} for id, found in _kept(path).read()["entries"].items()}


def curves(path: Path = RESULTS) -> dict[str, dict[int, np.ndarray]]:
    """Entry → seed → the training's `thinned` loss in raw units, (BINS,) or (steps,); errors as `committed`."""
    return {id: {seed: np.array(run["curve"]) for seed, run in found.items()} for id, found in runs(path).items()}


def sweeps(path: Path = RESULTS) -> dict[str, dict[float, Estimate]]:
    """Entry → Muon's rate → the test loss after a short training at it; errors as `committed`."""
    return {
        id: {float(rate): Estimate(*found, SWEEP_PROMPTS) for rate, found in swept.items()}
        for id, swept in _kept(path).read()["sweeps"].items()
    }


def train_entry(
    id: str,
    seed: int,
    path: Path = RESULTS,
    *,
    states: Path | None = None,
    minutes: float = math.inf,
    device: str = "cpu",
    most: int | None = None,
) -> Estimate | None:
    """Sweep Muon's rate for an entry unless the file has it, train it, test it, and add all that to the file at `path`.

    A killed run goes on from its file in `states`, by default `_build/train`; one of more than so many `minutes` stops,
    saved, and None is returned. `most` stretches of constant rates, by default PLAN's; a training that still fell after
    them goes on there when more are asked for, and its result replaces the shorter one's, which is kept beside it.
    Raises InputError for an id that is not in the table, a seed below 0, and as
    `training.train`.
    """
    if id not in ENTRIES:
        raise InputError(f"{id!r} is not an entry of Table 1; take one of {', '.join(ENTRIES)}.")
    seed = check_count("seed", seed, least=0)
    until, law = time.monotonic() + 60 * minutes, law_of(ENTRIES[id])
    config = GPTConfig(**SIZES, mlp=ENTRIES[id].mlp, label_unit=label_size(law))

    def prepared(name: str, rate: float, seed: int | None) -> QueryTraining:
        state = (states or STATES) / f"{id}-{name}.safetensors"
        return QueryTraining(config, law, rate, *seeds(id, seed), state=state, label=f"{id}, {name}", device=device)

    for rate in RATES:
        if rate not in sweeps(path).get(id, {}):
            training = prepared(f"sweep-{rate:g}", rate, None)
            found = training.short(SWEEP, SWEEP_PROMPTS, until)
            if found is None:
                return None
            _kept(path).add("sweeps", id, f"{rate:g}", [float(found.mean), float(found.stderr)])
            training.forget()
    rates = sweeps(path)[id]
    rate = min(rates, key=lambda rate: rates[rate].mean)
    training = prepared(f"seed{seed}", rate, seed)
    trained = training.whole(replace(PLAN, most=most or PLAN.most), TEST_PROMPTS, until)
    if trained is None:
        return None
    settled, found = trained
    _kept(path).add("entries", id, str(seed), training.record(settled, found, runs(path).get(id, {}).get(seed)))
    training.forget(done=settled.stretches.flat)
    return found


def seeds(id: str, seed: int | None) -> tuple[list[int], list[int]]:
    """What a training's two generators start from, that of weights and prompts and that of the test.

    Without `seed` those of an entry's sweep, the same for every rate.
    """
    number = list(ENTRIES).index(id) + 1
    return ([0, 44, number], [0, 45, number]) if seed is None else ([seed, 42, number], [seed, 43, number])


def unfinished(id: str, seed: int, path: Path = RESULTS) -> bool:
    """Whether a training is missing, or was stopped while its constant rates helped, and PLAN has more of them."""
    run = runs(path).get(id, {}).get(seed)
    return run is None or not PLAN.ends(run["constant_steps"], run["settled"])


def _kept(path: Path) -> KeptResults:
    return KeptResults(path, settings(), {"sweeps": ENTRIES, "entries": ENTRIES}, COMMAND)
