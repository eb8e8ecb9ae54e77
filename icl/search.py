"""What every chapter does with linear attention: minimise its exact risk, train it on samples, read it off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from icl.descent import Builder, End, descend, eased, effective, finish, known, minimise_exactly, units, weights_of
from icl.estimates import Estimate, NotRun
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta_model import GDBeta
from icl.models.linear_attention import LinearSelfAttention
from icl.parallel import each
from icl.prompts import PromptLaw, Prompts
from icl.theory import moments
from icl.training import Schedule, train


class Sampler(Protocol):
    """Any law over prompts: d, n and draws of B prompts from an explicit generator."""

    d: int
    n: int

    def sample(self, rng: np.random.Generator, B: int) -> Prompts:
        """B prompts of n examples each."""
        ...


LONG = 2  # examples a dimension; of prompts that have more, training on samples draws the sums alone: fewer numbers
OPEN = dict(scale=0.1, init="label_path")  # starts that keep clear of false valleys
SCREENED, SCREENING = 4, 30  # so many starts for each that goes on, after iterations that show where they are bound
LEADING = 50  # iterations of L-BFGS after which Newton's method finds the bottom as surely as after thousands
SAME = 1e-10  # relative difference of risks within which two ends are at one bottom


@dataclass(frozen=True)
class Restarts:
    """L-BFGS from random starts: final risks (K,), the weights found, in the 1/n convention.

    astray : which ends are seen to be in false valleys, (K,); under much noise the risks alone do not show it.
    """

    risks: np.ndarray
    weights: list[EffectiveParameters]
    astray: np.ndarray | bool = False

    @property
    def best(self) -> EffectiveParameters:
        """The weights of the start that ended lowest."""
        return self.weights[int(np.argmin(np.where(self.astray, np.inf, self.risks)))]

    def reached(self, risk: float) -> np.ndarray:
        """Which starts ended within SAME (relative) of `risk`, and not astray: a boolean (K,)."""
        return (np.abs(self.risks - risk) <= SAME * max(risk, 1e-300)) & ~np.asarray(self.astray)


def restarts(law: PromptLaw, count: int, rng: np.random.Generator, **kind) -> Restarts:
    """Minimise the exact risk over all weight matrices, `count` times from random entries; `kind` as in `descents`."""
    build = kind.pop("build", LinearSelfAttention)
    ends = _ends(law, build, 1.0, rng, count, **kind)
    return Restarts(np.array([end.risk for end in ends]), [effective(law, build, end) for end in ends])


def descents(
    law: PromptLaw, starts: Sequence[dict], rng: np.random.Generator, *, build: Builder = LinearSelfAttention
) -> Restarts:
    """Minimise the exact risk over all weight matrices, in the `units` of the law, and finish by Newton's method.

    Of each kind in `starts` there are `count`, of entries N(0, `scale`²) (default 0.3). `init="label_path"` opens a
    path from the labels to the output first, which keeps clear of false valleys; with `screened` > 1 that many times
    `count` first descend for a few iterations, and only the lowest `count` go on, for at most `iterations` (LEADING).
    The last steps know the weights to the last digit at the lowest ends; `build` makes the model, whose matrices
    must be large enough for any effective parameters. Where mean task or noise hide how tasks vary there are as many
    starts again: the first ones come through `eased` laws, and of the two ways the one that ends lower counts.
    """
    through, astray, weights, ways = [], [], [], eased(law)
    for laws in [ways, [law]][: len(ways)]:  # where laws are eased, which valley is the lowest may change on the way
        labels, unit = units(laws[0])
        first = laws[0].with_labels_scaled(1 / labels)
        found = [end for kind in starts for end in _ends(first, build, unit, rng, **dict(iterations=LEADING) | kind)]
        through += [laws] * len(found)
        weights += [effective(first, build, end).magnified(unit).with_labels_scaled(labels) for end in found]
        astray += (~_hopeful(first, np.array([end.risk for end in found]))).tolist()
    risks = np.array([exact_risk(law, end) for end in weights])
    hopeful = np.flatnonzero(~np.array(astray)) if law.H.any() else []
    unfinished = [(through[k], build, weights[k].numpy()) for k in hopeful]
    for k, (risk, parts) in zip(hopeful, each(finish, unfinished), strict=True):
        risks[k], weights[k] = risk, EffectiveParameters.from_numpy(**parts)
    lowest = [k for k in hopeful if risks[k] <= (1 + SAME) * risks[hopeful].min()]
    for k, (risk, parts) in zip(lowest, each(known, [(law, build, weights[k].numpy()) for k in lowest]), strict=True):
        risks[k], weights[k] = risk, EffectiveParameters.from_numpy(**parts)
    return Restarts(risks, weights, np.array(astray) | (_other_way(risks) if len(ways) > 1 else False))


def _other_way(risks: np.ndarray) -> np.ndarray:
    """Of ends by one way (the first half) and by another: those by the way that did not come as low, (K,)."""
    first, second = risks.reshape(2, -1).min(1)
    return (np.arange(len(risks)) >= len(risks) // 2) == (first <= second + 4 * np.spacing(second))


def minimiser(law: PromptLaw, rng: np.random.Generator) -> LinearSelfAttention:
    """Linear attention where L-BFGS on its exact risk ends, in the `units` of the law, from an open label path."""
    labels, unit = units(law)
    model = LinearSelfAttention(law.d, rng=rng, init="label_path")
    minimise_exactly(model, law.with_labels_scaled(1 / labels), unit=unit)
    model.magnify(labels, labels * unit)
    return model


def descend_beside(model: torch.nn.Module, weights: dict[str, np.ndarray], law: PromptLaw) -> float:
    """The risk where L-BFGS ends that starts beside effective `weights`: v (d,), c (), V (d, d), u (d,).

    The weights, in the 1/n convention, are added to what the model's matrices hold, which is how far off it starts.
    """
    with torch.no_grad():
        model.W_P[-1, -1] += 1.0
        model.W_V[-1] += torch.from_numpy(np.append(weights["v"], weights["c"]))
        model.W_K[:, :] += torch.eye(model.d + 1, dtype=torch.float64)
        model.W_Q[:, : model.d] += torch.from_numpy(np.vstack([weights["V"], weights["u"]]))
    return minimise_exactly(model, law).loss


def _ends(
    law: PromptLaw,
    build: Builder,
    unit: float,
    rng: np.random.Generator,
    count: int,
    *,
    scale: float = 0.3,
    init: str = "small",
    iterations: int = 5000,
    screened: int = 1,
) -> list[End]:
    """Where L-BFGS ends from `count` starts."""
    starts = [weights_of(build(law.d, rng=rng, scale=scale, init=init)) for _ in range(count * screened)]
    if screened > 1:
        screen = each(descend, [(law, build, start, SCREENING, unit) for start in starts])
        starts = [end.weights for end in sorted(screen, key=lambda end: end.risk)[:count]]
    return each(descend, [(law, build, start, iterations, unit) for start in starts])


def _hopeful(law: PromptLaw, risks: np.ndarray) -> np.ndarray:
    """Which ends are worth finishing, (K,): who gained less than half of what the lowest did is in a false valley."""
    return risks <= risks.min() + abs(risks.min() - moments.tau(law)) / 2


@dataclass(frozen=True)
class Training:
    """One training: loss before each step, (steps,), and the final weights, float64, in the 1/n convention."""

    curve: np.ndarray
    weights: EffectiveParameters


def train_on_samples(
    law: Sampler, schedule: Schedule, batch: int, seed, label: str, *, build: Builder = LinearSelfAttention
) -> Training:
    """Adam, float32 weights, fresh float64 prompts each step, all drawn from `seed`; `build` makes the model.

    Of a `PromptLaw`'s contexts of more than LONG d examples only the sums that the model sees are drawn: a step costs
    the same at every n.
    `seed` is what a stream starts from (`randomness.Streams.entropy`), or anything that numpy.random.default_rng takes.
    """
    rng = np.random.default_rng(seed)
    model = build(law.d, rng=rng, init="label_path", dtype=torch.float32)
    draw = law.condensed if isinstance(law, PromptLaw) and law.n > LONG * law.d else law.sample

    def loss(step):
        prompts = draw(rng, batch)
        X, y, x_query, y_query = (
            torch.from_numpy(part).float() for part in (prompts.X, prompts.y, prompts.x_query, prompts.y_query)
        )
        return ((model.effective(law.n).predict(X, y, x_query) - y_query) ** 2).mean()

    curve = train(model, loss, schedule, rng=rng, label=label)
    return Training(curve, EffectiveParameters.from_numpy(**model.effective(law.n).numpy()))


def train_exactly(
    law: PromptLaw, schedule: Schedule, seed, label: str, *, build: Builder = LinearSelfAttention
) -> Training:
    """Adam on the exact risk, the same start and schedule as `train_on_samples`, float64, no noise."""
    model = build(law.d, rng=np.random.default_rng(seed), init="label_path")
    risk = ExactRisk(law)
    curve = train(model, lambda step: risk(model.effective(law.n)), schedule, label=label)
    return Training(curve, model.effective(law.n))


def preconditioner(weights: EffectiveParameters) -> np.ndarray:
    """Gamma = c V' + u v', (d, d): the matrix in the learned step Gamma X'y / n."""
    parts = weights.numpy()
    return parts["c"] * parts["V"].T + np.outer(parts["u"], parts["v"])


