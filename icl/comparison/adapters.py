"""Adapters: a prompt laid out as the tokens that a network reads, each in a few lines. Torch.

The networks are whatever maps a sequence of tokens to a sequence of states, (P, positions, …) → (P, positions, C). All
adapters give a model that `icl.compare` takes; with a causal network each answers at every pair.
"""

from collections.abc import Callable

import torch

from icl.comparison.models import Model, every_prefix, single_query


def interleaved(network: Callable, read_in: Callable, read_out: Callable, name: str | None = None) -> Model:
    """x_1, (y_1; 0), x_2, (y_2; 0), …: the layout of Garg et al. (2022) and Fu et al. (2024), read at the x-tokens.

    read_in (…, d) → (…, C), network (P, 2T, C) → (P, 2T, C), read_out (…, C) → (…, 1). For a decoder of Hugging
    Face's: `network = lambda tokens: gpt2(inputs_embeds=tokens).last_hidden_state`.
    """

    def states(X, y):
        labels = torch.cat([y[..., None], torch.zeros_like(X[..., 1:])], -1)
        tokens = torch.stack([X, labels], 2).flatten(1, 2)  # (P, 2T, d)
        return network(read_in(tokens))[:, ::2]

    return every_prefix(_Reader(states, read_out, network, read_in), name or "interleaved")


def pairs(network: Callable, read_in: Callable, read_out: Callable, name: str | None = None) -> Model:
    """(x_1; y_1), …, (x_n; y_n), (x; 0), read at the last token: von Oswald et al. (2023), Zhang et al. (2024).

    read_in (…, d + 1) → (…, C), network (P, n + 1, C) → (P, n + 1, C), read_out (…, C) → (…, 1).
    """

    def states(X, y, x_query):
        asked = torch.cat([x_query, torch.zeros_like(x_query[:, :1])], -1)
        tokens = torch.cat([torch.cat([X, y[..., None]], -1), asked[:, None]], 1)  # (P, n + 1, d + 1)
        return network(read_in(tokens))[:, -1]

    return single_query(_Reader(states, read_out, network, read_in), name or "pairs")


def recurrent(network: Callable, read_out: Callable, name: str | None = None) -> Model:
    """(x_1; 0), (x_2; y_1), (x_3; y_2), …, read at every token: as Fu et al. (2024) feed their LSTM.

    network (P, T, d + 1) → (P, T, C) or a tuple that begins so, as torch.nn.LSTM's does; read_out (…, C) → (…, 1).
    """

    def states(X, y):
        before = torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], 1)
        found = network(torch.cat([X, before[..., None]], -1))
        return found[0] if isinstance(found, tuple) else found

    return every_prefix(_Reader(states, read_out, network), name or "recurrent")


def columns(model: Callable, name: str | None = None) -> Model:
    """Of model(E) → (P,): E (P, d + 1, n + 1) has the columns (x_i; y_i) and (x_query; 0), as Zhang et al. (2024)."""

    def states(X, y, x_query):
        asked = torch.cat([x_query, torch.zeros_like(x_query[:, :1])], -1)
        return model(torch.cat([torch.cat([X, y[..., None]], -1), asked[:, None]], 1).mT)[:, None]

    return single_query(_Reader(states, lambda answer: answer, model), name or type(model).__name__)


class _Reader(torch.nn.Module):
    """Reads answers off states; a module, so that its parts' numbers decide the type of the tensors they get."""

    def __init__(self, states: Callable, read_out: Callable, *parts):
        super().__init__()
        self._states, self._read_out = states, read_out
        self.parts = torch.nn.ModuleList(part for part in (*parts, read_out) if isinstance(part, torch.nn.Module))

    def forward(self, *prompt):
        return self._read_out(self._states(*prompt))[..., 0]
