"""Input checks: each turns a bad argument into one sentence that says what to do."""

import math
from difflib import get_close_matches
from numbers import Integral, Real

import numpy as np


class InputError(ValueError):
    """A bad argument, said in one sentence for the person who gave it."""


def short(value) -> str:
    """`value` as Python writes it, cut where it would fill the screen, and printable whatever it holds."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:45]}… ({len(text)} characters)"


def nearest(name, known) -> str:
    """The question whether the nearest of the `known` names was meant, or nothing where none is near."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f" (did you mean {close[0]!r}?)" if close else ""


def check_count(name: str, value, *, least: int = 1) -> int:
    """Return `value` as an int; raise InputError unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def check_nonnegative(name: str, value) -> float:
    """Return `value` as a float; raise InputError unless it is a finite number ≥ 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value) or value < 0:
        raise InputError(f"{name} must be a finite number of at least 0, not {value!r}.")
    return float(value)


def check_vector(name: str, value, d: int) -> np.ndarray:
    """Return `value` as a float64 array of shape (d,); raise InputError otherwise or if not finite."""
    return check_array(name, value, (d,))


def check_generator(rng) -> np.random.Generator:
    """Return `rng`; raise InputError unless it is a generator of NumPy's."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a generator, such as np.random.default_rng(0), not {short(rng)}.")
    return rng


def check_contexts(X, y) -> tuple[np.ndarray, np.ndarray]:
    """Return X (B, n, d) and y (B, n) as arrays; raise InputError for other shapes, as those of one prompt alone."""
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 3 or y.shape != X.shape[:2]:
        single = "; for one prompt give X[None] and y[None]" if X.ndim == 2 and y.shape == X.shape[:1] else ""
        raise InputError(f"X must be (prompts, n, d) and y (prompts, n), not {X.shape} and {y.shape}{single}.")
    return X, y


def check_array(name: str, value, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` as a float64 array of the given shape; raise InputError otherwise or if not finite."""
    array = _as_float_array(name, value)
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, not {array.shape}.")
    return array


def check_arrays(name: str, value, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` as a float64 array (..., *shape); raise InputError otherwise or if not finite."""
    array = _as_float_array(name, value)
    if array.shape[-len(shape) :] != shape:
        raise InputError(f"{name} must have shape {shape}, or such arrays stacked, not {array.shape}.")
    return array


def check_covariance(name: str, value, d: int) -> np.ndarray:
    """Return `value` as a symmetric positive semi-definite float64 array of shape (d, d).

    Asymmetry and negative eigenvalues up to 1e-10 of the largest entry are taken for rounding and
    removed by symmetrising. Raises InputError for a wrong shape, NaN, asymmetry or indefiniteness.
    """
    array = check_array(name, value, (d, d))
    slack = 1e-10 * max(np.abs(array).max(), np.finfo(float).tiny)
    if np.abs(array - array.T).max() > slack:
        raise InputError(f"{name} must be symmetric; take ({name} + {name}.T) / 2 if that is what you mean.")
    symmetric = (array + array.T) / 2
    least = np.linalg.eigvalsh(symmetric)[0]
    if least < -d * slack:
        raise InputError(f"{name} must be positive semi-definite, but has the eigenvalue {least:.3g}.")
    return symmetric


def _as_float_array(name: str, value) -> np.ndarray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers, not {type(value).__name__}.") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, but holds NaN or infinity.")
    return array
