"""What each ingredient of the training is worth: a ladder from Garg et al.'s recipe to this one, one step at a time.

Every rung trains the same kind of transformer on the same task for about the same processor time, and is tested on the
way. Its learning rate is swept first, with a seed of its own, past the ends of the grid if the best lies there; then
three seeds run at the best one. Every finished run is added to `results/checkpoints/training_ladder.json`, which
chapter 4 shows, so that a killed ladder goes on:

    python trials/benchmarks/training_ladder.py d5 d8  # train what is missing, then write the tables
    python trials/benchmarks/training_ladder.py        # the tables of what there is
"""

from timing import write_tables  # sets one thread, before NumPy starts

# isort: split
import sys
from dataclasses import asdict

import numpy as np
from training_rungs import BATCH, LADDER, OTHERS, SIZES, TEST_PROMPTS, Rung, Trial

from icl.chapters.mlp_benefit.ingredient_pictures import LEVELS, RESULTS, SEEDS, recipes
from icl.files import read_sealed, sealed, write_atomically

SWEEP_SEED = 100
ADAM, MUON = (3e-4, 1e-3, 3e-3, 1e-2), (0.002, 0.005, 0.0125, 0.03)  # geometric, about three times each


def read() -> dict:
    """Size → rung → "sweep" (rate → run) and "runs" (seed → run with its rate); {} where there is no file."""
    return read_sealed(RESULTS)["sizes"] if RESULTS.exists() else {}


def add(size: str, rung: str, part: str, key: str, run: dict) -> None:
    """Keep one run; the file is written whole or not at all."""
    sizes = read()
    sizes.setdefault(size, {}).setdefault(rung, {"sweep": {}, "runs": {}})[part][key] = run
    settings = {
        "sizes": {name: asdict(size) for name, size in SIZES.items()},
        "recipes": {
            label(rung): {"rung": rung in LADDER, "optimiser": "Muon" if rung.muon else "Adam"}
            for rung in LADDER + OTHERS
        },
        "batch": BATCH,
        "test_prompts": TEST_PROMPTS,
    }
    write_atomically(RESULTS, sealed({"settings": settings, "sizes": sizes}))


def climb(name: str) -> None:
    """Run what is missing of one size: each rung's sweep, then its seeds at the best rate."""
    for rung in LADDER + OTHERS:
        key = label(rung)
        while (rate := missing(read().get(name, {}).get(key, {}).get("sweep", {}), rung)) is not None:
            add(name, key, "sweep", f"{rate:g}", Trial(SIZES[name], rung, SWEEP_SEED).run(rate))
        rate = best(read()[name][key]["sweep"])
        for seed in range(SEEDS):
            if str(seed) not in read()[name][key]["runs"]:
                add(name, key, "runs", str(seed), {"rate": rate} | Trial(SIZES[name], rung, seed).run(rate))


def label(rung: Rung) -> str:
    """A rung's name in the file: what the ladder adds, or what is other than in the whole recipe."""
    return rung.name if rung in LADDER else f"whole recipe, but with {rung.name}"


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


def table(name: str):
    """Rows of one size: rate, steps, error at the end of each seed, median seconds to each level."""
    yield f"| recipe | rate | steps | error at the end | {' | '.join(f'seconds to {level:g}' for level in LEVELS)} |"
    yield "|---" * (4 + len(LEVELS)) + "|"
    for recipe in recipes().get(name, []):
        ends = ", ".join(f"{error:.4f}" for error in recipe.errors[:, -1])
        times = " | ".join(recipe.times())
        yield f"| {recipe.name} | {recipe.optimiser} {recipe.rate:g} | {recipe.steps:,} | {ends} | {times} |"


def d5():
    """d = 5, n = 10, 6 layers, 4 heads, width 32. Each of the first eight rows adds an ingredient to the one above; the
    others lack one ingredient of the whole recipe, or two; the last has four times the budget, and for seconds what as
    many steps took in the whole recipe's row. Error at the query after all examples, divided by d; seconds of one core
    until the error was first there (median of three seeds), – where it was not within the budget of about 45 seconds.
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
