"""Off the law it was compared on: the same model, the same algorithms, while one thing about the prompts is turned.

The algorithms keep the numbers they had (step, penalty, preconditioner), for that is what it means to have become one
of them. What a model only imitates on its training law it leaves here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from icl import progress as shown
from icl.comparison.algorithms import Family
from icl.comparison.compare import QUERIES
from icl.comparison.measure import Measured, measure
from icl.comparison.models import ask
from icl.comparison.questions import Law, SequenceLaw, sequences
from icl.comparison.recognition import as_model
from icl.comparison.table import Comparison
from icl.estimates import Estimate
from icl.files import csv_text
from icl.prompts import PromptLaw

PROMPTS = 500
_ALSO = ("one_step", "least_squares", "bayes")  # drawn beside the algorithm that the model seemed to be
STAYS = 0.05  # a distance that is no departure, or twice that on the training law


@dataclass(frozen=True)
class Turn:
    """One thing to turn: a title, the values, the value of the training law, and value → law."""

    key: str
    title: str
    values: tuple[float, ...]
    usual: float
    law: Callable[[float], Law]
    logarithmic: bool = True


@dataclass(frozen=True)
class Turned:
    """What one turn showed at V values: distances (V, A) from A algorithms, risks of these and of the model (V,)."""

    turn: Turn
    distance: np.ndarray
    stderr: np.ndarray
    risks: np.ndarray
    own: np.ndarray
    refused: str = ""

    def at(self, value: float) -> Estimate:
        """The distance from the algorithm that the model seemed to be, at one of the values."""
        k = self.turn.values.index(value)
        return Estimate(float(self.distance[k, 0]), float(self.stderr[k, 0]), 0)


@dataclass(frozen=True)
class OffLaw:
    """A model off its law: the algorithms followed, the first of them the one it seemed to be, and every turn."""

    model: str
    names: list[str]
    keys: list[str]
    on_law: Estimate
    turned: list[Turned]

    @property
    def verdict(self) -> str:
        """Where it leaves that algorithm, worst first, and where it stays."""
        bound = max(STAYS, 2 * self.on_law.mean)
        leaves, stays, cannot = [], [], []
        for each in self.turned:
            off = np.nan_to_num(each.distance[:, 0], nan=-1.0)
            worst = int(off.argmax())
            if off[worst] < 0:
                cannot.append(each.turn.title)
            elif off[worst] > bound:
                leaves.append((off[worst], f"{each.turn.title} = {each.turn.values[worst]:g} ({_percent(off[worst])})"))
            else:
                stays.append(each.turn.title)
        told = (
            [f"It leaves {self.names[0]} at {', '.join(text for _, text in sorted(leaves, reverse=True))}."]
            if leaves
            else []
        )
        told += [f"It stays within {_percent(bound)} under {', '.join(stays)}."] if stays else []
        told += [f"It does not answer at another {', '.join(cannot)}."] if cannot else []
        return " ".join(told)

    def columns(self) -> dict[str, np.ndarray]:
        """One series a turn: its values, every algorithm's distance with its error and risk, the model's risk."""
        found = {}
        for each in self.turned:
            found[each.turn.key] = np.array(each.turn.values)
            for k, key in enumerate(self.keys):
                found[f"{each.turn.key}_{key}"], found[f"{each.turn.key}_{key}_stderr"] = (
                    each.distance[:, k],
                    each.stderr[:, k],
                )
                found[f"{each.turn.key}_{key}_risk"] = each.risks[:, k]
            found[f"{each.turn.key}_model_risk"] = each.own
        return found

    def csv(self) -> str:
        """The columns as CSV."""
        return csv_text(self.columns())


def off_law(
    model,
    law: Law,
    comparison: Comparison,
    *,
    prompts: int = PROMPTS,
    queries: int = QUERIES,
    rng: np.random.Generator | int = 0,
    turned: list[Turn] | None = None,
    progress: bool = False,
) -> OffLaw:
    """A model off the law it was compared on; `turned` are the turns, by default `turns(law)`.

    Every value draws the same random numbers, so that what changes along a turn is the turn. A value at which the model
    fails, such as a longer context than it reads, is left out.
    """
    model = as_model(model, comparison.model)
    rng = np.random.default_rng(rng) if not isinstance(rng, np.random.Generator) else rng
    followed = _followed(comparison)
    turned, seed = turns(law) if turned is None else turned, rng.integers(2**63)
    names, keys = [], []
    for family, k in followed:
        names.append(family.names[k])
        keys.append(family.key)
    work = [(turn, value) for turn in turned for value in turn.values]
    points = {}
    with shown.bar(len(work), f"{model.name}, off its law", wanted=progress) as bar:
        for turn, value in work:
            draws = np.random.default_rng(seed)
            points[turn.key, value] = _point(model, turn.law(value), followed, prompts, queries, draws)
            bar.update()
    gathered = [_gather(turn, [points[turn.key, value] for value in turn.values], len(followed)) for turn in turned]
    return OffLaw(model.name, names, keys, comparison.named.distance, gathered)


def turns(law: Law) -> list[Turn]:
    """What can be turned about a law: everything for a PromptLaw; else the context's length and the labels' scale."""
    n, lengths = law.n, tuple(sorted({max(1, round(law.n * part)) for part in (0.25, 0.5, 1, 2, 4)}))
    scales = (0.25, 0.5, 1.0, 2.0, 4.0)
    longer = Turn(
        "examples", "number of examples", tuple(map(float, lengths)), float(n), lambda t: replace(law, n=int(t))
    )
    if not isinstance(law, PromptLaw):
        scaled = lambda s: SequenceLaw(law.d, n, lambda rng, P, T: _scaled(*sequences(law, rng, P, T), s))
        return [Turn("scale_y", "scale of y", scales, 1.0, scaled), longer]
    direction, signal = np.ones(law.d) / np.sqrt(law.d), float(np.trace(law.H @ law.Psi))
    unit = law.sigma2 if law.sigma2 > 0 else signal / (100 * law.d)
    noises = (0.0, *(unit * part for part in (0.25, 1, 4, 16)))
    even = np.allclose(law.H, law.H[0, 0] * np.eye(law.d))
    found = [
        Turn("scale_x", "scale of x", scales, 1.0, lambda s: replace(law, H=s**2 * law.H)),
        Turn("scale_y", "scale of y", scales, 1.0, lambda s: law.with_labels_scaled(s)),
        Turn("noise", "noise variance", noises, law.sigma2, lambda v: replace(law, sigma2=v), logarithmic=False),
        longer,
        Turn("mean_task", "mean task", (0.0, 0.5, 1.0, 2.0, 4.0), 0.0, logarithmic=False,
             law=lambda m: replace(law, beta_star=law.beta_star + m * direction)),
        Turn("bend", "curvature of the target", (0.0, 0.25, 0.5, 1.0, 2.0), 0.0, logarithmic=False,
             law=lambda t: SequenceLaw(law.d, n, lambda rng, P, T: _bent(law, rng, P, T, t))),
    ]  # fmt: skip
    if law.d > 1:
        stretched = lambda c: SequenceLaw(law.d, n, lambda rng, P, T: _stretched(law, rng, P, T, c))
        found.insert(
            2, Turn("condition", "condition number", (1.0, 3.0, 10.0, 30.0, 100.0), 1.0 if even else np.nan, stretched)
        )
    return found


def _followed(comparison: Comparison) -> list[tuple[Family, int]]:
    """The algorithm that the model seemed to be, and the usual three, each with its member's place."""
    by_key = {family.key: family for family in comparison.families}
    rows = [comparison.named, *(row for row in comparison.rows if row.key in _ALSO and row.key != comparison.named.key)]
    return [(by_key[row.key], by_key[row.key].names.index(row.name)) for row in rows]


