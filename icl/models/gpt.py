r"""A compact GPT-2 for in-context regression, with an MLP that can be switched off.

The decoder of Radford et al. (2019): token embedding plus learned positions, blocks of causal softmax attention
and, if switched on, a GELU MLP, each behind a LayerNorm and added to the residual stream; a last LayerNorm
and a linear read-out. It reads the (d+1) × (n+1) token matrix of Zhang, Wu and Bartlett (2024) column by column: one
token (x_i; y_i) per example, then (x_query; 0), and answers at the query. Trained, it answers many queries a prompt at
once, each as if it were alone. Read it top to bottom.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from icl.validation import InputError, check_count


def check_sizes(config, *names: str) -> None:
    """Raise InputError unless each named size of a transformer is a count and its heads divide its width."""
    for name in names:
        check_count(name, getattr(config, name))
    if config.width % config.heads:
        raise InputError(f"width = {config.width} must be a multiple of heads = {config.heads}; change one of them.")


def check_unit(label_unit: float) -> None:
    """Raise InputError unless it is a positive number."""
    if not (math.isfinite(label_unit) and label_unit > 0):
        raise InputError(f"label_unit must be a positive number, not {label_unit!r}.")


def check_start(start: str) -> None:
    """Raise InputError unless it names first weights: of `initialise`, or of `initialise_by_fan_in`."""
    if start not in ("gpt2", "fan_in"):
        raise InputError(f'start must be "gpt2" or "fan_in", not {start!r}.')


@dataclass(frozen=True)
class GPTConfig:
    """Sizes of a GPT; every field has a reason. Raises InputError for sizes that do not fit."""

    d: int  # covariates: a token holds d + 1 numbers
    n: int  # examples: positions 0 … n−1, the query is position n
    layers: int = 2  # one may compare tokens, two may iterate on the result
    heads: int = 2  # several comparisons in each layer
    width: int = 32  # of the residual stream; room for x, y and working memory
    mlp: bool = True  # the switch that Table 1 is about
    expansion: int = 4  # hidden units of the MLP per unit of width: GPT-2's choice
    label_unit: float = 1.0  # labels are read and answered in it: of size 45 they would drown x in their own token

    def __post_init__(self):
        check_sizes(self, "d", "n", "layers", "heads", "width", "expansion")
        check_unit(self.label_unit)


class Attention(nn.Module):
    """Softmax attention with `heads` heads: causal, of every token to the first `context` tokens, or as masked."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x, *, context: int | None = None, last_only: bool = False, mask: torch.Tensor | None = None):
        """(B, T, C) → (B, T, C), or (B, 1, C), the last token's row of it, if `last_only`; causal without `context`.

        A `mask` (R, T) of 0 and −∞ is added to the logits of the last R tokens; only their rows are returned.
        """
        B, _, C = x.shape
        asking, seen = x[:, -_rows(x, last_only, mask) :], x[:, :context]
        weights, biases = self.qkv.weight.split([C, 2 * C]), self.qkv.bias.split([C, 2 * C])
        # cast before they are split into heads: whole rows take a third of the time
        q = F.linear(asking, weights[0], biases[0]).to(x.dtype).view(B, -1, self.heads, C // self.heads).transpose(1, 2)
        kv = F.linear(seen, weights[1], biases[1]).to(x.dtype).view(B, -1, 2, self.heads, C // self.heads)
        k, v = kv.permute(2, 0, 3, 1, 4)  # each (B, nh, T, hs)
        causal = context is None and mask is None and not last_only  # the last token sees all of them
        with torch.autocast(x.device.type, enabled=False):  # on a CPU its bfloat16 takes six times as long
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(B, -1, C))


def _rows(x: torch.Tensor, last_only: bool, mask: torch.Tensor | None) -> int:
    if mask is not None:
        return len(mask)
    return 1 if last_only else x.shape[1]


class Block(nn.Module):
    """x + attention(norm x), then x + MLP(norm x) if the MLP is switched on.

    `gelu` is "tanh", the approximation with which GPT-2 was trained, or "none", GELU itself.
    """

    def __init__(self, config: GPTConfig, *, gelu: str = "tanh"):
        super().__init__()
        C, hidden = config.width, config.expansion * config.width
        self.norm_1, self.attention = nn.LayerNorm(C), Attention(config)
        self.mlp = None
        if config.mlp:
            self.norm_2 = nn.LayerNorm(C)
            self.mlp = nn.Sequential(nn.Linear(C, hidden), nn.GELU(gelu), nn.Linear(hidden, C))

    def forward(self, x, *, context: int | None = None, last_only: bool = False, mask: torch.Tensor | None = None):
        """(B, T, C) → (B, T, C), or the rows of the last tokens, if `last_only` or with a `mask`: as Attention."""
        attended = self.attention(self.norm_1(x), context=context, last_only=last_only, mask=mask)
        x = x[:, -_rows(x, last_only, mask) :] + attended
        return x if self.mlp is None else x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    """The decoder, float32. `rng`, a NumPy generator, seeds the weights: as GPT-2, or by `start="fan_in"`."""

    def __init__(self, config: GPTConfig, *, rng: np.random.Generator, start: str = "gpt2"):
        super().__init__()
        self.config = config
        self.read_in = nn.Linear(config.d + 1, config.width)
        self.position = nn.Parameter(torch.zeros(config.n + 1, config.width))
        # Not GPT-2's tanh: at most 5e-4 apart, and a training step on a CPU is a tenth shorter.
        self.blocks = nn.ModuleList(Block(config, gelu="none") for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.read_out = nn.Linear(config.width, 1)
        initialise(self, config, rng, start)

    def forward(self, E: torch.Tensor) -> torch.Tensor:
        """Predictions (B,) for token matrices E (B, d+1, n+1), float32; InputError for another shape."""
        B, rows, columns = E.shape
        if (rows, columns) != (self.config.d + 1, self.config.n + 1):
            expected = (self.config.d + 1, self.config.n + 1)
            raise InputError(f"E must have d + 1 rows and n + 1 columns, {expected}, not {(rows, columns)}.")
        unit = self.config.label_unit
        tokens = E.mT if unit == 1 else E.mT / E.new_tensor([1.0] * self.config.d + [unit])
        x = self.read_in(tokens) + self.position  # (B, T, C), T = n + 1: column t is token t
        for block in self.blocks[:-1]:
            x = block(x)
        x = self.blocks[-1](x, last_only=True)  # nobody reads the others: a sixth of the work at six layers
        return self.read_out(self.norm(x[:, -1]))[:, 0] * unit

    def answers(
        self, X: torch.Tensor, y: torch.Tensor, queries: torch.Tensor, after: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Predictions (B, Q) at `queries` (B, Q, d), each as if it were the only one, for X (B, n, d) and y (B, n).

        The q-th query stands after the first `after[q]` examples, (Q,) of 0 … n, by default after all n: it has that
        position, sees these examples and itself, and no other query. The examples are computed once. Raises InputError
        for other shapes and for n above the configuration's.
        """
        *_, last = self._streams(X, y, queries, after)
        return self.read_out(self.norm(last))[..., 0] * self.config.label_unit

    def streams(self, X, y, queries, after=None) -> list[torch.Tensor]:
        """The queries' residual stream after read-in and after every block: layers + 1 tensors (B, Q, C)."""
        return [stream[:, -queries.shape[1] :] for stream in self._streams(X, y, queries, after)]

    def _streams(self, X, y, queries, after):
        _, n, d = X.shape
        Q = queries.shape[1]
        if d != self.config.d or n > self.config.n or queries.shape[-1] != d:
            raise InputError(
                f"this GPT reads {self.config.d} covariates and up to {self.config.n} examples, not {d} and {n}."
            )
        if after is None:
            after = torch.full((Q,), n, device=X.device)
        elif after.shape != (Q,) or after.min() < 0 or after.max() > n:
            raise InputError(f"`after` must hold, for each of the {Q} queries, a number of examples from 0 to {n}.")
        examples = torch.cat([X, y[..., None] / self.config.label_unit], dim=-1)
        asked = torch.cat([queries, torch.zeros_like(queries[..., :1])], dim=-1)
        places = torch.cat([torch.arange(n, device=after.device), after]).to(X.device)
        x = self.read_in(torch.cat([examples, asked], dim=1)) + self.position[places]  # (B, n + Q, C)
        yield x
        mask = query_mask(n, after).to(X)
        for block in self.blocks[:-1]:
            x = block(x, mask=mask)
            yield x
        yield self.blocks[-1](x, mask=mask[n:])  # the queries' rows alone


def query_mask(n: int, after: torch.Tensor) -> torch.Tensor:
    """Who sees whom, (n + Q, n + Q), 0 for yes and −∞ for no: n examples, causal, then Q queries after some of them.

    A query sees itself and the first `after` (Q,) examples; nobody sees a query but itself.
    """
    device = after.device
    first = torch.cat([torch.arange(1, n + 1, device=device), after])  # how many examples each token sees
    sees = torch.arange(n + len(after), device=device) < first[:, None]
    sees |= torch.eye(n + len(after), dtype=torch.bool, device=device)  # none of the first is a query: its own alone
    return torch.zeros(sees.shape, device=device).masked_fill(~sees, -torch.inf)


def initialise_by_fan_in(model: nn.Module, rng: np.random.Generator) -> None:
    """First weights of every nn.Linear of a model with a `read_in`, in place: N(0, 1/(3 fan-in)), PyTorch's variance.

    `read_in` gets N(0, 1/fan-in), for tokens are numbers and keep their size; biases are 0. At width 128 this is .05,
    not GPT-2's .02, with which attention's logits start too small to tell one example from another.
    """
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear):
                scale = 1 / math.sqrt((1 if module is model.read_in else 3) * module.in_features)
                module.weight.copy_(torch.from_numpy(scale * rng.standard_normal(module.weight.shape)))
                module.bias.zero_()


def initialise(model: nn.Module, config, rng: np.random.Generator, start: str) -> None:
    """First weights of a decoder with `read_in` and `blocks`, in place: N(0, 0.02²), as GPT-2; Radford et al. (2019).

    Smaller on the residual branches, by the root of their number; biases are 0, LayerNorms 1 and 0. `config` has
    layers and mlp. With `start` "fan_in", not "gpt2", `initialise_by_fan_in` then draws the matrices anew.
    """
    check_start(start)
    residual = 1 / math.sqrt((2 if config.mlp else 1) * config.layers)  # so that the stream's size starts the same
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                continue  # LayerNorm starts as 1 and 0
            if name.endswith("bias"):
                parameter.zero_()
                continue
            scale = 0.02 * (residual if name.endswith(("out.weight", "mlp.2.weight")) else 1.0)
            if name == "read_in.weight":
                scale = 1 / math.sqrt(parameter.shape[1])  # tokens are numbers, not words: keep their size
            parameter.copy_(torch.from_numpy(scale * rng.standard_normal(parameter.shape)))
    if start == "fan_in":
        initialise_by_fan_in(model, rng)
