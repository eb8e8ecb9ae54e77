"""How fast chapter 1's parts are, as ratios against a named baseline in one run, and how their cost grows.

`make bench` writes benchmarks/one_step_gd.md. One thread; each figure is the median of repeated runs, baseline and
subject in turn, so that a slow moment of the machine meets both.
"""

from timing import ROOT, compared, once, seconds, write_tables  # sets one thread, before NumPy starts

# isort: split
import resource
import subprocess
import sys
import tempfile

import numpy as np
import torch

from icl.descent import minimise_exactly
from icl.models.exact_risk import ExactRisk
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw, token_matrix
from icl.solvers.linear import ridge
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.theory.one_step_gd import minimal_risk

SIGMA2 = 0.25
SIZES = (5, 10, 20, 40, 80)


def exact_optimum():
    """L-BFGS over all weights of the exact loss, label path open, to the bottom."""
    yield "| d | n | weights | iterations | seconds | relative excess over L_min |"
    yield "|---|---|---|---|---|---|"
    for d in SIZES:
        n = 2 * d
        law = PromptLaw.isotropic(d, n, SIGMA2)
        model = LinearSelfAttention(d, rng=np.random.default_rng(0), init="label_path", scale=0.02)
        found, took = once(lambda m=model, w=law: minimise_exactly(m, w))
        excess = found.loss / minimal_risk(d, n, SIGMA2) - 1
        yield f"| {d} | {n} | {4 * (d + 1) ** 2} | {found.iterations} | {took:.2f} | {excess:.0e} |"


