r"""GD-β as a torch model: one preconditioned gradient step from a learned start.

    f = <beta − (1/n) Gamma X'(X beta − y), x_query>.

A linear transformer block with w1 = beta, v = −beta, c = 1, V = Gamma', u = 0 computes the same
(Zhang, Wu and Bartlett 2024, Lemma 5.1), so its exact risk is `ExactRisk` of those effective parameters:
autograd then gives the gradients and Hessians with which the closed forms are compared.
"""

import numpy as np
import torch
from torch import nn

from icl.models.effective import EffectiveParameters
from icl.validation import check_arrays


class GDBeta(nn.Module):
    """beta : (d,); Gamma : (d, d), float64 parameters. Raises InputError for other shapes or NaN."""

    def __init__(self, beta, Gamma):
        super().__init__()
        d = len(np.atleast_1d(beta))
        self.beta = nn.Parameter(torch.from_numpy(check_arrays("beta", beta, (d,))))
        self.Gamma = nn.Parameter(torch.from_numpy(check_arrays("Gamma", Gamma, (d, d))))

    def forward(self, X: torch.Tensor, y: torch.Tensor, x_query: torch.Tensor) -> torch.Tensor:
        """Predictions (B,) for X (B, n, d), y (B, n), x_query (B, d)."""
        residual = y - X @ self.beta
        step = torch.einsum("bnd,bn->bd", X, residual) @ self.Gamma.T / X.shape[1]
        return ((self.beta + step) * x_query).sum(1)

    def effective(self, n: int) -> EffectiveParameters:
        """The block's effective parameters (they do not depend on the context length n), differentiable."""
        return effective(self.beta, self.Gamma)

    def effective_arrays(self, n: int) -> dict[str, np.ndarray]:
        """`effective(n)` as arrays by name, for descents of thousands of steps."""
        return effective_arrays(self.beta.detach().numpy(), self.Gamma.detach().numpy())

    def pull_back(self, gradient: dict[str, np.ndarray], n: int) -> list[np.ndarray]:
        """From a function's derivatives by `effective(n)`, arrays by name, those by beta and Gamma."""
        return list(pull_back(gradient))


def effective(beta: torch.Tensor, Gamma: torch.Tensor) -> EffectiveParameters:
    """Lemma 5.1's effective parameters of GD-β: w1 = beta, v = −beta, c = 1, V = Gamma', u = 0; (d,), (d, d)."""
    return EffectiveParameters(beta, -beta, beta.new_ones(()), Gamma.mT, torch.zeros_like(beta))


def effective_arrays(beta: np.ndarray, Gamma: np.ndarray) -> dict[str, np.ndarray]:
    """The same as arrays by name, of beta (..., d) and Gamma (..., d, d): of many at once, by their first axes."""
    return dict(w1=beta, v=-beta, c=np.ones(beta.shape[:-1]), V=Gamma.mT, u=np.zeros_like(beta))


def pull_back(gradient: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """From a function's derivatives by `effective_arrays`, by name, those by beta (..., d) and Gamma (..., d, d)."""
    return gradient["w1"] - gradient["v"], gradient["V"].mT
