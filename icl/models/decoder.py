"""The decoder of Garg et al. (2022) and Fu et al. (2024): a GPT-2 that reads x_1, y_1, x_2, y_2, … as separate tokens.

The label is a token too, (y; 0; …; 0). At every x-token the decoder predicts the label that comes next.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from icl.models.gpt import Block, check_sizes, check_start, check_unit, initialise
from icl.validation import InputError


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of a decoder, by default the published ones; raises InputError for sizes that do not fit."""

    d: int = 20
    points: int = 41  # pairs in the longest sequence; two positions each
    layers: int = 12
    heads: int = 8
    width: int = 256
    expansion: int = 4
    mlp: bool = True
    label_unit: float = 1.0  # labels are read and answered in it
    start: str = "gpt2"  # the weights before training: as GPT-2, or by "fan_in"

    def __post_init__(self):
        check_sizes(self, "d", "points", "layers", "heads", "width", "expansion")
        check_unit(self.label_unit)
        check_start(self.start)


class Decoder(nn.Module):
    """The decoder, float32. `rng`, a NumPy generator, seeds the weights, as `config.start` says."""

    def __init__(self, config: DecoderConfig, *, rng: np.random.Generator):
        super().__init__()
        self.config = config
        self.read_in = nn.Linear(config.d, config.width)
        self.position = nn.Parameter(torch.zeros(2 * config.points, config.width))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.read_out = nn.Linear(config.width, 1)
        initialise(self, config, rng, config.start)

    def forward(self, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Predictions (B, T) of y (B, T) at X (B, T, d), the t-th from the t − 1 pairs before it; T ≤ points."""
        *_, last = self._streams(X, y)
        return self.read_out(self.norm(last[:, ::2]))[..., 0] * self.config.label_unit

    def states(self, X: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        """The x-tokens' residual stream after read-in and after every layer: layers + 1 tensors (B, T, width)."""
        return [stream[:, ::2] for stream in self._streams(X, y)]

    def _streams(self, X, y):
        B, T, d = X.shape
        if d != self.config.d or T > self.config.points:
            raise InputError(
                f"this decoder reads {self.config.d} covariates and up to {self.config.points} pairs, not {d} and {T}."
            )
        labels = torch.cat([y[..., None] / self.config.label_unit, X.new_zeros(B, T, d - 1)], dim=-1)
        tokens = torch.stack([X, labels], dim=2).reshape(B, 2 * T, d)
        x = self.read_in(tokens) + self.position[: 2 * T]
        yield x
        for block in self.blocks:
            x = block(x)
            yield x