def learned_step(weights: EffectiveParameters, n: int) -> float:
    """The step on ½ Σ (w'x_i − y_i)² that the weights take: mean diagonal of Gamma / n."""
    Gamma = preconditioner(weights)
    return float(np.trace(Gamma)) / len(Gamma) / n


def exact_risk(law: PromptLaw, weights: EffectiveParameters) -> float:
    """The exact risk of given weights on prompts from `law`, which need not be the law they were trained on."""
    return ExactRisk(law)(weights).item()


def too_faint(least: float, of_zero: float) -> NotRun | None:
    """Why a training on samples cannot show the best step, or None: the step takes less than 3 % off the risk of 0."""
    gain = 1 - least / of_zero
    if gain >= 0.03:
        return None
    percent = f"{100 * gain:.2g} %"
    return NotRun(
        f"the best step lowers the risk of predicting 0 by {percent} only, too little for training on samples"
    )


def mean_over_trainings(values) -> Estimate:
    """Mean and standard error over independent trainings (at least two)."""
    values = np.asarray(values, dtype=float)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))


@dataclass(frozen=True)
class GDBetaEnds:
    """Where L-BFGS on GD-β stopped from K random starts: risks (K,), beta (K, d), Gamma (K, d, d)."""

    risks: np.ndarray
    beta: np.ndarray
    Gamma: np.ndarray


def gd_beta_minimisers(
    law: PromptLaw,
    count: int,
    rng: np.random.Generator,
    *,
    around: np.ndarray | float = 0.0,
    iterations: int = 5000,
) -> GDBetaEnds:
    """Minimise the exact risk (Gaussian moments) over beta and Gamma from N(0, 1) entries, beta's `around` a point."""
    found = []
    for _ in range(count):
        model = GDBeta(around + rng.standard_normal(law.d), rng.standard_normal((law.d, law.d)))
        loss = minimise_exactly(model, law, iterations=iterations).loss
        found.append((loss, model.beta.detach().numpy(), model.Gamma.detach().numpy()))
    return GDBetaEnds(*map(np.stack, zip(*found, strict=True)))
