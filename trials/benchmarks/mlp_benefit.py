"""How fast chapter 4's GPT trains, beside the Hugging Face GPT-2 of the same size, and its exact optima.

The other GPT-2 is measured only in the environment that `make peers` makes (benchmarks/requirements.txt); without it
its rows say that they are left out.
"""

from timing import PROCESSOR, in_turn, least, once, write_tables  # sets one thread, before NumPy starts

# isort: split
import numpy as np
import torch

from icl.chapters.mlp_benefit.query_losses import query_errors, squared_errors
from icl.models.gpt import GPT, GPTConfig
from icl.optimisers import Optimiser, Schedule
from icl.prompts import PromptLaw, token_matrix
from icl.search import restarts
from icl.theory import mlp_benefit as theory

try:
    from transformers import GPT2Config, GPT2Model
except ImportError:
    GPT2Model = None

torch.set_num_threads(1)
SIZE = dict(d=20, n=40, layers=6, heads=4, width=128)
BATCH = 64


class Peer(torch.nn.Module):
    """Hugging Face's GPT-2 with our read-in and read-out: one token a pair, or x and y as tokens of their own."""

    def __init__(self, config, *, interleaved=False):
        super().__init__()
        self.interleaved, positions = interleaved, (2 * config.n + 1 if interleaved else config.n + 1)
        sizes = dict(n_positions=positions, n_embd=config.width, n_layer=config.layers, n_head=config.heads)
        off = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)  # like ours, which has no dropout
        no_words = dict(bos_token_id=None, eos_token_id=None)
        self.backbone = GPT2Model(GPT2Config(vocab_size=1, use_cache=False, **no_words, **sizes, **off))
        self.read_in = torch.nn.Linear(config.d + 1, config.width)
        self.read_out = torch.nn.Linear(config.width, 1)
        self.position = self.read_in.weight  # where `squared_errors` looks for the device

    def forward(self, E):
        """Predictions (B,) for token matrices E (B, d+1, n+1)."""
        if self.interleaved:
            X, Y = E.clone(), torch.zeros_like(E)
            X[:, -1], Y[:, -1] = 0.0, E[:, -1]
            E = torch.stack([X, Y], -1).flatten(2)[..., :-1]  # x_1, y_1, …, x_query
        hidden = self.backbone(inputs_embeds=self.read_in(E.mT)).last_hidden_state
        return self.read_out(hidden[:, -1])[:, 0]


def training(model, batch, law):
    """A closure that takes one training step: draw, loss, gradient, clip, Adam."""
    rng, optimiser = np.random.default_rng(1), torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def step():
        loss = squared_errors(model, law, batch, rng).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def multiplications(config, batch):
    """Floating-point operations of all matrix products of a training step: forward, and twice that backward."""
    C, T, L = config.width, config.n + 1, config.layers
    hidden = 2 * config.expansion * C**2
    whole = T * (4 * C**2 + hidden) + 2 * T**2 * C
    last = T * 2 * C**2 + (2 * C**2 + hidden) + 2 * T * C  # keys and values for all, the rest for one token
    return 2 * 3 * batch * ((L - 1) * whole + last) + 2 * 2 * batch * T * (config.d + 1) * C


def matmul_peak():
    """The fastest float32 matrix product of this thread, in operations per second."""
    best = 0.0
    for size in (512, 1024):
        A = torch.ones(size, size)
        best = max(best, 2 * size**3 / in_turn(lambda A=A: A @ A, rounds=15).min())
    return best


def beside_the_peer():
    """A training step at 6 layers, 4 heads, width 128, d = 20, n = 40, batch 64, models in turn; least of 9 rounds.
    «Ours over it» is the median over rounds of our step's time in units of that row's. The share of the peak counts the
    matrix products that our step needs.
    """
    config, law = GPTConfig(**SIZE), PromptLaw.isotropic(SIZE["d"], SIZE["n"], 0.0)
    models = {"ours": GPT(config, rng=np.random.default_rng(0))}
    if GPT2Model is not None:
        models |= {"Hugging Face GPT-2, same layout": Peer(config)}
        models |= {"Hugging Face GPT-2, x and y interleaved": Peer(config, interleaved=True)}
    times = in_turn(*(training(model, BATCH, law) for model in models.values()), rounds=9)
    work, peak = multiplications(config, BATCH), matmul_peak()
    yield "| model | step, ms | ours over it | share of the matmul peak |"
    yield "|---|---|---|---|"
    for k, name in enumerate(models):
        share = f"{100 * work / peak / times[:, k].min():.0f} %" if k == 0 else ""
        yield f"| {name} | {1e3 * times[:, k].min():.0f} | {np.median(times[:, 0] / times[:, k]):.2f} | {share} |"
    if GPT2Model is not None:
        half = times[:, 1].min() / 2
        needed = f"{100 * work / peak / half:.0f} %"
        yield f"| half of its time in the same layout, and what that would need | {1e3 * half:.0f} | | {needed} |"
    else:
        yield "| Hugging Face GPT-2 | left out: `make peers` installs it | | |"
    yield f"| our matrix products at the peak, {peak / 1e9:.0f} GFLOP/s | {1e3 * work / peak:.0f} | | 100 % |"


