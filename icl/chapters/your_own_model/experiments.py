"""Chapter 12: known models under the comparison, the trained ones that the book ships, and the power of its test."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import norm

from icl import checkpoints
from icl.comparison.compare import compare
from icl.comparison.fitting import farness
from icl.comparison.questions import Queries
from icl.comparison.table import Comparison, Row
from icl.constructions.newton_transformer import design_a
from icl.estimates import Estimate, NotRun
from icl.models.encoder import Encoder, EncoderConfig
from icl.models.lstm import LSTM, LSTMConfig
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.solvers.prefixes import StepSizeWarning
from icl.theory.newton import whole_range_alpha

SHIPPED = {"base": (Encoder, EncoderConfig), "lstm": (LSTM, LSTMConfig)}
STEPS = (1, 2, 3, 5, 8, 13, 20)
NEWTON = range(7)
ONE_EXAMPLE = {
    "gd_steps": NotRun("after one example a step of gradient descent and one of online descent are the same"),
    "bug": NotRun("with one example, reading the last label as 0 is answering 0"),
}
MOST = 10_000  # prompts of a table whose power is tried


@dataclass(frozen=True)
class Budget:
    """Prompts of a comparison, of each of the counted ones, off the law, and repetitions of the test of the test."""

    prompts: int
    counted: int
    off_law: int
    repeats: int
    every: int = 1  # of the counted models one in so many
    differences: int = 20_000  # prompts from which the number that tells two algorithms apart is reckoned


BUDGETS = {
    "quick": Budget(1000, 200, 300, 400),
    "standard": Budget(10_000, 1000, 3000, 2000),
    "paper": Budget(100_000, 10_000, 30_000, 10_000),
    "claims": Budget(200, 100, 100, 200, every=8, differences=5000),
}


def budget(parameters: Parameters) -> Budget:
    """The profile's budget."""
    return BUDGETS[parameters.profile]


def shipped(name: str) -> tuple[torch.nn.Module, PromptLaw]:
    """A trained model of chapter 7, "base" (the encoder) or "lstm", and the law it was trained on."""
    tensors, record = checkpoints.load(checkpoints.FOLDER / f"{name}-seed0.safetensors")
    kind, sizes = SHIPPED[name]
    model = kind(sizes(**record["recipe"]["model"]), rng=np.random.default_rng(0))
    model.load_state_dict(tensors)
    return model.eval(), PromptLaw.isotropic(model.config.d, record["recipe"]["n"], 0.0)


def newton_model(law: PromptLaw, k: int) -> Callable:
    """Design A of chapter 6: a transformer that takes k Newton steps, from one start for all prompts of the law."""
    design = design_a(law.d, k, whole_range_alpha(law.d, law.n) / 4)

    def predict(X, y, x_query):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StepSizeWarning)  # of a rare prompt
            return design.predict(X, y, x_query)

    return predict


def miscounted(
    models: dict[int, Callable], law: PromptLaw, keys: tuple[str, str], prompts: int, rng, every: int = 1
) -> tuple[int, int]:
    """Models of known step counts: the largest error of the count that is named, and that of a rival family.

    `keys` are the families: the one with the model's own step length, and the one with a length of each prompt. Of the
    models one in `every` is asked.
    """
    off, near = [], []
    for k, model in list(models.items())[::every]:
        found = compare(model, law, prompts=prompts, rng=rng, name=f"{k} steps")
        right = found.named.steps if found.named.key == keys[0] else 1000
        off.append(abs(right - k))
        near.append(abs(row(found, keys[1]).steps - k))
    return max(off), max(near)


def farther(law: PromptLaw, penalties: tuple[float, float, float], P: int, rng: np.random.Generator) -> np.ndarray:
    """How much farther ridge with penalty c is than with penalty b from ridge on rounded labels, by prompts: (P,).

    `penalties` are the model's own, b and c; ten queries a prompt.
    """
    questions = Queries.draw(law, rng, P, 10)
    X, y, asked = questions.arguments
    answers = lambda w: (asked @ w[..., None])[..., 0]
    own = answers(linear.ridge(X, np.round(y), penalties[0]))
    near, far = (answers(linear.ridge(X, y, penalty)) for penalty in penalties[1:])
    size = (own**2).mean(1)
    return farness(((own - far) ** 2).mean(1), size) - farness(((own - near) ** 2).mean(1), size)


def worth(law: PromptLaw, prompts: int, budget: Budget) -> int:
    """How often to draw tables of so many prompts: as the budget says, but less often where one takes seconds.

    At MOST prompts no table is long enough to tell, and one will do.
    """
    affordable = 10_000 * budget.differences / (prompts * (law.n + law.d) * law.d)
    return 1 if prompts >= MOST else int(np.clip(affordable, 20, budget.repeats))


def detected(told: list[bool], prompts: int, differences: np.ndarray) -> Estimate | NotRun:
    """The share of tables that told two algorithms apart; nothing where it would have taken more than MOST prompts.

    `prompts` was reckoned from the mean of so many `differences` (P,), and its error moves the share as well: five
    standard errors and 1.28 are reached by a mean that is right, and by one that is off by a share r 6.28 r fewer.
    """
    if prompts >= MOST:
        return NotRun(f"it would take more than {MOST:,} prompts at these parameters")
    share, repeats = float(np.mean(told)), len(told)
    of_tables = max(share * (1 - share), 1 / repeats) / repeats
    off = 6.2816 * differences.std() / np.sqrt(len(differences)) / abs(differences.mean())
    return Estimate(share, float(np.sqrt(of_tables + (norm.pdf(1.2816) * off) ** 2)), repeats)


def with_error(values: np.ndarray, function: Callable[[float], float]) -> Estimate:
    """A smooth function of the mean of values (P,), with its standard error, by the delta method."""
    mean, error, step = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), 1e-6
    slope = (function(mean + step) - function(mean - step)) / (2 * step)
    return Estimate(function(mean), abs(slope) * error, len(values))


def row(found: Comparison, key: str) -> Row:
    """One family's row."""
    return next(row for row in found.rows if row.key == key)
