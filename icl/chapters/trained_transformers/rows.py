"""Chapter 7's remaining rows of Fu et al. (2024): errors by number of examples, LSTM layers, forgetting, widths."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import torch

from icl import probes
from icl.chapters.trained_transformers import recipes, weights
from icl.chapters.trained_transformers.probing import DRAWS, Positions, Queries
from icl.chapters.trained_transformers.study import Study
from icl.estimates import Estimate, NotRun
from icl.models.lstm import LSTM
from icl.search import mean_over_trainings

ENOUGH = 0.01  # of the error of answering 0


def errors_by_examples(runs: list[np.ndarray]) -> np.ndarray:
    """Mean squared errors (S, layers, T) after 1, …, T examples, of S runs' residuals (layers, P, T)."""
    return np.array([(residuals**2).mean(1) for residuals in runs])


def over_prompts(
    runs: list[np.ndarray], statistic: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator
) -> Estimate:
    """A statistic (S, layers, T) → (S,) of `errors_by_examples`, mean over runs, with errors of prompts and runs."""
    found = statistic(errors_by_examples(runs))
    squares = np.moveaxis(np.array(runs) ** 2, 2, 0)  # (P, S, layers, T)
    draws = np.array([statistic(means).mean() for means in probes.resampled_means(squares, DRAWS, rng)])
    between = found.var(ddof=1) / len(found) if len(found) > 1 else 0.0
    return Estimate(float(found.mean()), float(np.sqrt(draws.var(ddof=1) + between)), DRAWS)


def lstm_layers(model: LSTM, train: Positions, test: Positions) -> np.ndarray:
    """Residuals (layers, P, T − 1) of ReadOuts of an LSTM's layers, fitted on `train`, after 1, 2, … examples."""
    fit, new = (_lstm_states(model, part) for part in (train, test))
    return probes.fit_readouts(fit, train.answers)(new) - test.answers


@torch.no_grad()
def _lstm_states(model: LSTM, part: Positions) -> np.ndarray:
    states = model.states(torch.from_numpy(part.X).float(), torch.from_numpy(part.y).float())
    return torch.stack(states)[:, :, 1:].double().numpy()


@torch.no_grad()
def asked_again(model: torch.nn.Module, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Residuals (P, n) of a model that has read n examples X (P, n, d), y (P, n) and is asked for each of them again.

    An LSTM is asked for one at a time, as the last of a sequence; an encoder for all at once.
    """
    X, y = torch.from_numpy(X).float(), torch.from_numpy(y).float()
    if isinstance(model, LSTM):
        ask = lambda t: model(torch.cat([X, X[:, t : t + 1]], 1), torch.cat([y, y[:, :1]], 1))[:, -1]
        answers = torch.stack([ask(t) for t in range(y.shape[1])], 1)
    else:
        answers = model(X, y, X)
    return (answers - y).double().numpy()


@torch.no_grad()
def one_answer(model: torch.nn.Module, X: np.ndarray, y: np.ndarray, query: np.ndarray) -> float:
    """An encoder's answer to one query (1, d) after X (n, d), y (n,)."""
    return model(*(torch.from_numpy(part[None]).float() for part in (X, y, query))).item()


def last_states(found: Study, prompts: Queries) -> tuple[np.ndarray, np.ndarray]:
    """The first run's last hidden states (P, R, C) behind the final LayerNorm, and the answers (P, R)."""
    with torch.no_grad():
        return found.models[0].norm(prompts.states(found.models[0])[-1]).double().numpy(), prompts.answers


def sufficient_width(widths: Sequence[int], shares: Sequence[float]) -> float:
    """The width at which the error falls to ENOUGH of that of answering 0: where log-log lines between widths cross.

    `shares` are the errors at the increasing `widths`, over that of answering 0. NaN where the widths do not enclose
    it: the least is enough already, or none is.
    """
    for (narrow, above), (wide, below) in pairwise(zip(widths, shares, strict=True)):
        if above > ENOUGH >= below:
            return float(narrow * (wide / narrow) ** (np.log(above / ENOUGH) / np.log(above / below)))
    return float("nan")


def width_ladders(profile: str, seed: int) -> dict[int, tuple[tuple[int, ...], np.ndarray]]:
    """Of each dimension: the widths tried, and the errors over that of answering 0, (runs, widths)."""
    error = lambda name, run: weights.model_of(name, run, profile, seed)[1]["test_error"]
    shares = lambda d, run: [error(recipes.LADDERS[d, width], run) / d for width in recipes.WIDTHS[d]]
    return {d: (widths, np.array([shares(d, run) for run in recipes.SEEDS])) for d, widths in recipes.WIDTHS.items()}


def endings(groups: dict[str, Iterable[str]], profile: str, seed: int) -> dict[str, int]:
    """Of trainings by a Plan, SEEDS of every recipe, how long the rates were constant, and how many ended flat.

    Group "a" gives `a_least` and `a_most` steps; all together `trainings` and `trainings_flat`.
    """
    found, flat = {}, []
    for group, names in groups.items():
        records = [weights.model_of(name, run, profile, seed)[1] for name in names for run in recipes.SEEDS]
        kept = [record["steps"]["constant"] for record in records]
        found |= {f"{group}_least": min(kept), f"{group}_most": max(kept)}
        flat += [record["flat"] for record in records]
    return found | {"trainings": len(flat), "trainings_flat": sum(flat)}


def width_growth(ladders: dict[int, tuple[tuple[int, ...], np.ndarray]]) -> Estimate | NotRun:
    """The width that suffices in the largest dimension over the one in the least, mean over runs.

    Of widths and shares (runs, widths) for each dimension, as `width_ladders` gives them.
    """
    small, large = (
        np.array([sufficient_width(ladders[d][0], run) for run in ladders[d][1]]) for d in (min(ladders), max(ladders))
    )
    ratios = large / small
    if not np.isfinite(ratios).all():
        return NotRun("after so short trainings the widths that were tried do not enclose the one that suffices")
    return mean_over_trainings(ratios)


def widening(shares: np.ndarray) -> Estimate:
    """The largest ratio of errors at neighbouring widths, of shares (runs, widths): of geometric means over runs."""
    steps = np.diff(np.log(shares))
    worst = mean_over_trainings(steps[:, steps.mean(0).argmax()])
    ratio = float(np.exp(worst.mean))
    return Estimate(ratio, ratio * worst.stderr, worst.count)


def runs_of(found: Study) -> list[np.ndarray]:
    """Residuals (layers, P, T) of each run's layers 1, 2, …, as published."""
    return [run.published[1:] for run in found.runs]
