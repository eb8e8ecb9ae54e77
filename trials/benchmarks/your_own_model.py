"""How long a comparison takes and what it holds, and whether other people's models are taken for what they are.

`make bench` writes benchmarks/your_own_model.md. One thread. scikit-learn and Hugging Face's GPT-2 are asked where
`make peers` has installed them.
"""

from timing import PROCESSOR, once, write_tables  # sets one thread, before NumPy starts

# isort: split
import resource

import torch

from icl.comparison import adapters
from icl.comparison.compare import compare
from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.solvers.online import online_gradient_descent

try:
    from sklearn.linear_model import LinearRegression, Ridge
    from transformers import GPT2Config, GPT2Model
except ModuleNotFoundError:
    Ridge = None

LARGE, SMALL = PromptLaw.isotropic(20, 40, 0.25), PromptLaw.isotropic(3, 12, 0.25)


def ridge(X, y, x_query):
    """Ridge with the penalty of the laws above."""
    return (linear.ridge(X, y, 0.25) * x_query).sum(1)


def online(X, y):
    """Online gradient descent, an answer at every pair."""
    return online_gradient_descent(X, y, [0.02])[..., 0]


def growth():
    """A comparison at d = 20, n = 40 with every algorithm and step count; memory is the peak of the process so far."""
    yield "| model | prompts | algorithms | processor seconds | peak memory, MiB |"
    yield "|---|---|---|---|---|"
    for model, words, counts in (
        (ridge, "ridge, 10 queries a prompt", (1000, 10_000, 40_000)),
        (online, "online GD, all 40 positions", (1000, 10_000)),
    ):
        for prompts in counts:
            found, seconds = once(
                lambda model=model, prompts=prompts: compare(model, LARGE, prompts=prompts), PROCESSOR
            )
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            count = sum(len(family.names) for family in found.families)
            yield f"| {words} | {prompts:,} | {count} | {seconds:.1f} | {peak:.0f} |"


def peers():
    """What models of other packages are said to be, at d = 3, n = 12, sigma2 = 0.25, on 500 prompts."""
    if Ridge is None:
        yield "They were not installed."
        return
    yield "| model | verdict |"
    yield "|---|---|"
    models = {
        "scikit-learn's `Ridge(0.25, fit_intercept=False)`": Ridge(0.25, fit_intercept=False),
        "scikit-learn's `Ridge(0.25)`, with an intercept": Ridge(0.25),
        "scikit-learn's `LinearRegression(fit_intercept=False)`": LinearRegression(fit_intercept=False),
        "Hugging Face's `GPT2Model`, untrained, in the layout of Garg et al.": gpt2(),
    }
    for words, model in models.items():
        yield f"| {words} | {compare(model, SMALL, prompts=500).verdict} |"


def gpt2():
    """A small decoder of Hugging Face's behind the interleaved adapter."""
    torch.manual_seed(0)
    sizes = dict(n_positions=64, n_embd=32, n_layer=2, n_head=2, vocab_size=1, bos_token_id=None, eos_token_id=None)
    network = GPT2Model(GPT2Config(**sizes))
    read = lambda tokens: network(inputs_embeds=tokens).last_hidden_state
    network.eval()
    return adapters.interleaved(read, torch.nn.Linear(3, 32), torch.nn.Linear(32, 1), "GPT-2")


if __name__ == "__main__":
    write_tables("your_own_model", "Comparing a model of one's own", [growth, peers])
