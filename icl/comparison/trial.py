"""Small trials before a comparison: a model that cannot be compared is refused, with a sentence on what to mend.

An answer must be one finite number for each question, the same from call to call, whatever else is in the batch, and
must not depend on the label that it is to predict. Models in 32 bits differ by their rounding: `ROUNDING` allows for
that.
"""

import numpy as np

from icl.comparison.models import Model, ask
from icl.comparison.questions import Law, Positions, Queries, Questions
from icl.validation import InputError

ROUNDING = 1e-3  # of the answers' size: more than 32-bit arithmetic in another order, less than any dropout
_PROMPTS, _QUERIES = 6, 3


def check(model: Model, law: Law, rng: np.random.Generator) -> None:
    """Raise InputError unless the model can be compared on this law; six prompts decide."""
    questions = ask(model, law, rng, _PROMPTS, _QUERIES)
    try:
        raw = np.asarray(model.predict(*(part.copy() for part in questions.arguments)))
    except Exception as error:
        shapes = ", ".join(str(part.shape) for part in questions.arguments)
        what = "(X, y, queries)" if model.kind == "queries" else "(X, y)"
        raise InputError(
            f"{model.name} fails on prompts {what} of shapes {shapes}: {type(error).__name__}: {_first_line(error)};"
            f" make it take them, or wrap it in an adapter of icl.comparison.adapters."
        ) from error
    _check_shape(model, raw, questions)
    if raw.dtype.kind not in "fiub":
        raise InputError(f"{model.name} must answer in real numbers, not {raw.dtype}.")
    if not np.isfinite(raw.astype(float)).all():
        raise InputError(f"{model.name} answers NaN or infinity on an ordinary prompt; look for a division by 0 in it.")
    answers = model.answers(questions)
    _check_repeats(model, questions, answers)
    _check_batch(model, questions, answers)
    if isinstance(questions, Positions):
        _check_order(model, questions, answers)
    else:
        _check_queries(model, questions, answers)


def _check_shape(model: Model, raw: np.ndarray, questions: Questions) -> None:
    P, R = questions.labels.shape
    wanted = (P, R) if model.kind == "queries" else questions.y.shape
    if raw.shape == wanted:
        return
    alone = raw.shape[:1] == (P * R,) and model.kind == "queries"  # one query a call
    shown, expected = (raw.shape, (P * R,)) if alone else (raw.shape, wanted)
    hint = "; leave the last axis away" if raw.shape in ((*wanted, 1), (P * R, 1)) else ""
    raise InputError(f"{model.name} must return one number for each question, shape {expected}, not {shown}{hint}.")


def _check_repeats(model, questions, answers):
    if (off := _apart(model.answers(questions), answers)) > ROUNDING:
        raise InputError(
            f"{model.name} answers the same prompts differently from call to call, by {off:.2g} of its answers' size:"
            f" switch its randomness off (dropout: call eval(); sampling: fix a seed) or its memory."
        )


def _check_batch(model, questions, answers):
    alone = np.concatenate([model.answers(questions.part(slice(p, p + 1))) for p in range(len(answers))])
    if (off := _apart(alone, answers)) > ROUNDING:
        raise InputError(
            f"{model.name} answers a prompt differently when it comes with others, by {off:.2g} of its answers' size:"
            " let each be answered alone (batch normalisation: call eval(); means and softmax: not over axis 0)."
        )


def _check_queries(model, questions: Queries, answers):
    last = Queries(questions.X, questions.y, questions.asked[:, -1:], questions.labels[:, -1:])
    if (off := _apart(model.answers(last), answers[:, -1:])) > ROUNDING:
        raise InputError(
            f"{model.name} answers a query differently when others are asked with it, by {off:.2g} of its answers'"
            f" size: hide the queries from one another."
        )


def _check_order(model, questions: Positions, answers):
    """Whether the answer at a pair moves with that pair's label, or with the pairs after it."""
    half = questions.y.shape[1] // 2
    size, later = np.abs(questions.y).max() + 1.0, np.array(questions.y)
    later[:, half] += 3 * size
    moved = model.answers(Positions(questions.X, later))
    if (off := _apart(moved[:, half - 1], answers[:, half - 1])) > ROUNDING:
        raise InputError(
            f"{model.name} knows the label it is to predict: its answer moves by {off:.2g} of its size when that label"
            f" does; show it a pair's label only after its answer there."
        )
    X, later = np.array(questions.X), np.array(questions.y)
    X[:, half + 1 :] *= -2
    later[:, half + 1 :] += size
    moved = model.answers(Positions(X, later))
    if (off := _apart(moved[:, :half], answers[:, :half])) > ROUNDING:
        raise InputError(
            f"{model.name} looks ahead: its answer moves by {off:.2g} of its size when later pairs do; mask them, or"
            f" wrap it as predict(X, y, x_query)."
        )


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, in units of the answers' root mean square."""
    return float(np.abs(a - b).max() / max(np.sqrt((b**2).mean()), 1e-12)) if a.size else 0.0


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else "no message"
