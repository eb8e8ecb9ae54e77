"""Chapter 7's remaining rows of Fu et al. (2024): errors by number of examples, LSTM layers, forgetting, widths."""

from collections.abc import Callable

import numpy as np
import torch

from icl import probes
from icl.chapters.trained_transformers import recipes
from icl.chapters.trained_transformers.probing import DRAWS, Positions, Queries
from icl.chapters.trained_transformers.study import Study
from icl.estimates import Estimate, NotRun
from icl.models.lstm import LSTM
from icl.validation import InputError

DIMENSIONS, WIDTHS = (3, 10), (8, 16, 32, 64)
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


def sufficient_width(d: int, profile: str, seed: int) -> float:
    """The least of WIDTHS whose test error is at most ENOUGH of d; infinite if none is. InputError without weights."""
    found = {w: recipes.model_of(f"width_{w}_d{d}", 0, profile, seed)[1]["test_error"] for w in WIDTHS}
    return min((w for w, error in found.items() if error <= ENOUGH * d), default=np.inf)


def width_growth(profile: str, seed: int) -> float | NotRun:
    """The width that suffices at d = 10 over the one at d = 3, if these models were trained."""
    if profile != "standard":  # which trains what it needs
        for name in (f"width_{w}_d{d}" for d in DIMENSIONS for w in WIDTHS):
            try:
                recipes.load_model(recipes.FOLDER, recipes.RECIPES[name], 0)
            except InputError:
                return NotRun(
                    "needs eight encoders that the book does not ship yet: `python -m icl train NAME` for NAME ="
                    " width_8_d3, …, width_64_d10, some ten minutes each"
                )
    small, large = (sufficient_width(d, profile, seed) for d in DIMENSIONS)
    return large / small


def runs_of(found: Study) -> list[np.ndarray]:
    """Residuals (layers, P, T) of each run's layers 1, 2, …, as published."""
    return [run.published[1:] for run in found.runs]
