"""Models of any make behind one face: what a reader brings, and adapters for the common ways to lay out a prompt.

A `Model` answers either *queries*, (X, y, queries) → (P, R), or *positions*, (X, y) → (P, T), the answer at a pair from
the pairs before it. Where a model reads tokens, one of the adapters lays them out. Nothing here imports torch before a
model does.
"""

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.comparison.questions import Law, Positions, Queries, Questions


@dataclass(frozen=True)
class Model:
    """A model under one name.

    kind : "queries" or "positions"; predict : (X (P, n, d), y (P, n), queries (P, R, d)) → (P, R), or (X (P, T, d),
    y (P, T)) → (P, T); states : the same arguments → the layers' hidden states, each (P, R or T, C), None where the
    model does not show them; norm : what the model applies to the last of them before it reads out, if anything.
    """

    name: str
    kind: str
    predict: Callable[..., np.ndarray]
    states: Callable | None = None
    norm: Callable | None = None

    def answers(self, questions: Questions) -> np.ndarray:
        """Answers (P, R)."""
        found = np.asarray(self.predict(*(part.copy() for part in questions.arguments)), float)
        return found if self.kind == "queries" else found[:, 1:]

    def layers(self, questions: Questions) -> tuple[np.ndarray, np.ndarray | None]:
        """Hidden states (L, P, R, C), and the same behind `norm`, None where there is none."""
        found = [_numbers(state) for state in self.states(*(part.copy() for part in questions.arguments))]
        states = np.stack(found)[:, :, 0 if self.kind == "queries" else 1 :]
        return states, None if self.norm is None else _numbers(Caller(self.norm)(states))


class Caller:
    """Calls a function of arrays with NumPy arrays or torch tensors, whichever it takes, and returns a NumPy array.

    A torch module gets tensors of its own type, in evaluation mode and without gradients. A function is tried with
    NumPy arrays first, then with tensors of 32 and of 64 bits; what worked is kept.
    """

    def __init__(self, function: Callable, owner=None):
        self.function, self.kind = function, None
        torch = sys.modules.get("torch")
        module = owner if owner is not None else function
        if torch is not None and isinstance(module, torch.nn.Module):
            module.eval()
            self.kind = next((parameter.dtype for parameter in module.parameters()), torch.float32)

    def raw(self, *arrays: np.ndarray):
        """What the function returns, as it returns it; raises what it raises where no kind of array suits it."""
        torch = sys.modules.get("torch")
        kinds = ["numpy"] + ([torch.float32, torch.float64] if torch else []) if self.kind is None else [self.kind]
        first = None
        for kind in kinds:
            try:
                found = self._call(kind, arrays)
            except Exception as error:
                first = first or error
                continue
            self.kind = kind
            return found
        raise first

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        return _numbers(self.raw(*arrays))

    def _call(self, kind, arrays):
        if kind == "numpy":
            return self.function(*arrays)
        torch = sys.modules["torch"]
        with torch.no_grad():
            return self.function(*(torch.from_numpy(np.ascontiguousarray(array)).to(kind) for array in arrays))


def single_query(predict: Callable, name: str | None = None) -> Model:
    """Of predict(X (P, n, d), y (P, n), x_query (P, d)) → (P,): every query is asked with its context, alone."""
    call = Caller(predict)

    def answers(X, y, queries):
        P, R, d = queries.shape
        found = call(np.repeat(X, R, 0), np.repeat(y, R, 0), queries.reshape(P * R, d))
        return found.reshape(P, R) if found.shape == (P * R,) else found  # another shape is refused by the trial

    return Model(name or _name(predict), "queries", answers)


def many_queries(model: Callable, name: str | None = None) -> Model:
    """Of model(X (P, n, d), y (P, n), queries (P, R, d)) → (P, R), an encoder."""
    return Model(name or _name(model), "queries", Caller(model), *_inside(model))


def every_prefix(model: Callable, name: str | None = None) -> Model:
    """Of model(X (P, T, d), y (P, T)) → (P, T), the t-th answer from the t − 1 pairs before it."""
    return Model(name or _name(model), "positions", Caller(model), *_inside(model))


def estimator(model, name: str | None = None) -> Model:
    """Of an object with fit(X (n, d), y (n,)) and predict((R, d)) → (R,), as scikit-learn's: a copy for each prompt."""

    def answers(X, y, queries):
        found = []
        for context, labels, asked in zip(X, y, queries, strict=True):
            fitted = copy.deepcopy(model)
            fitted.fit(context, labels)
            found.append(np.asarray(fitted.predict(asked)))
        return np.stack(found)

    return Model(name or type(model).__name__, "queries", answers)


def ask(model: Model, law: Law, rng: np.random.Generator, P: int, R: int) -> Questions:
    """P prompts of the law in the model's own protocol."""
    return (Queries if model.kind == "queries" else Positions).draw(law, rng, P, R)


def _inside(model):
    """Its layers' states and its last norm, where it shows them."""
    torch = sys.modules.get("torch")
    owner = model if torch is not None and isinstance(model, torch.nn.Module) else None
    states = getattr(model, "states", None)
    return (Caller(states, owner).raw, getattr(model, "norm", None)) if callable(states) else (None, None)


def _name(model) -> str:
    return getattr(model, "__name__", None) or type(model).__name__


def _numbers(found) -> np.ndarray:
    """A NumPy array of what a model returned."""
    return np.asarray(found.detach().cpu().double().numpy() if hasattr(found, "detach") else found)
