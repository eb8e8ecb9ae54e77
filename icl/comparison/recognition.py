"""What a reader brings, recognised: function, torch module, estimator or a model on this book's own token matrices."""

import inspect
import sys

from icl.comparison.models import Model, estimator, every_prefix, many_queries, single_query
from icl.validation import InputError


def as_model(model, name: str | None = None) -> Model:
    """What a reader brings, as a `Model`.

    An object with `fit` and `predict` is an estimator, fitted anew to each prompt. Anything else is called: with (X, y)
    if it takes two arguments and so answers every prefix, with (X, y, x_query) if it takes three, or with many queries
    at once if the third is called `queries`, or with token matrices if it takes one argument that is called E, as this
    book's linear attention does. Its methods `states` and `norm`, if it has them, are kept. Raises
    InputError for anything else.
    """
    if isinstance(model, Model):
        return model
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return estimator(model, name)
    if isinstance(model, type) or not callable(model):
        raise InputError(
            f"a model must be a function predict(X, y, x_query), a torch module or an object with fit and predict, not"
            f" {model.__name__ if isinstance(model, type) else type(model).__name__}; give an instance, not a class."
        )
    takes = _arguments(model)
    if takes == ["E"]:
        from icl.comparison.adapters import columns  # it needs torch, which such a model has loaded

        return columns(model, name)
    if len(takes) == 2:
        return every_prefix(model, name)
    if len(takes) == 3:
        return (many_queries if takes[2].endswith("queries") else single_query)(model, name)
    raise InputError(
        f"a model takes (X, y, x_query), or (X, y) if it answers at every pair, not {len(takes)} arguments"
        f" ({', '.join(takes)}); wrap it in a function that does, or in an adapter of icl.comparison.adapters."
    )


def _arguments(function) -> list[str]:
    """The names of the arguments that it must be given, in order."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        function = function.forward
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["X", "y", "x_query"]  # built into Python: what it takes cannot be looked up
    return [p.name for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
