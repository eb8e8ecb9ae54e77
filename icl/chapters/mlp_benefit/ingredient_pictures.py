"""Chapter 4: what each ingredient of its trainings is worth, as `trials/benchmarks/training_ladder.py` measured it."""

import re
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from icl.chapters.mlp_benefit import table1
from icl.chapters.mlp_benefit.table1_pictures import ResultTable
from icl.checkpoints import FOLDER
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.files import read_sealed

RESULTS = FOLDER / "training_ladder.json"
SEEDS = 3
LEVELS = (0.02, 0.005, 0.001)  # errors a dimension; 1 is the error of answering 0
WHOLE = "Muon on the hidden matrices"  # the whole recipe, by what it adds last
LONGER = "whole recipe, but with four times the budget"


@dataclass(frozen=True)
class Recipe:
    """Trainings of one recipe at one size: processor seconds and test errors a dimension, (seeds, checks); `rung` if it
    belongs to the ladder, otherwise it is the whole recipe without an ingredient or two, or for longer."""

    name: str
    rung: bool
    optimiser: str
    rate: float
    steps: int
    seconds: np.ndarray
    errors: np.ndarray

    def reached(self, level: float) -> float:
        """Processor seconds until the error was first at most `level`, median of seeds; infinite where it was not."""
        first = [seconds[errors <= level] for seconds, errors in zip(self.seconds, self.errors, strict=True)]
        return float(np.median([found[0] if len(found) else np.inf for found in first]))

    def times(self) -> list[str]:
        """Seconds to each of LEVELS as text, – where it was not reached."""
        return [f"{seconds:.0f}" if np.isfinite(seconds) else "–" for seconds in map(self.reached, LEVELS)]


def recipes(path: Path = RESULTS) -> dict[str, list[Recipe]]:
    """Size → its recipes in the ladder's order, those that are trained; {} where there is no file.

    The longer trainings ran on another day, twice as slow: their seconds are what as many steps of the whole recipe,
    which are the same steps, took in the ladder.
    """
    if not path.exists():
        return {}
    content, found = read_sealed(path), {}
    for size, rungs in content["sizes"].items():
        named = {name: told for name, told in content["settings"]["recipes"].items() if rungs.get(name, {}).get("runs")}
        tried = {name: _recipe(name, told, rungs[name]["runs"]) for name, told in named.items()}
        if LONGER in tried:
            pace = np.median(tried[WHOLE].seconds[:, -1]) / tried[WHOLE].steps
            seconds = [pace * np.array(run["steps"]) for run in rungs[LONGER]["runs"].values()]
            tried[LONGER] = replace(tried[LONGER], seconds=np.array(seconds))
        found[size] = list(tried.values())
    return found


def _recipe(name: str, told: dict, runs: dict[str, dict]) -> Recipe:
    # null is a training that went astray; its later errors are missing
    checks = max(len(run["seconds"]) for run in runs.values())
    padded = lambda values: np.array([np.nan if value is None else value for value in values] + [np.nan] * checks)
    seconds, errors = (np.array([padded(run[key])[:checks] for run in runs.values()]) for key in ("seconds", "errors"))
    first = next(iter(runs.values()))
    return Recipe(name, told["rung"], told["optimiser"], first["rate"], first["steps"][-1], seconds, errors)


def sizes(path: Path = RESULTS) -> dict[str, dict]:
    """Size → its d, n, layers, width, heads and about how many seconds a recipe has; {} where there is no file."""
    return read_sealed(path)["settings"]["sizes"] if path.exists() else {}


def ends(path: Path = RESULTS) -> dict[str, np.ndarray]:
    """Recipe → its error a dimension at the end at each size, the median of seeds, (sizes,); NaN where untrained."""
    found = [{recipe.name: np.median(recipe.errors[:, -1]) for recipe in tried} for tried in recipes(path).values()]
    return {name: np.array([errors.get(name, np.nan) for errors in found]) for name in found[0]}


