r"""A small encoder for in-context regression: every query sees the whole context, and nothing else.

The blocks of `icl.models.gpt` (pre-LayerNorm, softmax attention, GELU MLP) without positions and without a causal
mask. The context is a set of tokens (x_i; y_i); each query is a token (x; 0). All tokens attend to the context only,
so queries do not see one another and the order of the examples does not matter. Fu et al. (2024) train a causal
decoder on interleaved tokens; in the encoder a context token can hold M_k x_i for the *whole* context, as Newton's
iterates need it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from icl.models.gpt import Block, check_sizes, initialise_by_fan_in
from icl.validation import InputError


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of an encoder; raises InputError for sizes that do not fit."""

    d: int  # covariates: a token holds d + 1 numbers
    layers: int = 8  # steps of whatever the encoder iterates
    heads: int = 4
    width: int = 32  # of the residual stream
    expansion: int = 4  # hidden units of the MLP per unit of width
    mlp: bool = True

    def __post_init__(self):
        check_sizes(self, "d", "layers", "heads", "width", "expansion")


class Encoder(nn.Module):
    """The encoder, float32. `rng`, a NumPy generator, seeds the weights: N(0, 1/(3 fan-in)), PyTorch's variance."""

    def __init__(self, config: EncoderConfig, *, rng: np.random.Generator):
        super().__init__()
        self.config = config
        self.read_in = nn.Linear(config.d + 1, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.read_out = nn.Linear(config.width, 1)
        initialise_by_fan_in(self, rng)

    def forward(self, X: torch.Tensor, y: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        """Predictions (B, Q) for contexts X (B, n, d), y (B, n) and queries (B, Q, d)."""
        *_, last = self._streams(X, y, queries)
        return self.read_out(self.norm(last[:, X.shape[1] :]))[..., 0]

    def states(self, X: torch.Tensor, y: torch.Tensor, queries: torch.Tensor) -> list[torch.Tensor]:
        """The queries' residual stream after read-in and after every layer: layers + 1 tensors (B, Q, width)."""
        return [stream[:, X.shape[1] :] for stream in self._streams(X, y, queries)]

    def _streams(self, X, y, queries):
        B, n, d = X.shape
        if d != self.config.d or queries.shape[-1] != d:
            raise InputError(f"this encoder reads {self.config.d} covariates, not {d} and {queries.shape[-1]}.")
        if n == 0:
            raise InputError("the context is empty, and the queries have nothing to attend to; give n of at least 1.")
        examples = torch.cat([X, y[..., None]], dim=-1)
        asked = torch.cat([queries, torch.zeros_like(queries[..., :1])], dim=-1)
        x = self.read_in(torch.cat([examples, asked], dim=1))  # (B, n + Q, C)
        yield x
        for block in self.blocks:
            x = block(x, context=n)
            yield x
