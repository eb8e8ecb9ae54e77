"""Training a GPT on many queries a prompt, with Muon: short, on a schedule, or until constant rates help no more."""

import math
import platform
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from icl.chapters.mlp_benefit.query_losses import query_errors, tested
from icl.estimates import Estimate
from icl.models.gpt import GPT, GPTConfig
from icl.optimisers import Schedule
from icl.prompts import PromptLaw
from icl.settling import Plan, Settled, states, train_until_flat
from icl.training import BINS, thinned, train

BATCH, QUERIES = 64, 20
SLICE = 100  # steps between two saves


class QueryTraining:
    """One training, from the seeds of two generators, one of weights and prompts and one of the test, kept at `state`.

    The loss is the squared error at QUERIES queries of BATCH prompts, in units of the labels.
    """

    def __init__(
        self, config: GPTConfig, law: PromptLaw, muon: float, seed, test_seed, *, state: Path, label: str, device: str
    ):
        self.config, self.law, self.muon, self.seed, self.test_seed = config, law, muon, seed, test_seed
        self.state, self.label, self.device = state, label, device
        self.asked, self.seconds, self.elapsed = 0, 0.0, 0.0

    def begin(self):
        """The model before its first step, its loss, and their generator: the same each time."""
        rng = np.random.default_rng(self.seed)
        model = GPT(self.config, rng=rng, start="fan_in").to(self.device)

        def loss(step):
            self.asked += 1
            errors = query_errors(model, self.law, BATCH, QUERIES, rng)
            return errors.mean() / self.config.label_unit**2

        return model, loss, rng

    def short(self, schedule: Schedule, prompts: int, until: float) -> Estimate | None:
        """The raw test loss after a schedule at Muon's rate, or None if `until`, a monotonic time, came before."""
        model, loss, rng = self.begin()
        curve = train(
            model, loss, replace(schedule, muon=self.muon), rng=rng, checkpoint=self.state, **self._kept(until)
        )
        return None if math.isnan(curve[-1]) else self._tested(model, prompts)

    def whole(self, plan: Plan, prompts: int, until: float) -> tuple[Settled, Estimate] | None:
        """The training until it helps no more and its raw test loss, or None if `until` came before."""
        began, at = time.process_time(), time.monotonic()
        plan = replace(plan, muon=self.muon)
        found = train_until_flat(self.begin, plan, checkpoint=self.state, **self._kept(until))
        self.seconds, self.elapsed = time.process_time() - began, time.monotonic() - at
        return None if found is None else (found, self._tested(found.model, prompts))

    def record(self, settled: Settled, loss: Estimate, earlier: dict | None) -> dict:
        """All that is kept of a whole training as JSON: losses raw and divided by d, curve and stretches raw.

        `earlier` is what was kept of the same training with fewer steps, whose losses stay under "shorter".
        """
        curve, scale, d = settled.curve, self.config.label_unit**2, self.config.d
        ends = np.array_split(np.arange(len(curve)) + 1, min(BINS, len(curve)))
        kept = settled.constant // settled.stretches.first.count
        return {
            "loss": float(loss.mean),
            "stderr": float(loss.stderr),
            "loss_per_dimension": float(loss.mean / d),
            "stderr_per_dimension": float(loss.stderr / d),
            "settled": settled.stretches.flat,
            "constant_steps": settled.constant,
            "last_stretches": [
                {"loss": part.mean * scale, "stderr": part.stderr * scale, "steps": part.count}
                for part in (settled.stretches.first, settled.stretches.second)
            ],
            "stretches": [float(part.mean() * scale) for part in np.split(curve[: settled.constant], kept)],
            "steps": [int(part[-1]) for part in ends],
            "curve": thinned(curve * scale),
            "muon": self.muon,
            "core_seconds": round(self.core_seconds(len(curve), earlier)),
            **({"gpu_seconds": round(self.elapsed)} if self.device == "cuda" else {}),
            "made_with": made_with(self.device),
            "shorter": _shorter(earlier, settled.constant),
        }

    def core_seconds(self, steps: int, earlier: dict | None = None) -> float:
        """Of one core, a step's of those since the last start times all steps.

        A step's in the `earlier`, shorter run where those are fewer: on a busy machine each counts for more. Where a
        GPU trains, what as many steps of that run would take on a core, or, without one, the host's seconds.
        """
        step = self.seconds / max(1, self.asked)
        if earlier is None:
            return steps * step
        before = earlier["core_seconds"] / earlier["steps"][-1]
        return steps * (before if self.device == "cuda" else min(step, before))

    def forget(self, *, done: bool = True) -> None:
        """Delete what a killed training would go on from, but, unless it is `done`, what a longer one would."""
        for file in (self.state, *states(self.state)):
            if done or not file.name.endswith(".constant.safetensors"):
                file.unlink(missing_ok=True)

    def _kept(self, until):
        return dict(every=SLICE, minutes=(until - time.monotonic()) / 60, label=self.label)

    def _tested(self, model, prompts):
        return tested(model, self.law, prompts, np.random.default_rng(self.test_seed))


def _shorter(run: dict | None, constant: int) -> list[dict]:
    """The losses of the same training with fewer steps at constant rates, from the `run` that was kept."""
    if run is None:
        return []
    one = {"constant_steps": run["constant_steps"], "steps": run["steps"][-1]}
    every = [*run["shorter"], one | {key: run[key] for key in ("loss", "stderr", "core_seconds", "curve")}]
    return [shorter for shorter in every if shorter["constant_steps"] < constant]


def made_with(device: str) -> dict[str, str]:
    """The versions and the machine that a result depends on."""
    machine = f"{platform.machine()}, {torch.get_num_threads()} thread(s)"
    machine = torch.cuda.get_device_name() if device == "cuda" else machine
    return {"python": platform.python_version(), "torch": torch.__version__, "machine": machine}
