"""Table 1 of Zhang, Wu and Bartlett (2024) at the paper's size: GPT-2 with and without MLPs.

It takes hours, so the book carries the result, `checkpoints/table1.json`, and shows it beside the printed numbers. What
the paper does not print is our choice: no label noise (a loss of 0.003 leaves no room for it), H = Psi = I, d, n and
batch of Garg et al. (2022), and their curriculum in a faster form, without which the loss of the first entry still is
where predicting 0 has it after 3000 steps. Of the learning rates 3e-4 and 1e-3, alike in the first 1000 steps of that
entry, the larger was taken, for labels of size 45 need large weights; no other was tried.
"""

import json
import math
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from icl.chapters.mlp_benefit.gpt_sweep import BATCH, CLIP, tested, train_gpt
from icl.chapters.newton_transformers.sequence_laws import Curriculum
from icl.checkpoints import FOLDER, STATES
from icl.estimates import Estimate, NotRun
from icl.files import json_number, read_sealed, sealed, write_atomically
from icl.models.gpt import GPTConfig
from icl.prompts import PromptLaw
from icl.search import mean_over_trainings
from icl.training import Schedule, thinned
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
SIZES = dict(d=20, n=40, layers=6, heads=4, width=128)
SCHEDULE = Schedule(12_000, 1e-3, CLIP)
CURRICULUM = Curriculum(dimensions=(5, 20, 1), pairs=(41, 41, 0), every=400)  # all covariates from step 6000 on
RESULTS = FOLDER / "table1.json"
COMMAND = "python -m icl train table1"
SLICE = 500  # steps between two saves
TEST_PROMPTS = 100_000


def settings() -> dict:
    """Everything that a result depends on but its entry and seed, as JSON-able values."""
    schedule = {key: json_number(getattr(SCHEDULE, key)) for key in ("steps", "learning_rate", "clip")}
    return {
        "sizes": SIZES,
        "batch": BATCH,
        "schedule": schedule,
        "curriculum": asdict(CURRICULUM),
        "test_prompts": TEST_PROMPTS,
        "sigma2": 0.0,
    }


def results(profile: str, path: Path = RESULTS) -> dict[str, Estimate | NotRun]:
    """Entry → its test loss, or why there is none; at the paper profile a GPU trains the missing ones first.

    Raises InputError for a file that is damaged or of other settings.
    """
    if profile == "paper" and torch.cuda.is_available():
        for id in [id for id in ENTRIES if id not in committed(path)]:
            train_entry(id, 0, path, device="cuda")
    missing = dict.fromkeys(ENTRIES, NotRun(f"no result yet: {COMMAND} makes one"))
    return missing | committed(path)


def committed(path: Path = RESULTS) -> dict[str, Estimate]:
    """Entry → mean test loss over the trainings in the file; {} where there is no file.

    The standard error is that over trainings, or, of a single one, that over its test prompts. Raises InputError for a
    file that is damaged or of other settings.
    """
    found = {}
    for id, runs in _read(path).items():
        losses = [run["loss"] for run in runs.values()]
        (first, *others) = runs.values()
        one = Estimate(first["loss"], first["stderr"], TEST_PROMPTS)
        found[id] = mean_over_trainings(losses) if others else one
    return found


def curves(path: Path = RESULTS) -> dict[str, dict[int, np.ndarray]]:
    """Entry → seed → the training's `thinned` loss, (BINS,) or (steps,); errors as `committed`."""
    return {id: {int(seed): np.array(run["curve"]) for seed, run in runs.items()} for id, runs in _read(path).items()}


def train_entry(
    id: str,
    seed: int,
    path: Path = RESULTS,
    *,
    states: Path | None = None,
    minutes: float = math.inf,
    device: str = "cpu",
) -> Estimate | None:
    """Train one entry, test it on fresh prompts and add its loss to the file at `path`.

    A killed run goes on from its file in `states`, by default `_build/train`; one of more than so many `minutes` stops,
    saved, and None is returned. Raises InputError for an id that is not in the table, a seed below 0, and as
    `training.train`.
    """
    if id not in ENTRIES:
        raise InputError(f"{id!r} is not an entry of Table 1; take one of {', '.join(ENTRIES)}.")
    seed, number = check_count("seed", seed, least=0), list(ENTRIES).index(id)
    _read(path)  # a file that cannot be added to is better known now than in an hour
    entry, rng = ENTRIES[id], np.random.default_rng([seed, 42, number])
    laws = lessons(entry)
    state = (states or STATES) / f"{id}-seed{seed}.safetensors"
    model, curve = train_gpt(
        GPTConfig(**SIZES, mlp=entry.mlp), lambda step: laws[CURRICULUM.at(step)[0]], SCHEDULE, rng,
        label=f"{id}, seed {seed}", device=device, checkpoint=state, every=SLICE, minutes=minutes,
    )  # fmt: skip
    if math.isnan(curve[-1]):
        return None
    found = tested(model, laws[SIZES["d"]], TEST_PROMPTS, np.random.default_rng([seed, 43, number]))
    run = {
        "loss": float(found.mean),
        "stderr": float(found.stderr),
        "curve": thinned(curve),
        "made_with": {"python": platform.python_version(), "torch": torch.__version__, "machine": _machine(device)},
    }
    runs = _read(path)  # another entry may have been trained beside this one
    runs[id] = dict(sorted((runs.get(id, {}) | {str(seed): run}).items()))
    entries = {key: runs[key] for key in ENTRIES if key in runs}
    write_atomically(path, sealed({"settings": settings(), "entries": entries}))
    state.unlink()
    return found


def lessons(entry: Entry) -> dict[int, PromptLaw]:
    """How many covariates vary, from the curriculum's first to all d → the prompts; the other covariates are 0."""
    d, n = SIZES["d"], SIZES["n"]
    first, _, _ = CURRICULUM.dimensions
    varies = {k: np.diag((np.arange(d) < k).astype(float)) for k in range(first, d + 1)}
    return {k: PromptLaw(n, H, np.eye(d), np.full(d, entry.mean), 0.0) for k, H in varies.items()}


def _machine(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {torch.get_num_threads()} thread(s)"


def _read(path: Path) -> dict[str, dict[str, dict]]:
    """Entry → seed → run; {} where there is no file."""
    if not path.exists():
        return {}
    content = read_sealed(path)
    if content.get("settings") != json.loads(json.dumps(settings())):
        raise InputError(
            f"{path} holds results of other settings than {__name__}; delete it, and train again: `{COMMAND}`."
        )
    return content["entries"]
