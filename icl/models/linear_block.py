r"""The linear transformer block (LTB): linear self-attention, then a linear MLP.

On the token matrix E, (d+1) × (n+1), with columns (x_i; y_i) and (x_query; 0),

    f(E) = [ W_2' W_1 ( E + W_P' W_V E M (E' W_K' W_Q E) / n ) ]_{−1,−1},   M = diag(I_n, 0)

(Zhang, Wu and Bartlett 2024, §2). Attention keeps its residual, the MLP has none of its own. With W_2' W_1 = I
it is linear self-attention; what the MLP adds is the last row r' of W_2' W_1, which reads the query itself.
"""

import numpy as np
import torch
from torch import nn

from icl.models.effective import EffectiveParameters
from icl.models.linear_attention import as_arrays, attention_path, attention_update, pull_back_attention
from icl.validation import InputError, check_count


class LinearTransformerBlock(nn.Module):
    """W_K, W_Q : (key_size, d+1); W_V, W_P : (value_size, d+1); W_1, W_2 : (width, d+1).

    Sizes default to d+1. `init` "small" draws every entry N(0, scale²); "label_path" adds to that an open path from
    the labels to the output: W_V, W_P, W_1 and W_2 read and write the label slot. `rng` is a NumPy generator; draws are
    float64, then cast. Raises InputError for bad sizes.
    """

    def __init__(
        self, d, key_size=None, value_size=None, width=None, *, rng, scale=0.1, init="small", dtype=torch.float64
    ):
        super().__init__()
        self.d = check_count("d", d)
        sizes = dict(key_size=key_size, value_size=value_size, width=width)
        key, value, width = (check_count(name, d + 1 if size is None else size) for name, size in sizes.items())
        if init not in ("small", "label_path"):
            raise InputError(f"init must be 'small' or 'label_path', not {init!r}.")

        def draw(rows):
            return nn.Parameter(torch.as_tensor(scale * rng.standard_normal((rows, d + 1))).to(dtype))

        self.W_K, self.W_Q = draw(key), draw(key)
        self.W_V, self.W_P = draw(value), draw(value)
        self.W_1, self.W_2 = draw(width), draw(width)
        if init == "label_path":
            with torch.no_grad():
                for matrix in (self.W_V, self.W_P, self.W_1, self.W_2):
                    matrix[-1, -1] += 1.0

    def forward(self, E: torch.Tensor) -> torch.Tensor:
        """Predictions (B,) for token matrices E (B, d+1, n+1): the whole block, then its corner."""
        attended = E + attention_update(self, E) / (E.shape[2] - 1)
        return (self.W_2.T @ (self.W_1 @ attended))[:, -1, -1]

    def effective(self, n: int) -> EffectiveParameters:
        """The effective parameters (they do not depend on the context length n), differentiable."""
        d = self.d
        r = self.W_2[:, -1] @ self.W_1  # last row of W_2' W_1
        left, right = attention_path(self, r)
        return EffectiveParameters(r[:d], left[:d], left[d], right[:d], right[d])

    def effective_arrays(self, n: int) -> dict[str, np.ndarray]:
        """`effective(n)` as arrays by name, for descents of thousands of steps."""
        d, arrays = self.d, as_arrays(self)
        r = arrays.W_2[:, -1] @ arrays.W_1
        left, right = attention_path(arrays, r)
        return dict(w1=r[:d], v=left[:d], c=left[d], V=right[:d], u=right[d])

    def pull_back(self, gradient: dict[str, np.ndarray], n: int) -> list[np.ndarray]:
        """From a function's derivatives by `effective(n)`, arrays by name, those by W_K, W_Q, W_V, W_P, W_1 and W_2."""
        arrays = as_arrays(self)
        W_1, W_2 = arrays.W_1, arrays.W_2
        by_attention, by_r = pull_back_attention(arrays, gradient, W_2[:, -1] @ W_1)
        by_r[: self.d] += gradient["w1"]
        by_W_2 = np.zeros_like(W_2)
        by_W_2[:, -1] = W_1 @ by_r
        return [*by_attention, W_2[:, -1, None] * by_r, by_W_2]
