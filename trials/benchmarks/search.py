"""How fast the least risk over all weights is found: second derivatives, and what the last steps are worth."""

from timing import PROCESSOR, compared, once, write_tables  # sets one thread, before NumPy starts

# isort: split
import os

import numpy as np

from icl.last_steps import _Search
from icl.models.linear_attention import LinearSelfAttention
from icl.prompts import PromptLaw
from icl.search import OPEN, SCREENED, descents, restarts
from icl.theory import mlp_benefit as theory

os.environ["ICL_CORES"] = "1"
SIZES = (2, 5, 10, 20)


def law_of(d: int, size: float = 3.0) -> PromptLaw:
    """H = Psi = I, n = 2d, noise .25, and a mean task of this size."""
    return PromptLaw.isotropic(d, 2 * d, 0.25, np.full(d, size / np.sqrt(d)))


def second_derivatives():
    """The Hessian by all weights: gradients with an imaginary step, many at once; baseline: differences, one by one."""
    yield "| d | weights | ours, ms | baseline, ms | baseline / ours |"
    yield "|---|---|---|---|---|"
    for d in SIZES:
        law = law_of(d)
        weights = LinearSelfAttention(d, rng=np.random.default_rng(0), init="label_path").effective(law.n)
        search = _Search(law, weights, False, 1.0)
        gradient, at = lambda vector, s=search: s.value_and_gradient(vector)[1], search.start
        every = np.eye(len(at))
        ours, theirs, ratio = compared(
            lambda s=search, at=at, every=every: s.curvature_along(at, every),
            lambda at=at, steps=1e-5 * every, g=gradient: [(g(at + step) - g(at - step)) / 2e-5 for step in steps],
            rounds=5,
        )
        yield f"| {d} | {len(at)} | {1e3 * ours:.2f} | {1e3 * theirs:.2f} | {ratio:.1f} |"


def a_large_mean_task():
    """Attention's least risk at a mean task of 1,000, by a finished search and by L-BFGS alone, of as many starts."""
    yield "| d | finished, s | its excess | L-BFGS alone, s | its excess |"
    yield "|---|---|---|---|---|"
    for d in SIZES:
        law = law_of(d, 1000.0)
        floor, kind = theory.lsa_minimum(law).risk, OPEN | {"screened": SCREENED}
        finished, took = once(
            lambda w=law, k=kind: descents(w, [dict(count=2, **k)], np.random.default_rng(0)), PROCESSOR
        )
        alone, took_alone = once(lambda w=law, k=kind: restarts(w, 2, np.random.default_rng(0), **k), PROCESSOR)
        excess, excess_alone = (found.risks.min() / floor - 1 for found in (finished, alone))
        yield f"| {d} | {took:.1f} | {excess:.0e} | {took_alone:.1f} | {excess_alone:.0e} |"


if __name__ == "__main__":
    write_tables("search", "Speed of the search over all weights", (second_derivatives, a_large_mean_task))