def seconds_at_table1(id: str, path: Path = table1.RESULTS) -> list[float]:
    """Core seconds until an entry of Table 1 had a training loss of each of LEVELS a dimension, its first seed.

    Of its trainings, the shorter ones too, that which was there first; infinite where none was.
    """
    run = next(iter(table1.runs(path)[id].values()))
    told = [shorter for shorter in run["shorter"] if "curve" in shorter] + [run | {"steps": run["steps"][-1]}]
    return [min(_seconds_to(level, training) for training in told) for level in LEVELS]


def _seconds_to(level: float, training: dict) -> float:
    """Until the mean of one of the curve's stretches was at most `level` a dimension."""
    ends = [part[-1] + 1 for part in np.array_split(np.arange(training["steps"]), len(training["curve"]))]
    there = np.flatnonzero(np.array(training["curve"]) / table1.SIZES["d"] <= level)
    return ends[there[0]] * training["core_seconds"] / training["steps"] if len(there) else np.inf


def ladder(path: Path = RESULTS) -> Figure:
    """Test error against processor seconds, for each size and each rung: medians over seeds, and the seeds."""
    found, columns = recipes(path), {}
    with style():
        figure, axes = canvas(1, len(found), height=4.2, sharey=True, squeeze=False)
        for axis, (size, tried) in zip(axes[0], found.items(), strict=True):
            rungs = [recipe for recipe in tried if recipe.rung]
            shades = np.linspace(0.3, 1, len(rungs))  # the published recipe is the palest
            for recipe, shade in zip(rungs, shades, strict=True):
                colour = COLOURS["trained_sampled"] if recipe.optimiser == "Muon" else INK
                seconds = np.median(recipe.seconds, 0)
                axis.plot(seconds, np.median(recipe.errors, 0), color=colour, alpha=shade, label=recipe.name)
                axis.plot(recipe.seconds[:, -1], recipe.errors[:, -1], ".", color=colour, alpha=shade)
                key = "_".join(re.findall(r"\w+", f"{size} {recipe.name}"))
                columns |= {f"{key}_seconds": seconds}
                columns |= {f"{key}_{k}": errors for k, errors in enumerate(recipe.errors)}
            for level in LEVELS:
                axis.axhline(level, xmin=0.7, color=INK, linewidth=0.8, linestyle=":")
            axis.set(yscale="log", ylim=(8e-4, 1.3), xlabel="processor seconds", title=size.replace("d", "d = "))
        axes[0, 0].set(ylabel="test error a dimension")
        axes[0, 0].legend(fontsize=8.5, loc="lower left")
    alt = (
        "Test error, logarithmic, against processor seconds, for eight recipes from the published one to ours, at two"
        " sizes: with x and y as tokens of their own the curves stay above .4; with one token a pair they fall below"
        " .1, and every later ingredient ends lower or about as low, Muon lowest."
    )
    return Figure("ladder", figure, columns, alt)


def table(path: Path = RESULTS) -> ResultTable:
    """A row for every recipe of the file at `path`, with what it reached at each size; – where it is not trained."""
    found = recipes(path)
    named = {size: {recipe.name: recipe for recipe in tried} for size, tried in found.items()}
    levels = ", ".join(f"{level:g}".removeprefix("0") for level in LEVELS)
    titles = [f"{size.replace('d', 'd = ')}: {what}" for size in found for what in ("error, 10⁻³", f"s to {levels}")]
    rows = [
        (name.replace("whole recipe, but", "…"), *chain(*(_cells(tried.get(name)) for tried in named.values())))
        for name in dict.fromkeys(name for tried in named.values() for name in tried)
    ]
    return ResultTable(("recipe", *titles), rows)


def _cells(recipe: Recipe | None) -> tuple[str, str]:
    """A recipe's errors at the end, in thousandths, median, least and largest of its seeds; seconds to each level."""
    if recipe is None:
        return "–", "–"
    least, median, most = (
        f"{float(f'{1e3 * error:.2g}'):g}" for error in np.quantile(recipe.errors[:, -1], (0, 0.5, 1))
    )
    return f"{median} ({least} to {most})", ", ".join(recipe.times())
