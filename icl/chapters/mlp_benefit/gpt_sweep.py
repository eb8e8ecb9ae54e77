"""Chapter 4's sweep of small GPT-2s with and without the MLP."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from icl.estimates import Estimate, monte_carlo
from icl.models.gpt import GPT, GPTConfig
from icl.parallel import each
from icl.parameters import Parameters
from icl.prompts import PromptLaw, token_matrix
from icl.randomness import Streams
from icl.theory.moments import tau
from icl.training import Schedule, train

# Small models: sizes of this experiment only.
D, N = 3, 10
BATCH, QUERIES, CLIP, TEST_PROMPTS = 32, 8, 1.0, 10_000
ADAM = 3e-3  # peak rate of what Muon does not move; Muon's is swept


@dataclass(frozen=True)
class GPTBudget:
    """The sweep of a profile: steps, Muon's peak rates and how many seeds."""

    steps: int
    learning_rates: tuple[float, ...]
    seeds: int


BUDGETS = {
    "quick": GPTBudget(300, (0.004, 0.01, 0.025), 2),
    "standard": GPTBudget(1500, (0.002, 0.004, 0.01, 0.025), 3),
    "paper": GPTBudget(20_000, (0.002, 0.004, 0.01, 0.025), 5),
}


@dataclass(frozen=True)
class Sweep:
    """Test risks, (2 means, 2 architectures, rates, seeds): mean zero then beta_norm; with the MLP, then without."""

    learning_rates: np.ndarray
    laws: tuple[PromptLaw, PromptLaw]
    risks: np.ndarray

    def ratios(self) -> np.ndarray:
        """Risk without over risk with the MLP, geometric mean over seeds: (2 means, rates)."""
        logs = np.log(self.risks).mean(-1)
        return np.exp(logs[:, 1] - logs[:, 0])


def small_law(parameters: Parameters, beta_norm: float) -> PromptLaw:
    """d = 3, n = 10, H = Psi = I, beta_star = beta_norm (1, 1, 1)/√3, the chapter's sigma2."""
    return PromptLaw.isotropic(D, N, parameters.sigma2, np.full(D, beta_norm / np.sqrt(D)))


def sweep(parameters: Parameters, stream: Streams) -> Sweep:
    """Train every combination of task mean, architecture, learning rate and seed, and test each on fresh prompts."""
    budget = BUDGETS[parameters.profile]
    laws = small_law(parameters, 0.0), small_law(parameters, parameters.beta_norm)
    shape = (2, 2, len(budget.learning_rates), budget.seeds)
    tests = [stream.entropy("test of the GPTs", i) for i in range(2)]  # the same prompts for all
    jobs = [
        (GPTConfig(D, N, mlp=j == 0, label_unit=label_unit(laws[i])), laws[i],
         short_schedule(budget.steps, budget.learning_rates[k]), stream("GPT on many queries", i, j, k, run), tests[i])
        for i, j, k, run in np.ndindex(shape)
    ]  # fmt: skip
    risks = np.reshape(each(_trained_risk, jobs, label="GPTs with and without the MLP"), shape)
    return Sweep(np.array(budget.learning_rates), laws, risks)


def short_schedule(steps: int, muon: float) -> Schedule:
    """Warm-up, the peak for the first half, then linearly to 0; Muon at that peak rate, Adam at ADAM."""
    return Schedule(steps, ADAM, CLIP, warm_up=max(1, steps // 20), decay_from=steps // 2, muon=muon)


def _trained_risk(config: GPTConfig, law: PromptLaw, schedule: Schedule, rng, test: int) -> float:
    model, _ = train_gpt(config, law, schedule, rng, label="GPT")
    return float(tested(model, law, TEST_PROMPTS, np.random.default_rng(test)).mean)


def train_gpt(
    config: GPTConfig,
    law: PromptLaw,
    schedule: Schedule,
    rng: np.random.Generator,
    *,
    label: str,
    batch: int = BATCH,
    queries: int = QUERIES,
    **kept,
) -> tuple[GPT, np.ndarray]:
    """A GPT trained on fresh prompts of `law`, `batch` a step with `queries` each: model and losses, (steps,).

    The loss is the squared error at the queries in units of the labels. `kept` goes to `training.train`, which says how
    a run is kept on disk and goes on.
    """
    model = GPT(config, rng=rng, start="fan_in")
    loss = lambda step: query_errors(model, law, batch, queries, rng).mean() / config.label_unit**2
    return model, train(model, loss, schedule, rng=rng, label=label, **kept)


def squared_errors(model: GPT, law: PromptLaw, count: int, rng: np.random.Generator) -> torch.Tensor:
    """(f − y_query)² on `count` fresh prompts, (count,), on the model's device."""
    prompts, device = law.sample(rng, count), model.position.device
    E = torch.from_numpy(token_matrix(prompts.X, prompts.y, prompts.x_query)).float().to(device)
    return (model(E) - torch.from_numpy(prompts.y_query).float().to(device)) ** 2


def label_unit(law: PromptLaw) -> float:
    """√(E y²), the size of a label: the root of tau = tr(H Psi) + sigma2 and of |beta_star|²_H together."""
    return math.sqrt(tau(law) + law.beta_star @ law.H @ law.beta_star)


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