def exact_loss():
    """One value and gradient of the exact loss, against one of a sampled loss with 1 % standard error."""
    yield "| d | n | exact, ms | prompts for 1 % | sampled, ms | ratio |"
    yield "|---|---|---|---|---|---|"
    for d in SIZES:
        for n in (2 * d, 8 * d):
            law, rng = PromptLaw.isotropic(d, n, SIGMA2), np.random.default_rng(0)
            model = LinearSelfAttention(d, rng=rng, init="label_path", scale=0.02)
            risk = ExactRisk(law)
            squares = _squared_errors(model, law, rng, 2000)
            prompts = int((squares.std() / squares.mean() / 0.01) ** 2)
            exact = seconds(lambda m=model, r=risk, n=n: r(m.effective(n)).backward())
            chunk = min(prompts, 2_000_000 // (n * d))
            sampled = seconds(lambda m=model, w=law, g=rng, b=chunk: _errors(m, w, g, b).mean().backward(), 2)
            sampled *= prompts / chunk
            yield f"| {d} | {n} | {1e3 * exact:.2f} | {prompts} | {1e3 * sampled:.0f} | {sampled / exact:.0f} |"


def gradient():
    """Value and gradient of the exact loss by all weights: written out, against autograd; least of 7 rounds."""
    yield "| model | d | autograd, ms | written out, ms | ratio |"
    yield "|---|---|---|---|---|"
    for name, build in (("attention", LinearSelfAttention), ("block", LinearTransformerBlock)):
        for d in SIZES:
            law = PromptLaw.isotropic(d, 2 * d, SIGMA2)
            model = build(d, rng=np.random.default_rng(0), init="label_path", scale=0.02)
            risk, written = ExactRisk(law), RiskGradient(law)
            weights = list(model.parameters())
            mine, theirs, ratio = compared(
                lambda m=model, r=written: r.of_model(m),
                lambda m=model, r=risk, n=2 * d, w=weights: torch.autograd.grad(r(m.effective(n)), w),
            )
            yield f"| {name} | {d} | {1e3 * theirs:.2f} | {1e3 * mine:.2f} | {ratio:.1f} |"


def _errors(model, law, rng, B):
    batch = law.sample(rng, B)
    X, y, x, target = map(torch.from_numpy, (batch.X, batch.y, batch.x_query, batch.y_query))
    return (model.effective(law.n).predict(X, y, x) - target) ** 2


def _squared_errors(model, law, rng, B):
    return _errors(model, law, rng, B).detach().numpy()


def bayes_risk():
    """The Bayes risk without sampling, against Monte Carlo with 10 000 prompts (about 1 % standard error)."""
    yield "| d | n | exact, ms | Monte Carlo, ms | ratio |"
    yield "|---|---|---|---|---|"
    for d, n in [(5, 10), (5, 1000), (10, 20), (20, 40), (40, 80), (80, 160)]:
        law, rng = PromptLaw.isotropic(d, n, SIGMA2), np.random.default_rng(0)
        exact = seconds(lambda d=d, n=n: isotropic_bayes_risk(d, n, SIGMA2))
        chunk = max(10, min(10_000, 2_000_000 // (n * d)))
        sampled = seconds(lambda w=law, g=rng, b=chunk: _bayes_errors(w, g, b), 2) * 10_000 / chunk
        yield f"| {d} | {n} | {1e3 * exact:.1f} | {1e3 * sampled:.0f} | {sampled / exact:.0f} |"


def _bayes_errors(law, rng, B):
    batch = law.sample(rng, B)
    return ((ridge(batch.X, batch.y, law.sigma2) - batch.beta) ** 2).sum(1)


def forward():
    """A batch of 512 prompts through the effective parameters, against the full attention layer on tokens."""
    yield "| d | n | effective, ms | full layer, ms | ratio |"
    yield "|---|---|---|---|---|"
    for d, n in [(5, 20), (20, 40), (40, 80)]:
        law, rng = PromptLaw.isotropic(d, n, SIGMA2), np.random.default_rng(0)
        model, batch = LinearSelfAttention(d, rng=rng), law.sample(rng, 512)
        E = torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))
        parts = tuple(map(torch.from_numpy, (batch.X, batch.y, batch.x_query)))
        quick = seconds(lambda m=model, n=n, p=parts: m.effective(n).predict(*p).sum().backward())
        full = seconds(lambda m=model, e=E: m(e).sum().backward())
        yield f"| {d} | {n} | {1e3 * quick:.2f} | {1e3 * full:.2f} | {full / quick:.1f} |"


def vectorised():
    """Ridge on 2000 prompts at once, against a Python loop over prompts."""
    yield "| d | n | at once, ms | loop, ms | ratio |"
    yield "|---|---|---|---|---|"
    for d, n in [(5, 20), (20, 40)]:
        batch = PromptLaw.isotropic(d, n, SIGMA2).sample(np.random.default_rng(0), 2000)
        pairs = list(zip(batch.X, batch.y, strict=True))
        once = seconds(lambda b=batch: ridge(b.X, b.y, SIGMA2))
        loop = seconds(lambda p=pairs: [ridge(X[None], y[None], SIGMA2) for X, y in p])
        yield f"| {d} | {n} | {1e3 * once:.1f} | {1e3 * loop:.0f} | {loop / once:.0f} |"


def commands():
    """Whole commands, wall clock; memory is the largest single process started so far."""
    yield "| command | seconds | peak memory, MiB |"
    yield "|---|---|---|"
    with tempfile.TemporaryDirectory() as scratch:
        chapter = ["-m", "icl", "run", "01_one_step_gd", "--out", scratch]
        for label, command in [
            ("`make book`, nothing changed", ["make", "book"]),
            ("chapter 1 executed, `quick`", [sys.executable, *chapter]),
            ("pages built from finished chapters", [sys.executable, "-m", "icl", "book"]),
        ]:
            _, took = once(lambda c=command: subprocess.run(c, cwd=ROOT, check=True, capture_output=True))
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            yield f"| {label} | {took:.1f} | {peak:.0f} |"


def main():
    """Run all, print and write the tables."""
    subprocess.run(["make", "book"], cwd=ROOT, check=True, capture_output=True)
    # the commands first: a child starts with the peak memory of the process that forks it
    parts = (commands, exact_optimum, exact_loss, gradient, bayes_risk, forward, vectorised)
    write_tables("one_step_gd", "Speed of chapter 1", parts)


if __name__ == "__main__":
    main()
