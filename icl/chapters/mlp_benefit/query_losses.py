"""A GPT's squared errors at the queries of fresh prompts: one a prompt, or several that do not see each other."""

from dataclasses import replace

import numpy as np
import torch

from icl.estimates import Estimate, monte_carlo
from icl.models.gpt import GPT
from icl.prompts import PromptLaw, token_matrix


def squared_errors(model: GPT, law: PromptLaw, count: int, rng: np.random.Generator) -> torch.Tensor:
    """(f − y_query)² on `count` fresh prompts, (count,), on the model's device."""
    prompts, device = law.sample(rng, count), model.position.device
    E = torch.from_numpy(token_matrix(prompts.X, prompts.y, prompts.x_query)).float().to(device)
    return (model(E) - torch.from_numpy(prompts.y_query).float().to(device)) ** 2


def query_errors(model: GPT, law: PromptLaw, count: int, queries: int, rng: np.random.Generator) -> torch.Tensor:
    """(f − y)² at several queries of each of `count` fresh prompts, (count, queries), on the model's device.

    The queries of a prompt share its task and examples, and the model answers each as if it were alone.
    """
    device, n = model.position.device, law.n
    drawn = replace(law, n=n + queries - 1).sample(rng, count)  # as many pairs more, the last one its query
    X, y = np.concatenate([drawn.X, drawn.x_query[:, None]], 1), np.concatenate([drawn.y, drawn.y_query[:, None]], 1)
    X, y = (torch.from_numpy(array).float().to(device) for array in (X, y))
    return (model.answers(X[:, :n], y[:, :n], X[:, n:]) - y[:, n:]) ** 2


def tested(model: GPT, law: PromptLaw, count: int, rng: np.random.Generator) -> Estimate:
    """Mean squared error on `count` fresh prompts."""
    with torch.no_grad():
        return monte_carlo(lambda B: squared_errors(model, law, B, rng).double().cpu().numpy(), count, chunk=2000)
