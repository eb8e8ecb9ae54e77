"""How fast deep linear attention trains in Gram form, against the form that builds every n × n array of scores."""

from timing import compared, least, write_tables  # sets one thread, before NumPy starts

# isort: split
import numpy as np
import torch

from icl.models.deep_attention import DeepLinearAttention
from icl.prompts import PromptLaw, token_matrix
from icl.theory.depth_ladder import DepthLadder

torch.set_num_threads(1)
SIZES = [(5, 20, 3, 4000), (5, 80, 3, 1000), (10, 40, 3, 1000), (20, 40, 3, 1000), (20, 160, 3, 250), (5, 20, 12, 1000)]


def training_step():
    """One loss and its gradient, without drawing prompts; the first row has the size and batch of Ahn et al. (2023).
    `n × n` computes every layer's scores, as the published code does; the ratio is the median over alternating runs.
    """
    yield "| d | n | layers | prompts | Gram form, ms | n × n, ms | ratio |"
    yield "|---|---|---|---|---|---|---|"
    for d, n, layers, B in SIZES:
        rng = np.random.default_rng(0)
        model = DeepLinearAttention(d, layers, rng=rng, scale=n + d + 1, kind="gd_plus_plus", spread=0.01)
        batch = PromptLaw.isotropic(d, n, 0.25).sample(rng, B)
        X, y, x, target = map(torch.from_numpy, (batch.X, batch.y, batch.x_query, batch.y_query))
        Z = torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))

        def gram(m=model, X=X, y=y, x=x, t=target):
            (((m.solution(m.gram(X, y)) * x).sum(1) - t) ** 2).mean().backward()

        def scores(m=model, Z=Z, t=target):
            ((m(Z) - t) ** 2).mean().backward()

        quick, plain, ratio = compared(gram, scores)
        yield f"| {d} | {n} | {layers} | {B} | {1e3 * quick:.1f} | {1e3 * plain:.1f} | {ratio:.1f} |"


def exact_rungs():
    """The exact ladder: quadrature nodes and minimisation over the steps, seconds."""
    yield "| d | n | nodes | free steps, 3 layers | GD++, 3 layers |"
    yield "|---|---|---|---|---|"
    for d, n in [(5, 20), (20, 40), (40, 80)]:
        ladder = DepthLadder(d, n, 0.25)
        free = least(lambda m=ladder: m.free_steps(3), 2)
        plus = least(lambda m=ladder: m.gd_plus_plus(3), 2)
        yield f"| {d} | {n} | {len(ladder.u)} | {free:.2f} | {plus:.2f} |"


if __name__ == "__main__":
    write_tables("depth_ladder", "Speed of chapter 6's depth ladder", (training_step, exact_rungs))
