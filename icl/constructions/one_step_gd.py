r"""Linear self-attention that is one step of gradient descent: the minimiser of Theorem 1.

Mahankali et al. (2024), Theorem 1, choose W_V = diag(0, eta), W_K = W_Q = diag(I, 0): keys and queries see
only x, values only y, so attention returns Σ_i eta y_i x_i' x_query. The construction goes back to
von Oswald et al. (2023), Proposition 1.
"""

import numpy as np
import torch

from icl.models.linear_attention import LinearSelfAttention
from icl.validation import check_count


def one_step_gd(d: int, eta: float) -> LinearSelfAttention:
    """LSA, float64, without the factor 1/n, equal to one GD step of size `eta` on ½ Σ (w'x_i − y_i)².

    d ≥ 1, else InputError. The forward pass takes token matrices (B, d+1, n+1) for any n.
    """
    d = check_count("d", d)
    model = LinearSelfAttention(d, rng=np.random.default_rng(0), normalised=False)
    select_x = torch.diag(torch.cat([torch.ones(d, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)]))
    select_y = torch.eye(d + 1, dtype=torch.float64) - select_x
    with torch.no_grad():
        model.W_K.copy_(select_x)
        model.W_Q.copy_(select_x)
        model.W_V.copy_(eta * select_y)  # W_V = diag(0, eta), Theorem 1
        model.W_P.copy_(select_y)  # read the answer off the label slot
    return model
