r"""A linear transformer block that is GD-β: Zhang, Wu and Bartlett (2024), Lemma 5.1.

    W_2'W_1 = ( *      * )     W_P'W_V = (   0    0 )     W_K'W_Q = ( Gamma'  * )
              ( beta'  1 ),              ( −beta' 1 ),              (   0     * ).

Values are the residuals y_i − beta'x_i, keys and queries see only x through Gamma, and the MLP adds beta'x_query. The
layout of the free entries (*) in print could not be restored; here they are whatever is passed in.
"""

import numpy as np
import torch

from icl.models.linear_block import LinearTransformerBlock
from icl.validation import check_arrays


def gd_beta_block(beta, Gamma, *, free_query=None, free_row=None) -> LinearTransformerBlock:
    """The block, float64, with key size d, value size 1 and MLP width 2.

    beta (d,); Gamma (d, d). `free_query` (d,), the last column of W_Q, and `free_row` (d+1,), a second hidden unit
    of the MLP that writes to the first slot, reach nothing that is read; both default to 0. Raises InputError for bad
    shapes.
    """
    d = len(np.atleast_1d(beta))
    beta, Gamma = check_arrays("beta", beta, (d,)), check_arrays("Gamma", Gamma, (d, d))
    free_query = check_arrays("free_query", np.zeros(d) if free_query is None else free_query, (d,))
    free_row = check_arrays("free_row", np.zeros(d + 1) if free_row is None else free_row, (d + 1,))
    corner = np.eye(d + 1)[d]  # the label slot
    weights = {
        "W_K": np.eye(d, d + 1),
        "W_Q": np.column_stack([Gamma.T, free_query]),
        "W_V": np.r_[-beta, 1.0][None],
        "W_P": corner[None],
        "W_1": np.stack([np.r_[beta, 1.0], free_row]),
        "W_2": np.stack([corner, np.eye(d + 1)[0]]),
    }
    block = LinearTransformerBlock(d, key_size=d, value_size=1, width=2, rng=np.random.default_rng(0))
    with torch.no_grad():
        for name, matrix in weights.items():
            getattr(block, name).copy_(torch.from_numpy(matrix))
    return block