def growth():
    """Our training step as batch, width and depth grow; least of 3 rounds."""
    yield "| batch | width | layers | step, ms | share of the matmul peak |"
    yield "|---|---|---|---|---|"
    peak, law = matmul_peak(), PromptLaw.isotropic(SIZE["d"], SIZE["n"], 0.0)
    for batch, width, layers in [(16, 128, 6), (64, 128, 6), (256, 128, 6), (64, 64, 6), (64, 256, 6), (64, 128, 3)]:
        config = GPTConfig(**SIZE | dict(width=width, layers=layers))
        step = training(GPT(config, rng=np.random.default_rng(0)), batch, law)
        took = in_turn(step, rounds=3).min()
        share = 100 * multiplications(config, batch) / peak / took
        yield f"| {batch} | {width} | {layers} | {1e3 * took:.0f} | {share:.0f} % |"


def needed(config, batch, queries):
    """As `multiplications`, of a step that answers `queries` queries a prompt, each seeing n examples and itself."""
    C, n, L, T = config.width, config.n, config.layers, config.n + queries
    hidden, seen = 2 * config.expansion * C**2, n**2 + queries * (n + 1)
    whole = T * (4 * C**2 + hidden) + 2 * seen * C
    last = T * 2 * C**2 + queries * (2 * C**2 + hidden) + 2 * queries * (n + 1) * C
    return 2 * 3 * batch * ((L - 1) * whole + last) + 2 * 2 * batch * T * (config.d + 1) * C


def asked_often(config, queries, law, muon):
    """A closure that takes one training step on so many queries a prompt, with "no", "PyTorch's" or "our" Muon."""
    model, rng = GPT(config, rng=np.random.default_rng(0), start="fan_in"), np.random.default_rng(1)
    optimiser = Optimiser(model, Schedule(10**6, 1e-4, clip=1.0, decay=False, muon=None if muon == "no" else 1e-4))
    if muon == "PyTorch's":
        named = dict(lr=1e-4, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        optimiser.muon = torch.optim.Muon(optimiser.views.values(), **named)

    def step():
        loss = query_errors(model, law, BATCH, queries, rng).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step(0)

    return step


def many_queries():
    """A training step that answers many queries a prompt, d = 20, n = 40, batch 64; least of 3 rounds. An answered
    query is the unit that compares: the peer with x and y interleaved answers 41 a prompt, one at every x.
    PyTorch's Muon multiplies in bfloat16 on every machine; ours where there are instructions for it, and in stacks.
    """
    yield "| layers, heads, width | queries | Muon | step, ms | share of the matmul peak | µs an answer |"
    yield "|---|---|---|---|---|---|"
    peak, law = matmul_peak(), PromptLaw.isotropic(SIZE["d"], SIZE["n"], 0.0)
    for layers, heads, width in [(6, 4, 128), (12, 8, 256)]:
        config = GPTConfig(**SIZE | dict(layers=layers, heads=heads, width=width))
        for queries, muon in [(20, "no"), (20, "PyTorch's"), (20, "our"), (41, "our")]:
            took = in_turn(asked_often(config, queries, law, muon), rounds=3).min()
            share = 100 * needed(config, BATCH, queries) / peak / took
            each = 1e6 * took / BATCH / queries
            name = f"{layers}, {heads}, {width}"
            yield f"| {name} | {queries} | {muon} | {1e3 * took:.0f} | {share:.0f} % | {each:.0f} |"
        if GPT2Model is not None:
            took = in_turn(training(Peer(config, interleaved=True), BATCH, law), rounds=3).min()
            each = 1e6 * took / BATCH / (SIZE["n"] + 1)
            name = f"{layers}, {heads}, {width}: Hugging Face GPT-2, interleaved"
            yield f"| {name} | {SIZE['n'] + 1} | no | {1e3 * took:.0f} | | {each:.0f} |"


def parts():
    """Where our step's time goes, ms: least of 5."""
    config, law = GPTConfig(**SIZE), PromptLaw.isotropic(SIZE["d"], SIZE["n"], 0.0)
    model, rng = GPT(config, rng=np.random.default_rng(0)), np.random.default_rng(1)
    prompts = law.sample(rng, BATCH)
    E = torch.from_numpy(token_matrix(prompts.X, prompts.y, prompts.x_query)).float()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    yield "| part | ms |"
    yield "|---|---|"
    draw = least(lambda: law.sample(rng, BATCH))
    forward = least(lambda: model(E))
    both = least(lambda: model(E).square().mean().backward())
    for name, took in (("drawing prompts", draw), ("forward", forward), ("backward", both - forward)):
        yield f"| {name} | {1e3 * took:.1f} |"
    yield f"| Adam | {1e3 * least(optimiser.step):.1f} |"


def exact_optimum():
    """Least risk of linear attention at a mean task: the exact minimum over the sphere, and L-BFGS over all weights."""
    yield "| d | n | sphere, s | L-BFGS, s | relative difference |"
    yield "|---|---|---|---|---|"
    for d in (5, 10, 20, 40):
        law = PromptLaw.isotropic(d, 2 * d, 0.25, np.full(d, 3 / np.sqrt(d)))
        sphere = least(lambda w=law: theory.lsa_minimum(w), 2)
        rng = np.random.default_rng(0)
        found, took = once(lambda w=law, g=rng: restarts(w, 1, g, init="label_path", scale=0.02), PROCESSOR)
        difference = found.risks[0] / theory.lsa_minimum(law).risk - 1
        yield f"| {d} | {2 * d} | {sphere:.2f} | {took:.2f} | {difference:.0e} |"


if __name__ == "__main__":
    write_tables("mlp_benefit", "Speed of chapter 4", (beside_the_peer, many_queries, parts, growth, exact_optimum))
