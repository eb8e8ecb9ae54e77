"""`icl.compare`: a model, a law, and the table that says which algorithm it is."""

import numpy as np

from icl import progress as shown
from icl.comparison.algorithms import Family, exact_risk
from icl.comparison.fitting import farness
from icl.comparison.layers import look_inside
from icl.comparison.measure import Measured, everything, fitted, measure
from icl.comparison.models import ask
from icl.comparison.questions import Law, Questions
from icl.comparison.recognition import as_model
from icl.comparison.table import ERRORS, Comparison, Row, prompts_needed
from icl.comparison.trial import check
from icl.comparison.words import ROUNDING
from icl.prompts import PromptLaw
from icl.targets import TargetLaw
from icl.validation import check_count

PROMPTS, QUERIES = 2000, 10
_SAME = 1e-5  # a farness that is rounding, in 32 bits too


def compare(
    model,
    law: Law,
    *,
    prompts: int = PROMPTS,
    queries: int = QUERIES,
    rng: np.random.Generator | int = 0,
    name: str | None = None,
    inside: bool = True,
    progress: bool = False,
) -> Comparison:
    """Which algorithm a model is, on fresh prompts of a law.

    model : predict(X (P, n, d), y (P, n), x_query (P, d)) → (P,), a torch module, an estimator with fit and predict, a
    model of `icl.comparison.adapters`; see `icl.comparison.recognition.as_model`. law : a PromptLaw, a TargetLaw or a
    SequenceLaw. prompts : how many; queries : asked of each, where the model answers one at a time. rng : a generator
    or a seed. inside : whether to look at the layers of a model that shows its `states`.

    Raises InputError, in one sentence that says what to mend, for a model that cannot be compared: wrong shapes, NaN,
    answers that change from call to call or with other prompts of the batch, sight of the label.
    """
    prompts, queries = check_count("prompts", prompts, least=100), check_count("queries", queries)
    rng = np.random.default_rng(rng) if not isinstance(rng, np.random.Generator) else rng
    model = as_model(model, name)
    for_trial, for_fit, for_test, for_draws, for_layers = rng.spawn(5)
    check(model, law, for_trial)
    looks = inside and model.states is not None
    with shown.bar(prompts * (1 + looks), model.name, wanted=progress, unit=" prompts") as bar:
        found, questions = fitted(model, law, for_fit, queries)
        measured = measure(model, law, found, prompts, for_test, queries=queries, tick=bar.update)
        layers = None
        if looks:
            layers = look_inside(model, law, found, prompts, for_layers, queries=queries, tick=bar.update)
    rows = _rows(law, found, measured, questions, for_draws)
    named = min((row for row in rows if not row.apart), key=lambda row: (row.fitted, row.steps is not None))
    some = ask(model, law, for_trial, 1, queries)
    return Comparison(
        model=model.name,
        law=described(law),
        prompts=prompts,
        answers=some.labels.shape[1],
        d=law.d,
        risk=measured.risk,
        rows=rows,
        named=named,
        worse=measured.worse(_place(found, named.name)),
        split=bool((some.seen > law.d).any() and (some.seen <= law.d).any()),
        families=found,
        layers=layers,
    )


def described(law: Law) -> str:
    """A law in a few words."""
    sizes = f"d = {law.d}, n = {law.n}"
    if isinstance(law, PromptLaw):
        return f"linear prompts, {sizes}, sigma2 = {law.sigma2:g}"
    if isinstance(law, TargetLaw):
        return f"{law.family.name} prompts, {sizes}, sigma2 = {law.sigma2:g}"
    return f"prompts of one's own, {sizes}"


def _rows(law, found, measured: Measured, questions: Questions, rng) -> list[Row]:
    """Each family's nearest member; nearest first."""
    others = everything(found, questions.part(slice(64)))
    off, chosen, first = measured.farness, [], 0
    for family in found:
        K = len(family.names)
        chosen.append((family, first, first + int(np.argmin(off[first : first + K]))))
        first += K
    chosen.sort(key=lambda entry: off[entry[2]])
    nearest = chosen[0][2]
    rows = []
    for family, start, k in chosen:
        farther = measured.farther(k, nearest)
        between = farness(((others[..., k] - others[..., nearest]) ** 2).mean(1), (others[..., nearest] ** 2).mean(1))
        same = bool(between.mean() <= ROUNDING)
        exact = measured.farness[nearest] <= _SAME  # then any difference on any prompt is one
        apart = k != nearest and farther.mean > max(0.0 if exact else ERRORS * farther.stderr, _SAME)
        rows.append(
            Row(
                family.key, family.names[k - start], measured.distance(k), measured.estimate("risk", k),
                exact_risk(family.key, law, questions), measured.estimate("similarity", k),
                measured.estimate("similarity_late", k), None if family.steps is None else int(family.steps[k - start]),
                _interval(family, start, measured, rng), family.fitted, apart,
                0.0 if apart or k == nearest else prompts_needed(farther), same,
            )
        )  # fmt: skip
    return rows


def _interval(family: Family, start: int, measured: Measured, rng) -> tuple[int, int] | None:
    """95 % of the step count of least difference, where members count steps of a length fixed beforehand."""
    if family.steps is None or family.fitted:
        return None
    columns = measured.column("farness", start) + np.arange(len(family.steps))
    best = measured.draws(columns, rng)[1:].argmin(1)
    low, high = np.quantile(best, [0.025, 0.975], method="nearest").astype(int)
    return int(family.steps[low]), int(family.steps[high])


def _place(found: list[Family], name: str) -> int:
    return [each for family in found for each in family.names].index(name)
