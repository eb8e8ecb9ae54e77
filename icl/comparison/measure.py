"""The comparison itself: one pass over fresh prompts, in chunks, that keeps means and their covariances alone.

For every algorithm, over the R answers of each prompt: how far its answers are from the model's, √(m / (m + s)) with m
the mean squared difference and s the model's own mean square, between 0 and 1; its mean squared error; and the
similarity of its errors with the model's (Fu et al. 2024, §3), over all answers and over those after more than d
examples. Prompts are the unit of every standard error.

The mean F of the first, the *farness*, ranks algorithms and tells them apart; the *distance* F / √(1 − F²) is the ratio
of root mean squares where that is the same on every prompt. A mean of m itself would be carried away by single prompts:
after n = d noisy examples the risk of least squares is infinite, and so is that of a step that is sometimes too long.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl import probes
from icl.comparison.algorithms import Family, families
from icl.comparison.fitting import Fit, affordable, farness
from icl.comparison.models import Model, ask
from icl.comparison.questions import Law, Questions
from icl.estimates import Estimate, JointEstimate, joint_monte_carlo
from icl.prompts import PromptLaw

FIT = 512  # prompts on which families are fitted, other ones than they are tested on
CHUNK = 256
HELD = 256_000  # numbers of the contexts that a model is asked about at once: what it makes of them fits into a cache
DRAWS = 400  # of the means, from their normal law, for intervals of step counts
_PARTS = ("farness", "risk", "similarity", "similarity_late")


@dataclass(frozen=True)
class Measured:
    """What a pass found for K algorithms: K blocks of means in `joint`, behind the model's mean square and its risk."""

    joint: JointEstimate
    count: int  # K

    def column(self, part: str, k: int = 0) -> int:
        """The place of a quantity among the means."""
        return 2 + _PARTS.index(part) * self.count + k

    def estimate(self, part: str, k: int) -> Estimate:
        """Algorithm k's `farness`, `risk`, `similarity` or `similarity_late`."""
        return self.mean(self.column(part, k))

    @property
    def farness(self) -> np.ndarray:
        """Every algorithm's, (K,): what ranks them."""
        return self.joint.mean[self.column("farness") : self.column("risk")]

    @property
    def risk(self) -> Estimate:
        """The model's mean squared error."""
        return self.mean(1)

    def distance(self, k: int) -> Estimate:
        """Of algorithm k, as a share of the size of the model's answers."""
        return distance(self.estimate("farness", k))

    def farther(self, k: int, nearest: int) -> Estimate:
        """How much larger algorithm k's farness is than the nearest one's, on the same prompts."""
        return self._contrast(self.column("farness", k), self.column("farness", nearest))

    def worse(self, k: int) -> Estimate:
        """The model's risk less algorithm k's, on the same prompts."""
        return self._contrast(1, self.column("risk", k))

    def draws(self, columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """DRAWS samples of these means from their normal law, (DRAWS + 1, len(columns)), the means themselves first."""
        mean, covariance = self.joint.mean[columns], self.joint.covariance[np.ix_(columns, columns)]
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0))
        return np.concatenate([mean[None], mean + rng.standard_normal((DRAWS, len(columns))) @ root.T])

    def mean(self, at: int) -> Estimate:
        """The mean in this place."""
        variance = max(float(self.joint.covariance[at, at]), 0.0)
        return Estimate(float(self.joint.mean[at]), float(np.sqrt(variance)), self.joint.count)

    def _contrast(self, more, less):
        gradient = np.zeros(len(self.joint.mean))
        gradient[more], gradient[less] = 1.0, -1.0
        return self.joint.function(float(gradient @ self.joint.mean), gradient)


def distance(far: Estimate) -> Estimate:
    """F / √(1 − F²) with its standard error, by the delta method; ∞ for F = 1, where the model answers 0."""
    F = float(far.mean)
    if F >= 1 - 1e-12:
        return Estimate(float("inf"), 0.0, far.count)
    rest = np.sqrt(1 - F**2)
    return Estimate(float(F / rest), float(far.stderr / rest**3), far.count)


def fitted(model: Model, law: Law, rng: np.random.Generator, queries: int) -> tuple[list[Family], Questions]:
    """The families fitted to a model's answers on prompts of their own, and these prompts."""
    count = min(FIT, affordable(law.d * (queries if model.kind == "queries" else law.n)))
    questions = ask(model, law, rng, count if isinstance(law, PromptLaw) else FIT, queries)  # no others' best is known
    few = questions.part(slice(count))
    return families(law, questions, Fit(few, _answers(model, few))), questions


def measure(
    model: Model,
    law: Law,
    found: list[Family],
    prompts: int,
    rng: np.random.Generator,
    *,
    queries: int,
    tick: Callable[[int], None] = lambda done: None,
) -> Measured:
    """Set the model beside all members of the families on fresh prompts; `tick` is told how many are done."""

    def draw(B):
        questions = ask(model, law, rng, B, queries)
        rows = per_prompt(questions, _answers(model, questions), everything(found, questions), law.d)
        tick(B)
        return rows

    return Measured(joint_monte_carlo(draw, prompts, chunk=CHUNK), sum(len(family.names) for family in found))


def everything(found: list[Family], questions: Questions) -> np.ndarray:
    """The answers of every member of every family, (P, R, K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        answers = np.concatenate([family.answers(questions) for family in found], -1)
    return np.clip(np.nan_to_num(answers, nan=1e50, posinf=1e50, neginf=-1e50), -1e50, 1e50)


def per_prompt(questions: Questions, own: np.ndarray, others: np.ndarray, d: int) -> np.ndarray:
    """(P, 2 + 4K): the model's mean square and squared error, then the parts of `Measured` for K algorithms."""
    labels, late = questions.labels, questions.seen > d
    mine, theirs = own - labels, others - labels[..., None]
    size = (own**2).mean(1)[:, None]
    columns = [size, (mine**2).mean(1)[:, None], farness(((others - own[..., None]) ** 2).mean(1), size)]
    columns += [(theirs**2).mean(1)]
    for part in (np.ones(len(late), bool), late if late.any() else np.ones(len(late), bool)):
        columns.append(probes.similarities(mine[None, :, part], np.moveaxis(theirs[:, part], -1, 0))[0].T)
    return np.concatenate(columns, 1)


def _answers(model: Model, questions: Questions) -> np.ndarray:
    """A model's answers (P, R), asked for a part of the prompts at a time: each query may come with its context."""
    one = questions.X[0].size * (questions.asked.shape[1] if model.kind == "queries" else 1)
    P, size = len(questions.labels), min(CHUNK, max(1, HELD // one))
    return np.concatenate([model.answers(questions.part(slice(k, k + size))) for k in range(0, P, size)])
