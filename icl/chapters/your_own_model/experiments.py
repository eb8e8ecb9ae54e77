"""Chapter 12: known models under the comparison, the trained ones that the book ships, and the power of its test."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from icl import checkpoints
from icl.comparison.compare import compare
from icl.comparison.fitting import farness
from icl.comparison.questions import Queries
from icl.comparison.table import ERRORS, Comparison, prompts_needed
from icl.constructions.newton_transformer import design_a
from icl.estimates import Estimate
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


@dataclass(frozen=True)
class Budget:
    """Prompts of a comparison, of each of the counted ones, off the law, and repetitions of the test of the test."""

    prompts: int
    counted: int
    off_law: int
    repeats: int


BUDGETS = {
    "quick": Budget(1000, 200, 300, 400),
    "standard": Budget(10_000, 1000, 3000, 2000),
    "paper": Budget(100_000, 10_000, 30_000, 10_000),
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
    models: dict[int, Callable], law: PromptLaw, keys: tuple[str, str], prompts: int, rng
) -> tuple[int, int]:
    """Models of known step counts: the largest error of the count that is named, and that of a rival family.

    `keys` are the families: the one with the model's own step length, and the one with a length of each prompt.
    """
    off, near = [], []
    for k, model in models.items():
        found = compare(model, law, prompts=prompts, rng=rng, name=f"{k} steps")
        right = found.named.steps if found.named.key == keys[0] else 1000
        off.append(abs(right - k))
        near.append(abs(next(row for row in found.rows if row.key == keys[1]).steps - k))
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


def wanted(differences: np.ndarray) -> int:
    """Prompts that tell two algorithms apart nine times out of ten, from their difference on some prompts (P,)."""
    P = len(differences)
    found = Estimate(float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(P)), P)
    return int(min(max(prompts_needed(found), 2), 10_000))


def detected(law: PromptLaw, penalties, prompts: int, repeats: int, rng: np.random.Generator) -> Estimate:
    """Part of the repetitions in which so many prompts tell the two apart by five standard errors."""
    hits = 0
    for _ in range(repeats):
        differences = farther(law, penalties, prompts, rng)
        error = differences.std(ddof=1) / np.sqrt(prompts)
        hits += bool(differences.mean() > ERRORS * error)
    share = hits / repeats
    return Estimate(share, float(np.sqrt(max(share * (1 - share), 1 / repeats) / repeats)), repeats)


def worst(found: Comparison, key: str) -> Estimate:
    """The distance of one family's row."""
    return next(row for row in found.rows if row.key == key).distance
