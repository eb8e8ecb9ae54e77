"""What each layer of a model holds: read-outs fitted on other prompts, and the steps that err as much.

A linear read-out finds what can be read off, which may be more than the algorithm has computed so far (chapter 7). So
an error-matched step count bounds progress and proves no step. This book's measure, after Fu et al. (2024), §3.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl import probes
from icl.comparison import words
from icl.comparison.algorithms import GD_STEPS, NEWTON_STEPS, Family, bayes
from icl.comparison.fitting import farness
from icl.comparison.measure import CHUNK, Measured, distance
from icl.comparison.models import Model, ask
from icl.comparison.questions import Law, Questions
from icl.estimates import Estimate, joint_monte_carlo
from icl.prompts import PromptLaw
from icl.validation import InputError

WARNING = (
    "A linear read-out can know more than the algorithm has computed: it combines everything that is stored. So these"
    " step counts say how far the layer could have come, not that it takes such steps."
)


@dataclass(frozen=True)
class Layer:
    """One layer: its read-out's error, the algorithm nearest to its answers, and the step counts of equal error."""

    layer: int
    normed: bool
    error: Estimate
    nearest: str
    distance: Estimate
    newton: tuple[float, float, float]  # steps, and 95 % of them
    gd: tuple[float, float, float]


@dataclass(frozen=True)
class Layers:
    """All layers, before the final LayerNorm and, where a model has one, behind it."""

    rows: list[Layer]

    def __str__(self) -> str:
        lines = ["layer  read     error                Newton steps          GD steps                nearest"]
        for row in self.rows:
            cells = f"{'behind' if row.normed else 'before':<7}  {words.pair(row.error):<19}  {_steps(row.newton):<20}"
            nearest = f"{row.nearest}, {words.share(row.distance)} off"
            lines.append(f"{row.layer:>5}  {cells}  {_steps(row.gd):<22}  {nearest}")
        return "\n".join([*lines, WARNING])

    @property
    def warning(self) -> str:
        """What such step counts do not say."""
        return WARNING

    def table_html(self) -> str:
        """The table alone, as HTML."""
        titles = ("layer", "LayerNorm", "error", "Newton steps", "GD steps", "nearest", "differs by")
        head = "".join(f'<th scope="col">{title}</th>' for title in titles)
        body = "".join(
            f'<tr><th scope="row">{row.layer}</th><td>{"behind" if row.normed else "before"}</td>'
            f"<td>{words.pair(row.error)}</td><td>{_steps(row.newton)}</td><td>{_steps(row.gd)}</td>"
            f"<td>{words.markup(row.nearest)}</td><td>{words.share(row.distance)}</td></tr>"
            for row in self.rows
        )
        caption = "Read out of each layer: its error, the steps of equal error, the algorithm nearest to its answers"
        head = f"<caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        return f'<table class="icl-compare">{head}<tbody>{body}</tbody></table>'

    def _repr_html_(self) -> str:
        return f"{self.table_html()}<p>{WARNING}</p>"

    def records(self) -> list[dict]:
        """One record a layer and read-out."""
        names = ("steps", "low", "high")
        return [
            {"layer": row.layer, "behind_norm": float(row.normed), "error": row.error.mean}
            | {"error_stderr": row.error.stderr, "distance": row.distance.mean}
            | {f"newton_{name}": value for name, value in zip(names, row.newton, strict=True)}
            | {f"gd_{name}": value for name, value in zip(names, row.gd, strict=True)}
            for row in self.rows
        ]


def look_inside(
    model: Model,
    law: Law,
    found: list[Family],
    prompts: int,
    rng: np.random.Generator,
    *,
    queries: int,
    tick: Callable[[int], None] = lambda done: None,
) -> Layers:
    """Every layer of a model that shows its states, by read-outs fitted on other prompts than they are tested on."""
    states = _all_states(model, ask(model, law, rng, 2, queries))
    C, R = states.shape[-1], states.shape[2]
    fit = ask(model, law, rng, max(CHUNK, -(-20 * C // R)), queries)  # twenty answers a weight
    # what can be foretold of the labels has the same limit, and no noise to be learned by heart: chapter 7
    targets = bayes(fit, law)[..., 0] if isinstance(law, PromptLaw) else fit.labels
    readouts = probes.fit_readouts(_all_states(model, fit), targets)
    rivals = [family for family in found if not family.fitted]

    def draw(B):
        questions = ask(model, law, rng, B, queries)
        rows = _per_prompt(questions, readouts(_all_states(model, questions)), rivals)
        tick(B)
        return rows

    plain = len(np.stack(model.layers(fit.part(slice(1)))[0]))
    return _read(joint_monte_carlo(draw, prompts, chunk=CHUNK), rivals, len(readouts.weights), plain, rng)


def _all_states(model: Model, questions: Questions) -> np.ndarray:
    """(L, P, R, C), or (2L, P, R, C), the second half behind the norm. Raises InputError for other shapes."""
    plain, normed = model.layers(questions)
    if plain.ndim != 4 or plain.shape[1:3] != questions.labels.shape:
        raise InputError(
            f"{model.name}'s states must be one array (prompts, answers, width) for each layer, not {plain.shape}."
        )
    return plain if normed is None else np.concatenate([plain, normed])


def _per_prompt(questions, answers, rivals) -> np.ndarray:
    """(P, 2L + K + LK): of L read-outs mean square and squared error, of K rivals squared error, of pairs farness."""
    labels = questions.labels
    others = np.moveaxis(np.concatenate([family.answers(questions) for family in rivals], -1), -1, 0)  # (K, P, R)
    errors = ((others - labels) ** 2).mean(-1)
    own = [(answers**2).mean(-1), ((answers - labels) ** 2).mean(-1)]
    mixed = np.einsum("lpr,kpr->lkp", answers, others, optimize=True) / labels.shape[1]
    apart = own[0][:, None] + (others**2).mean(-1) - 2 * mixed
    far = farness(np.maximum(apart, 0), own[0][:, None])
    return np.concatenate([*own, errors, far.reshape(-1, len(labels))]).T


def _read(joint, rivals, L, plain, rng) -> Layers:
    K = sum(len(family.names) for family in rivals)
    names = [name for family in rivals for name in family.names]
    first = np.cumsum([0, *(len(family.names) for family in rivals)])
    at = {family.key: np.arange(first[k], first[k + 1]) for k, family in enumerate(rivals)}
    measured = Measured(joint, K)
    counts = {"newton": (NEWTON_STEPS, False), "gd": (GD_STEPS, True)}
    matched = {}
    for key, (steps, logarithmic) in counts.items():
        columns = np.r_[L + np.arange(L), 2 * L + at[key]]
        means = np.maximum(measured.draws(columns, rng), 1e-300)
        found = probes.matched_steps(means[:, :L], steps, means[:, L:], logarithmic=logarithmic)
        matched[key] = np.stack([found[0], *np.quantile(found[1:], [0.025, 0.975], axis=0)], -1)
    rows = []
    for layer in range(L):
        first = 2 * L + K + layer * K
        best = int(np.argmin(joint.mean[first : first + K]))
        error, off = measured.mean(L + layer), distance(measured.mean(first + best))
        steps = [tuple(map(float, matched[key][layer])) for key in counts]
        rows.append(Layer(layer % plain, layer >= plain, error, names[best], off, *steps))
    return Layers(rows)


def _steps(found: tuple[float, float, float]) -> str:
    number = lambda value: f"{value:.0f}" if value >= 100 else f"{value:.1f}"
    return f"{number(found[0])} [{number(found[1])}, {number(found[2])}]"
