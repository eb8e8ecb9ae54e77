"""Chapter 9: the absolute loss and cross-entropy, measured on whole prompts."""

import numpy as np

from icl.chapters.one_step_gd.experiments import best_logit_step
from icl.chapters.softmax_heads_losses.experiments import BATCHES
from icl.estimates import Estimate
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import mean_over_trainings
from icl.theory import one_step_gd, other_losses


def losses_on_prompts(
    small: PromptLaw, ten: PromptLaw, prompts: int, stream: Streams
) -> dict[str, Estimate | float | list]:
    """Best steps on so many whole prompts: "absolute" for `small`; on ±1 labels for `ten` "logit" and "squared".

    "absolute slopes" and "logit slopes", on twice as many: `flatness` at the predicted step and at squared loss's.
    """
    absolute = best_absolute_step(small, prompts, stream("medians"))
    logit, squared = best_step_for_signs(ten.d, ten.n, prompts, stream("signs"))
    at = [other_losses.absolute_step(small.d, small.n, small.sigma2), other_losses.logit_step(ten.d, ten.n)]
    near = [one_step_gd.step_size(small.d, small.n, small.sigma2), squared]
    flat = {
        f"{loss} slopes": flatness(loss, law, [eta, wrong], 2 * prompts, stream(f"{loss} slopes"))
        for loss, law, eta, wrong in zip(("absolute", "logit"), (small, ten), at, near, strict=True)
    }
    return {"absolute": absolute, "logit": logit, "squared": squared, **flat}


def best_absolute_step(law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """The eta of least mean |eta g − y|, g = x'X'y on whole prompts: the median of y/g, weighted by |g|."""
    steps = []
    for _ in range(BATCHES):
        batch = law.sample(rng, max(100, prompts // BATCHES))
        g = np.einsum("bnd,bn,bd->b", batch.X, batch.y, batch.x_query, optimize=True)
        ratio, weight = batch.y_query / g, np.abs(g)
        order = np.argsort(ratio)
        below = weight[order].cumsum()
        steps.append(ratio[order][np.searchsorted(below, below[-1] / 2)])
    return mean_over_trainings(steps)


def best_step_for_signs(d: int, n: int, prompts: int, rng: np.random.Generator) -> tuple[Estimate, float]:
    """On ±1 labels with log-odds w'x: the step of least cross-entropy, and that of least squared error."""
    w = rng.standard_normal((prompts, d, 1))
    x = rng.standard_normal((prompts, n + 1, d))
    y = np.where(rng.random((prompts, n + 1)) < 1 / (1 + np.exp(-(x @ w)[..., 0])), 1.0, -1.0)
    margins = np.einsum("bnd,bn,bd->b", x[:, :n], y[:, :n], x[:, n], optimize=True) * y[:, n]
    return best_logit_step(margins), float(margins.mean() / (margins**2).mean())


def flatness(loss: str, law: PromptLaw, etas: list[float], prompts: int, rng: np.random.Generator) -> list[float]:
    """The slope of a loss in all coefficients of attention with any number of heads, at steps `etas`: the largest |z|.

    The answer is linear in the coefficients of G_ab x_j, so each has a slope, the mean of the loss's derivative times
    its feature; given in standard errors, which at the best of all steps are those of a mean that is 0. "absolute", or
    "logit" with ±1 labels of log-odds w'x.
    """
    d, upper = law.d, np.triu_indices(law.d + 1)
    diagonal = [k * d + upper[0][k] for k in range(len(upper[0])) if upper[1][k] == d and upper[0][k] < d]
    slopes, size = {eta: [] for eta in etas}, max(100, prompts // BATCHES)
    for _ in range(BATCHES):
        batch = law.sample(rng, size)
        X, y, x, label = batch.X, batch.y, batch.x_query, batch.y_query
        if loss == "logit":  # noiseless labels are log-odds
            y, label = (np.where(rng.random(z.shape) < 1 / (1 + np.exp(-z)), 1.0, -1.0) for z in (y, label))
        h = np.concatenate([X, y[..., None]], axis=2)
        features = ((h.mT @ h)[:, *upper][:, :, None] * x[:, None]).reshape(len(x), -1)
        for eta, found in slopes.items():
            guess = eta * features[:, diagonal].sum(1)
            by_guess = np.sign(guess - label) if loss == "absolute" else 1 / (1 + np.exp(-guess)) - (label > 0)
            slope = features * by_guess[:, None]
            found.append((slope.mean(0), (slope**2).mean(0)))
    largest = []
    for found in slopes.values():
        mean, square = np.mean(found, axis=0)
        # The error is a mean's over all prompts: one from a few batches has Student's tails, and this is the largest.
        largest.append(float(np.abs(mean / np.sqrt((square - mean**2) / (size * BATCHES))).max()))
    return largest
