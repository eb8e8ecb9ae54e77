"""Chapter 10's deep transformers against their rivals: risks on new tasks and on those they were trained on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from icl.chapters.how_many_tasks import transformer
from icl.chapters.how_many_tasks.transformer import COUNTS, FRESH, SEEDS, Batch
from icl.estimates import Estimate
from icl.search import mean_over_trainings
from icl.theory import how_many_tasks as theory

PROMPTS = {"quick": 2048, "standard": 8192, "paper": 32_768}


@dataclass(frozen=True)
class Risks:
    """Mean squared errors, one a training, by (predictor, "new" or "seen", number of tasks); see `ratio`.

    values : arrays (trainings,), also of the transformer's squared distances "to_ridge" and "to_mixture".
    linear : number of tasks → risk of one linear layer on new tasks over that of ridge, exact but for ridge's.
    """

    values: dict[tuple[str, str, int], np.ndarray]
    linear: dict[int, float]

    def ratio(self, above: str, below: str, side: str, count: int) -> Estimate:
        """Mean over trainings, with its error, of one predictor's risk over another's on the same prompts."""
        return mean_over_trainings(self.values[above, side, count] / self.values[below, side, count])

    def nearer_to_ridge(self, count: int) -> Estimate:
        """Squared distance of the answers from ridge regression's over that from the mixture's, new tasks."""
        return self.ratio("to_ridge", "to_mixture", "new", count)


def numbers() -> dict[str, int]:
    """What the page says of the shipped trainings: sizes, steps, and how many rested before their rates fell."""
    records = [transformer.load(count, seed)[2] for count in COUNTS for seed in SEEDS]
    steps = [record["steps"]["all"] for record in records]
    found = {"deep_layers": transformer.MODEL.layers, "deep_seeds": len(SEEDS)}
    return found | {
        "deep_least_steps": min(steps),
        "deep_most_steps": max(steps),
        "deep_rested": sum(record["flat"] for record in records),
    }


def compare(ridge: Callable, mixture: Callable, profile: str, rng: np.random.Generator) -> Risks:
    """All trainings on prompts from `rng`; `ridge(X, y, penalty)`, `mixture(X, y, tasks, noise)` estimate w, (B, d)."""
    values: dict[tuple[str, str, int], list[float]] = {}
    for count in COUNTS:
        for seed in SEEDS:
            tasks, model = transformer.trained(count, seed, profile)
            for side in ("new", "seen") if count else ("new",):
                batch = transformer.draw(rng, PROMPTS[profile], None if side == "new" else tasks)
                for name, value in _risks(batch, model, tasks, ridge, mixture).items():
                    values.setdefault((name, side, count), []).append(value)
    found = {key: np.array(value) for key, value in values.items()}
    least = np.mean([value.mean() for (name, side, _), value in found.items() if (name, side) == ("ridge", "new")])
    return Risks(found, {count: _linear(count, rng) / float(least) for count in COUNTS})


def _risks(batch: Batch, model, tasks, ridge, mixture) -> dict[str, float]:
    with torch.no_grad():
        answers = {"transformer": transformer.predictions(model, batch).double().numpy()}
    of_task = lambda w: np.einsum("bqd,bd->bq", batch.queries, w)
    answers["ridge"] = of_task(ridge(batch.X, batch.y, transformer.SIGMA2))
    if tasks is not None:
        answers["mixture"] = of_task(mixture(batch.X, batch.y, tasks, transformer.SIGMA2))
    risks = {name: ((answer - batch.answers) ** 2).mean() for name, answer in answers.items()}
    apart = {f"to_{name}": ((answers["transformer"] - answers[name]) ** 2).mean() for name in [*answers][1:]}
    return risks | apart


def _linear(count: int, rng: np.random.Generator) -> float:
    """Risk on new tasks of one linear layer, endless prompts of `count` tasks: mean over sets of tasks."""
    d, n, sigma2 = transformer.D, transformer.N, transformer.SIGMA2
    if count == FRESH:
        return d * theory.errors_given(np.eye(d), n, sigma2, np.inf)[0]
    sets = rng.standard_normal((400, count, d))
    return d * float(np.mean([theory.errors_given(w.T @ w / count, n, sigma2, np.inf)[0] for w in sets]))


def replayed() -> tuple[float, float, float]:
    """Loss REPLAYED of the training on COUNTS[0] tasks: as recorded, made again, and as its next seed recorded."""
    records = [transformer.load(COUNTS[0], seed)[2] for seed in SEEDS[:2]]
    again = transformer.replay(COUNTS[0], SEEDS[0])
    return records[0]["first_losses"][-1], float(again[-1]), records[1]["first_losses"][-1]
