r"""Single-head linear self-attention (LSA) with the papers' weight matrices.

On the token matrix E, (d+1) × (n+1), with columns (x_i; y_i) and (x_query; 0),

    f(E) = [ E + W_P' W_V E M (E' W_K' W_Q E) s ]_{−1,−1},   M = diag(I_n, 0),

with s = 1/n (Zhang, Wu and Bartlett 2024, §2) or s = 1 (Mahankali et al. 2024, §2). The residual adds
nothing: the query's label slot is 0.
"""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from icl.models.effective import EffectiveParameters
from icl.validation import InputError, check_count


class LinearSelfAttention(nn.Module):
    """One layer of linear self-attention, its four matrices the weights.

    W_K, W_Q : (key_size, d+1); W_V, W_P : (value_size, d+1).

    `d` ≥ 1 covariates; `key_size` and `value_size` default to d+1. `normalised` divides by n.
    `init` "small" draws every entry N(0, scale²); "label_path" adds to that an open path from the labels
    to the output (W_V and W_P read and write the label slot), from which large d does not stall at
    the saddle at 0. `rng` is a NumPy generator; draws are float64, then cast. Raises InputError for bad sizes.
    """

    def __init__(
        self, d, key_size=None, value_size=None, *, rng, scale=0.1, init="small", normalised=True, dtype=torch.float64
    ):
        super().__init__()
        self.d = check_count("d", d)
        key_size = check_count("key_size", d + 1 if key_size is None else key_size)
        value_size = check_count("value_size", d + 1 if value_size is None else value_size)
        if init not in ("small", "label_path"):
            raise InputError(f"init must be 'small' or 'label_path', not {init!r}.")
        self.normalised = normalised

        def draw(rows):
            return nn.Parameter(torch.as_tensor(scale * rng.standard_normal((rows, d + 1))).to(dtype))

        self.W_K, self.W_Q = draw(key_size), draw(key_size)
        self.W_V, self.W_P = draw(value_size), draw(value_size)
        if init == "label_path":
            with torch.no_grad():
                self.W_V[-1, -1] += 1.0
                self.W_P[-1, -1] += 1.0

    @torch.no_grad()
    def magnify(self, labels: float, answers: float) -> None:
        """From now on answer `answers` times as much where labels are `labels` ≠ 0 times as large; in place."""
        for matrix in (self.W_K, self.W_Q, self.W_V):
            matrix[:, -1] /= labels
        self.W_P[:, -1] *= answers

    def forward(self, E: torch.Tensor) -> torch.Tensor:
        """Predictions (B,) for token matrices E (B, d+1, n+1): the whole attention layer, then its corner."""
        update = attention_update(self, E)
        n = E.shape[2] - 1
        out = E + (update / n if self.normalised else update)
        return out[:, -1, -1]

    def effective(self, n: int) -> EffectiveParameters:
        """The effective parameters in the 1/n convention for context length n, differentiable."""
        left, right = attention_path(self, torch.from_numpy(self._reader(n)).to(self.W_P))
        d = self.d
        return EffectiveParameters(torch.zeros_like(left[:d]), left[:d], left[d], right[:d], right[d])

    def effective_arrays(self, n: int) -> dict[str, np.ndarray]:
        """`effective(n)` as arrays by name, for descents of thousands of steps."""
        d = self.d
        left, right = attention_path(as_arrays(self), self._reader(n))
        return dict(w1=np.zeros(d), v=left[:d], c=left[d], V=right[:d], u=right[d])

    def pull_back(self, gradient: dict[str, np.ndarray], n: int) -> list[np.ndarray]:
        """From a function's derivatives by `effective(n)`, arrays by name, those by W_K, W_Q, W_V and W_P."""
        return pull_back_attention(as_arrays(self), gradient, self._reader(n))[0]

    def _reader(self, n: int) -> np.ndarray:
        """What reads the prediction off the update: the label slot, times n where the model does not divide by it."""
        r = np.zeros(self.d + 1)
        r[-1] = 1.0 if self.normalised else n
        return r


def as_arrays(model: nn.Module) -> SimpleNamespace:
    """A model's d and its matrices as arrays, which share memory: small ones take torch ten times as long."""
    return SimpleNamespace(d=model.d, **{name: part.detach().numpy() for name, part in model.named_parameters()})


def attention_path(model, r):
    """What a reader r (d+1,) of the update gets to see, of a model with these four matrices; differentiable.

    Returns r' W_P' W_V = (v', c), (d+1,), and the first d columns of W_K' W_Q, (V; u'), (d+1, d); arrays `as_arrays`.
    """
    return (model.W_P @ r) @ model.W_V, model.W_K.T @ model.W_Q[:, : model.d]


def pull_back_attention(
    model: SimpleNamespace, gradient: dict[str, np.ndarray], r: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """From derivatives by v (d,), c (), V (d, d) and u (d,): those by W_K, W_Q, W_V, W_P, and the one by r (d+1,)."""
    d, W_K, W_Q, W_V, W_P = model.d, model.W_K, model.W_Q, model.W_V, model.W_P
    left = np.concatenate([gradient["v"], gradient["c"][None]])
    right = np.concatenate([gradient["V"], gradient["u"][None]])
    by_W_Q, by_value = np.zeros_like(W_Q), W_V @ left  # by_value: by W_P r
    by_W_Q[:, :d] = W_K @ right
    by_matrices = [W_Q[:, :d] @ right.T, by_W_Q, (W_P @ r)[:, None] * left, by_value[:, None] * r]
    return by_matrices, by_value @ W_P


def attention_update(model: nn.Module, E: torch.Tensor) -> torch.Tensor:
    """W_P' W_V E M (E' W_K' W_Q E), (B, d+1, n+1), of a model with these four matrices, without the factor 1/n.

    Zhang, Wu and Bartlett (2024), §2. Raises InputError for token matrices that do not have d + 1 rows.
    """
    B, rows, columns = E.shape
    if rows != model.d + 1:
        raise InputError(f"E must have d + 1 = {model.d + 1} rows, not {rows}.")
    context = E[:, :, : columns - 1]  # E M: the mask removes the query from the keys and values
    seen = (model.W_V @ context) @ (model.W_K @ context).mT  # the n × (n + 1) scores are never built
    return model.W_P.T @ seen @ (model.W_Q @ E)
