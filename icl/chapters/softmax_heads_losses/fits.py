"""Chapter 9's trainings: softmax heads, attention under other losses, a deep stack on nonlinear targets."""

from dataclasses import dataclass

import numpy as np
import torch

from icl.chapters.softmax_heads_losses.experiments import Budget
from icl.estimates import Estimate, NotRun, monte_carlo
from icl.models.deep_attention import DeepLinearAttention
from icl.models.softmax_attention import SoftmaxHeads
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import mean_over_trainings
from icl.targets import FAMILIES, TargetLaw
from icl.theory import one_step_gd
from icl.training import minimise

MOST_COVARIATES, MOST_ENTRIES = 12, 1000  # d and n·d up to which a fit of whole key-query matrices is one of seconds


@dataclass(frozen=True)
class Fitted:
    """Softmax heads after a fit: key-query matrices M (K, d, d), values c (K,), and their risk on fresh prompts."""

    M: np.ndarray
    c: np.ndarray
    risk: Estimate


def fit_heads(law: PromptLaw, heads: int, budget: Budget, rng: np.random.Generator) -> Fitted | NotRun:
    """Softmax heads, all of M, v and c free, fitted by L-BFGS to `budget.fitted` prompts and tested on fresh ones.

    Task and noise are averaged exactly, in the fit and in the test; shorter contexts than two examples teach nothing.
    """
    d, n = law.d, law.n
    if n < 2 or d > MOST_COVARIATES or n * d > MOST_ENTRIES:
        return NotRun(f"softmax heads are fitted for n ≥ 2, d ≤ {MOST_COVARIATES} and n · d ≤ {MOST_ENTRIES}")
    model = SoftmaxHeads(d, heads, rng=rng)
    X, x = _covariates(law, budget.fitted, rng)
    minimise(model, lambda: model.risk(X, x, law.sigma2).mean(), iterations=budget.iterations)
    M, c = (part.detach().numpy() for part in (model.M, model.c))
    return Fitted(M, c, tested(model, law, budget.prompts // 2, rng))


def tested(model: SoftmaxHeads, law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """The risk of the heads on fresh prompts, the conditional risk of Theorem 1's step being a control variate."""
    eta = one_step_gd.step_size(law.d, law.n, law.sigma2)
    known = one_step_gd.minimal_risk(law.d, law.n, law.sigma2)

    def pair(B):
        X, x = _covariates(law, B, rng)
        a = eta * torch.einsum("bnd,bd->bn", X, x)
        step = law.sigma2 + ((torch.einsum("bn,bnd->bd", a, X) - x) ** 2).sum(1) + law.sigma2 * (a**2).sum(1)
        with torch.no_grad():
            return model.risk(X, x, law.sigma2).numpy(), step.numpy() - known

    first, control = pair(2000)
    slope = np.cov(first, control)[0, 1] / max(control.var(ddof=1), 1e-300)

    def draw(B):
        risk, control = pair(B)
        return risk - slope * control

    return monte_carlo(draw, prompts, chunk=4000)


def opposite(fitted: Fitted | NotRun, budget: Budget) -> float | NotRun:
    """`distance_from_pair` of fitted heads, where they had a hundred prompts a weight; with fewer it is noise."""
    if isinstance(fitted, NotRun):
        return fitted
    if 100 * fitted.M.size > budget.fitted:
        return NotRun(f"{budget.fitted} prompts are fewer than a hundred a weight, too few to tell the heads' form")
    return distance_from_pair(fitted.M)


def distance_from_pair(M: np.ndarray) -> float:
    """How far key-query matrices M (2, d, d) are from (qI, −qI), relative to that, at the nearest q."""
    q = (np.trace(M[0]) - np.trace(M[1])) / (2 * M.shape[1])
    pair = q * np.stack([np.eye(M.shape[1]), -np.eye(M.shape[1])])
    return float(np.linalg.norm(M - pair) / np.linalg.norm(pair))


def steps_under(loss: str, law: PromptLaw, prompts: int, fits: int, rng: np.random.Generator) -> Estimate:
    """The step that one linear head, all of v, c, V and u free, learns under the "absolute" or the "logit" loss.

    Mean over `fits` fits by L-BFGS, each to its own prompts: the mean diagonal of Gamma = c V' + u v'. Under "absolute"
    the query and its noise are averaged exactly, under "logit" labels are ±1 with log-odds w'x.
    """
    return mean_over_trainings([_step_under(loss, law, prompts, rng) for _ in range(fits)])


def steps_learned(small: PromptLaw, ten: PromptLaw, stream: Streams) -> dict[str, Estimate]:
    """`steps_under` the absolute loss on `small` and cross-entropy on `ten`: four fits to 20,000 prompts each."""
    laws = {"absolute": small, "logit": ten}
    return {loss: steps_under(loss, law, 20_000, 4, stream(f"{loss} loss")) for loss, law in laws.items()}


def _step_under(loss, law, prompts, rng) -> float:
    d, n = law.d, law.n
    X, x = _covariates(law, prompts, rng)
    w = torch.from_numpy(rng.standard_normal((prompts, d)))
    y, right = (X * w[:, None]).sum(2), torch.sigmoid((x * w).sum(1))
    if loss == "logit":
        y = torch.where(torch.from_numpy(rng.random((prompts, n))) < torch.sigmoid(y), 1.0, -1.0).double()
    else:
        y = y + law.sigma2**0.5 * torch.from_numpy(rng.standard_normal((prompts, n)))
    h = torch.cat([X, y[..., None]], dim=2)
    G = h.mT @ h / n
    model = _Head(d, rng)

    def cost():
        estimate = torch.einsum("a,baj,jk->bk", model.left, G, model.right)  # ŷ = estimate'x
        if loss == "absolute":
            return ((law.sigma2 + ((estimate - w) ** 2).sum(1)).sqrt() * (2 / np.pi) ** 0.5).mean()
        logit = (estimate * x).sum(1)
        return (torch.nn.functional.softplus(logit) - right * logit).mean()

    minimise(model, cost, iterations=80)
    left, right = model.left.detach().numpy(), model.right.detach().numpy()
    Gamma = left[d] * right[:d].T + np.outer(right[d], left[:d])
    return float(np.trace(Gamma) / d / n)


class _Head(torch.nn.Module):
    """(v; c) and (V; u') of one linear head, small but for an open label path."""

    def __init__(self, d: int, rng: np.random.Generator):
        super().__init__()
        start = 0.1 * rng.standard_normal((d + 2, d + 1))
        start[0, d] += 1.0
        self.left = torch.nn.Parameter(torch.from_numpy(start[0].copy()))
        self.right = torch.nn.Parameter(torch.from_numpy(start[1:, :d].copy()))


def fit_deep(
    family: str, d: int, n: int, sigma2: float, layers: int, prompts: int, rng: np.random.Generator
) -> Estimate:
    """Risk on fresh prompts of a deep linear stack, all of P and Q free, fitted by L-BFGS to a family's targets."""
    law = TargetLaw(FAMILIES[family], d, n, sigma2)
    model = DeepLinearAttention(d, layers, rng=rng, scale=float(2 * n + 2 * d), kind="full", spread=0.05)

    def draw(B):
        batch = law.sample(rng, B)
        X, y, x, label = map(torch.from_numpy, (batch.X, batch.y, batch.x_query, batch.y_query))
        return model.gram(X, y), x, label

    def errors(G, x, label):
        return ((model.solution(G) * x).sum(1) - label) ** 2

    fixed = draw(prompts)
    minimise(model, lambda: errors(*fixed).mean(), iterations=60)
    with torch.no_grad():
        return monte_carlo(lambda B: errors(*draw(B)).numpy(), 100_000)


def nonlinearity_in_query(d: int, n: int, layers: int, rng: np.random.Generator) -> dict[str, float]:
    """|f(x + x') − f(x) − f(x')| over |f(x)| + |f(x')| for a deep linear stack with random weights, on one prompt.

    "masked": nobody attends to the query; "unmasked": the query is one of the tokens that are summed over.
    """
    model = DeepLinearAttention(d, layers, rng=rng, scale=float(n + d), kind="full", spread=0.3)
    X, y, x = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((n, d), (n,), (2, d)))
    found = {}
    for name in ("masked", "unmasked"):
        answers = []
        for query in (x[0], x[1], x[0] + x[1]):
            Z = torch.cat([torch.cat([X, y[:, None]], 1), torch.cat([query, query.new_zeros(1)])[None]]).T[None]
            if name == "unmasked":  # the query stands among the examples too, and its token is treated like theirs
                Z = torch.cat([Z, Z[:, :, -1:]], dim=2)
            answers.append(model(Z).item())
        found[name] = abs(answers[2] - answers[0] - answers[1]) / (abs(answers[0]) + abs(answers[1]))
    return found


def _covariates(law: PromptLaw, B: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.from_numpy(rng.standard_normal((B, law.n + 1, law.d)))
    return x[:, :-1], x[:, -1]
