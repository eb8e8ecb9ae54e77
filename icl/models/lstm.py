"""An LSTM for in-context regression: one pass over the examples, a fixed memory, a prediction at every position.

The recurrent model that Fu et al. (2024) set beside the transformer. At step t it reads (x_t; y_{t−1}), so it has seen
t examples less one when it answers x_t; the first label it is shown is 0.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from icl.validation import InputError, check_count

_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # as nn.LSTM names a layer's parameters


@dataclass(frozen=True)
class LSTMConfig:
    """Sizes of an LSTM; raises InputError for sizes below 1."""

    d: int  # covariates: a token holds d + 1 numbers
    layers: int = 2
    width: int = 90  # with two layers as many parameters as the encoder of width 32

    def __post_init__(self):
        for name in ("d", "layers", "width"):
            check_count(name, getattr(self, name))


class LSTM(nn.Module):
    """The LSTM, float32. `rng`, a NumPy generator, seeds the initial weights: N(0, 1/(3 width)), PyTorch's variance."""

    def __init__(self, config: LSTMConfig, *, rng: np.random.Generator):
        super().__init__()
        self.config = config
        self.cells = nn.LSTM(config.d + 1, config.width, config.layers, batch_first=True)
        self.read_out = nn.Linear(config.width, 1)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.from_numpy(rng.standard_normal(parameter.shape) / math.sqrt(3 * config.width)))

    def forward(self, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Predictions (B, T) of y (B, T) at X (B, T, d), the t-th from the t − 1 pairs before it.

        Raises InputError when X has not the d covariates of the configuration.
        """
        hidden, _ = self.cells(self._tokens(X, y))  # (B, T, width)
        return self.read_out(hidden)[..., 0]

    def states(self, X: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        """The hidden states of every layer, from the first to the last: `layers` tensors (B, T, width)."""
        found, hidden = [], self._tokens(X, y)
        for k in range(self.config.layers):
            weights = {f"{part}_l0": getattr(self.cells, f"{part}_l{k}") for part in _PARTS}
            layer = nn.LSTM(hidden.shape[-1], self.config.width, batch_first=True)
            hidden, _ = torch.func.functional_call(layer, weights, (hidden,))
            found.append(hidden)
        return found

    def _tokens(self, X, y):
        if X.shape[-1] != self.config.d:
            raise InputError(f"this LSTM reads {self.config.d} covariates, not {X.shape[-1]}.")
        before = torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)
        return torch.cat([X, before[..., None]], dim=-1)