def _point(model, law, followed, prompts, queries, rng):
    """Distances, their errors, risks (A,) each, and the model's risk; the reason where it fails."""
    chosen = [
        Family(family.key, [family.names[k]], lambda q, family=family, k=k: family.answers(q)[..., k : k + 1])
        for family, k in followed
    ]
    try:
        if not np.isfinite(model.answers(ask(model, law, np.random.default_rng(0), 2, queries))).all():
            return "NaN"
        found: Measured = measure(model, law, chosen, prompts, rng, queries=queries)
    except Exception as error:
        return str(error) or type(error).__name__
    distances = [found.distance(k) for k in range(len(chosen))]
    risks = [found.estimate("risk", k).mean for k in range(len(chosen))]
    return [d.mean for d in distances], [d.stderr for d in distances], risks, found.risk.mean


def _gather(turn: Turn, points: list, count: int) -> Turned:
    refused = next((point for point in points if isinstance(point, str)), "")
    nothing = ([np.nan] * count, [np.nan] * count, [np.nan] * count, np.nan)
    distance, stderr, risks, own = zip(*(nothing if isinstance(point, str) else point for point in points), strict=True)
    return Turned(turn, np.array(distance), np.array(stderr), np.array(risks), np.array(own), refused)


def _percent(share: float) -> str:
    return "over 1000 %" if share > 10 else f"{float(f'{100 * share:.2g}'):g} %"


def _scaled(X, y, scale):
    return X, scale * y


def _stretched(law: PromptLaw, rng, P, T, condition):
    """Covariates with this condition number, eigenvalues evenly spaced in logarithm, axes new in every prompt."""
    eigenvalues = np.geomspace(1, 1 / condition, law.d)
    eigenvalues *= np.trace(law.H) / eigenvalues.sum()
    axes = np.linalg.qr(rng.standard_normal((P, law.d, law.d)))[0]
    X = (rng.standard_normal((P, T, law.d)) * np.sqrt(eigenvalues)) @ np.swapaxes(axes, 1, 2)
    beta = law.beta_star + rng.standard_normal((P, law.d)) @ law.roots[1]
    return X, np.einsum("ptd,pd->pt", X, beta) + np.sqrt(law.sigma2) * rng.standard_normal((P, T))


def _bent(law: PromptLaw, rng, P, T, share):
    """Linear targets plus a random quadratic form, whose root mean square is `share` of theirs."""
    X, y = sequences(law, rng, P, T)
    Q = rng.standard_normal((P, law.d, law.d))
    size = np.sqrt(np.trace(law.H) ** 2 + 2 * np.trace(law.H @ law.H))  # E (x'Qx)² = E |x|⁴
    return X, y + share * np.sqrt(np.trace(law.H @ law.Psi)) / size * np.einsum("ptd,ptd->pt", X @ Q, X)
