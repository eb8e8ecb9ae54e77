r"""One layer of softmax attention with K heads whose scores are made of covariates, and its risk given them.

Head k weighs the tokens h_i = (x_i; y_i), i ≤ n, by p_i = softmax_i(x_i' M_k x) and reads v_k'x_i + c_k y_i off them;
the heads' answers add up. M_k is the block of W_K' W_Q that meets covariates on both sides, (v_k; c_k) the row of
W_P' W_V that reaches the label slot; the query is masked out. He, Pan, Chen and Yang (2025) train all of W_K' W_Q.
"""

import torch
from torch import nn

from icl.validation import check_count


class SoftmaxHeads(nn.Module):
    """`M` (K, d, d), `v` (K, d) with entries N(0, scale²) from `rng`, and `c` (K,), ±1 by turns at the start.

    Raises InputError for sizes below 1.
    """

    def __init__(self, d: int, heads: int, *, rng, scale: float = 0.1, dtype=torch.float64):
        super().__init__()
        d, heads = check_count("d", d), check_count("heads", heads)
        draw = lambda *shape: nn.Parameter(torch.as_tensor(scale * rng.standard_normal(shape)).to(dtype))
        self.M, self.v = draw(heads, d, d), draw(heads, d)
        self.c = nn.Parameter(torch.tensor([1.0, -1.0], dtype=dtype).repeat(heads)[:heads])

    def weights(self, X: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Every head's attention, (B, n, K), for X (B, n, d) and queries x (B, d)."""
        return torch.softmax(X @ torch.einsum("kij,bj->bik", self.M, x), dim=1)

    def forward(self, X: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Answers (B,) for X (B, n, d), y (B, n) and queries x (B, d)."""
        values = X @ self.v.T + y[..., None] * self.c  # (B, n, K)
        return (self.weights(X, x) * values).sum((1, 2))

    def risk(self, X: torch.Tensor, x: torch.Tensor, sigma2: float) -> torch.Tensor:
        """E (answer − y_query)² over task and noise, given X and x: (B,), for isotropic tasks. This book.

        With a = Σ c_k p^(k) the error is w'(X'a − x) + ε'a − ε + Σ_ik p_i^(k) v_k'x_i, the last without sign.
        """
        p = self.weights(X, x)
        a = p @ self.c
        off = (a[..., None] * X).sum(1) - x
        aside = (p * (X @ self.v.T)).sum((1, 2))
        return sigma2 + (off**2).sum(1) + sigma2 * (a**2).sum(1) + aside**2
