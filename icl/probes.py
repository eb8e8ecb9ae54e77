r"""What a layer knows, and which step of an algorithm it resembles.

A ReadOut is a linear map fitted, in closed form, from a layer's hidden states to the labels, with the model frozen
(Fu et al. 2024, §3). Two measures set its predictions beside an algorithm's: the *similarity of errors* of the paper,

    SimE(A, B) = E ⟨ρ_A, ρ_B⟩ / (|ρ_A| |ρ_B|),   ρ = (prediction − y) over the positions or queries of one prompt,

and this book's *error-matched step count*, at which the algorithm's mean squared error is the layer's. NumPy, float64.
"""

from dataclasses import dataclass

import numpy as np

from icl.validation import InputError

VARIES = 1e-6  # of a layer's largest singular value; float32 rounds at 1.2e-7 of it
ROUNDING = 1e-9  # of a prompt's largest residual: what is below it says nothing of an algorithm


@dataclass(frozen=True)
class ReadOuts:
    """One linear map with intercept for each of L layers: weights (L, C), intercepts (L,)."""

    weights: np.ndarray
    intercepts: np.ndarray

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Predictions (L, …) from states (L, …, C)."""
        lead = (slice(None), *(None,) * (states.ndim - 2))
        return np.einsum("l...c,lc->l...", states, self.weights) + self.intercepts[lead]


def fit_readouts(states: np.ndarray, targets: np.ndarray) -> ReadOuts:
    """Least squares, without a penalty, from states (L, …, C) to targets (…) of the same middle shape.

    Directions in which the states vary by less than 1e-6 of what they vary at most get weight 0: behind a LayerNorm
    there is always one, and single precision shows its rounding there. Fit on other prompts than you test on. Raises
    InputError for shapes that do not fit or fewer targets than weights.
    """
    states, targets = np.asarray(states), np.asarray(targets, float).ravel()
    L, C = states.shape[0], states.shape[-1]
    flat = states.reshape(L, -1, C)
    if flat.shape[1] != targets.size:
        raise InputError(f"there are {flat.shape[1]} hidden states a layer and {targets.size} targets; give as many.")
    if targets.size <= C:
        raise InputError(f"{targets.size} targets cannot fit {C} weights and an intercept; probe with more prompts.")
    means, weights = np.empty((2, L, C))
    for layer in range(L):  # a layer at a time in float64: the states can be a gigabyte in float32
        means[layer] = flat[layer].mean(0, dtype=float)
        centred = flat[layer] - means[layer]
        weights[layer] = np.linalg.lstsq(centred, targets - targets.mean(), rcond=VARIES)[0]
    return ReadOuts(weights, targets.mean() - (weights * means).sum(-1))


def similarities(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """SimE of each prompt, (L, K, P), from residuals a (L, P, R) and b (K, P, R); its mean over P is the paper's.

    Fu et al. (2024), Definition of the similarity of errors, §3. A residual of 0 has similarity 0, and so has one
    below 1e-9 of the prompt's largest: an algorithm that has arrived still errs by rounding, whose direction is the
    machine's. Raises InputError when P or R of a and b differ.
    """
    if a.shape[1:] != b.shape[1:]:
        raise InputError(f"residuals of different prompts cannot be compared: shapes {a.shape[1:]} and {b.shape[1:]}.")
    return np.einsum("lpr,kpr->lkp", _unit(a), _unit(b), optimize=True)


def matched_steps(errors, steps, curve, *, logarithmic: bool = False) -> np.ndarray:
    """The step count at which an algorithm's error is `errors`, same shape; this book's measure.

    steps (K,) increasing, curve (…, K) their errors, errors (…, L). Between two step counts the logarithm of the error
    is interpolated linearly in the step count, or in its logarithm where `logarithmic`. Above the first error of the
    sweep the match is its first step count, below the least error the one that has it.
    """
    steps = np.log2(steps) if logarithmic else np.asarray(steps, float)
    curve = np.log(np.minimum.accumulate(np.asarray(curve, float), axis=-1))[..., None, :]
    wanted = np.log(np.asarray(errors, float))[..., :, None]
    best = np.maximum(curve.argmin(-1), 1)
    after = np.clip((curve > wanted).sum(-1), 1, best)  # the first step count that is at least as good
    take = lambda index: np.take_along_axis(np.broadcast_to(curve, (*after.shape, len(steps))), index[..., None], -1)[
        ..., 0
    ]
    high, low = take(after - 1), take(after)
    part = np.divide(high - wanted[..., 0], high - low, out=np.ones_like(high), where=high > low)
    found = steps[after - 1] + np.clip(part, 0, 1) * (steps[after] - steps[after - 1])
    return 2**found if logarithmic else found


def resampled_means(values: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Means (draws, …) of values (P, …) over `draws` bootstrap samples of the P prompts (Efron 1979)."""
    P = len(values)
    counts = rng.multinomial(P, np.full(P, 1 / P), size=draws)
    return (counts @ values.reshape(P, -1) / P).reshape(draws, *values.shape[1:])


def linear_fit(x, y) -> tuple[np.ndarray, np.ndarray]:
    """Slope and R² of least squares of y (…, m) on x (m,); R² is 0 where y does not vary."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    x, y = x - x.mean(), y - y.mean(-1, keepdims=True)
    slope = (x * y).sum(-1) / (x * x).sum()
    total = (y * y).sum(-1)
    explained = slope**2 * (x * x).sum()
    return slope, np.divide(explained, total, out=np.zeros_like(total), where=total > 0)


def _unit(residuals):
    size = np.linalg.norm(residuals, axis=-1, keepdims=True)
    return np.divide(residuals, size, out=np.zeros_like(residuals), where=size > ROUNDING * size.max(0))
