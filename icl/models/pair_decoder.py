"""The decoder of `icl.models.gpt` on sequences: one token a pair (x_i; y_i), and a query at every position.

Garg et al. (2022) and Fu et al. (2024) give x and y tokens of their own, and each x-token is both an example to come
and a question. Here the t-th question (x_t; 0) stands after the t − 1 pairs before it and is seen by nobody.
"""

from dataclasses import dataclass

import torch

from icl.models.gpt import GPT, GPTConfig


@dataclass(frozen=True)
class PairDecoderConfig(GPTConfig):
    """Sizes of a decoder of pairs, by default the published ones; n is the largest number of pairs before a query."""

    d: int = 20
    n: int = 40
    layers: int = 12
    heads: int = 8
    width: int = 256


class PairDecoder(GPT):
    """The decoder, float32, started by fan-in from the NumPy generator `rng`."""

    def __init__(self, config: PairDecoderConfig, *, rng):
        super().__init__(config, rng=rng, start="fan_in")

    def forward(self, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Predictions (B, T) of y (B, T) at X (B, T, d), the t-th from the t − 1 pairs before it; T ≤ n + 1."""
        return self.answers(X[:, :-1], y[:, :-1], X, torch.arange(X.shape[1]))

    def states(self, X: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        """The questions' residual stream after read-in and after every layer: layers + 1 tensors (B, T, width)."""
        return self.streams(X[:, :-1], y[:, :-1], X, torch.arange(X.shape[1]))
