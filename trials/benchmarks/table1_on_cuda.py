"""A training step of chapter 4's Table 1 on a core and on a CUDA GPU, where there is one."""

from timing import WALL, once, write_tables  # sets one thread, before NumPy starts

# isort: split
from dataclasses import replace
from pathlib import Path

import torch

from icl.chapters.mlp_benefit import table1
from icl.chapters.mlp_benefit.query_training import QueryTraining
from icl.models.gpt import GPTConfig
from icl.optimisers import Optimiser
from icl.theory.moments import label_size

torch.set_num_threads(1)
ENTRY, RATE = "table1.mean_mlp", 0.004
WARM_UP, STEPS = 12, {"cpu": 6, "cuda": 100}


def stepper(device, one_by_one=False):
    """A closure that takes one whole step: prompts drawn, loss, gradients, Adam and Muon; it ends when all is done."""
    law = table1.law_of(table1.ENTRIES[ENTRY])
    config = GPTConfig(**table1.SIZES, label_unit=label_size(law))
    seeds = table1.seeds(ENTRY, 0)
    model, loss, _ = QueryTraining(config, law, RATE, *seeds, state=Path(), label="", device=device).begin()
    schedule = replace(table1.PLAN.constant(), muon=RATE)
    optimiser = Optimiser(model, schedule)
    if one_by_one:
        named = dict(lr=RATE, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        optimiser.muon = torch.optim.Muon(optimiser.views.values(), **named)

    def step():
        value = loss(0)
        optimiser.zero_grad()
        value.backward()
        optimiser.step(0)
        return value.item()  # waits for the device

    return step


def milliseconds(device, **named):
    """Of a step on the clock: the mean of STEPS of them after WARM_UP."""
    step, count = stepper(device, **named), STEPS[device]
    for _ in range(WARM_UP if device == "cuda" else 1):
        step()
    return 1e3 * once(lambda: [step() for _ in range(count)], WALL)[1] / count


def a_step():
    """6 layers, 4 heads, width 128, d = 20, n = 40, with MLPs, 64 prompts of 20 queries, float32; the mean of many
    steps on the clock. On a GPU `icl.optimisers` gives Muon all matrices of a shape at once.
    """
    yield "| where | step, ms |"
    yield "|---|---|"
    yield f"| one core | {milliseconds('cpu'):.0f} |"
    if not torch.cuda.is_available():
        yield "| a GPU | there is none |"
        return
    name = torch.cuda.get_device_name()
    yield f"| {name}, PyTorch's Muon, matrix by matrix | {milliseconds('cuda', one_by_one=True):.0f} |"
    yield f"| {name} | {milliseconds('cuda'):.0f} |"


if __name__ == "__main__":
    write_tables("table1_on_cuda", "Table 1's trainings on a GPU", (a_step,))
