"""The risk of attention with several heads by autograd: the reference of the gradient that is written out."""

import torch

from icl.models.exact_risk import ExactRisk
from icl.models.multi_head import MultiHeadAttention


class MultiHeadRisk(ExactRisk):
    """E (f − y_query)², label noise included, of a `MultiHeadAttention` for the same d; a float64 scalar tensor."""

    def __call__(self, model: MultiHeadAttention, unit: float = 1.0) -> torch.Tensor:
        """The risk of `unit` times what the model predicts."""
        c = unit * model.c
        v = unit * model.v + c[:, None] * self.beta_star
        V = model.V + self.beta_star[:, None] * model.u[:, None, :]
        Gamma = (c[:, None, None] * V.mT + model.u[:, :, None] * v[:, None, :]).sum(0)
        return self.law.sigma2 + self._odd(Gamma) + self._even_heads(v, V, c @ model.u)

    def _even_heads(self, v, V, mu):
        H, n, b = self.H, self.law.n, self.beta_star
        Hv = v @ H
        pairs = Hv[:, None, :, None] * Hv[None, :, None, :]  # (K, K, d, d): H v_k v_l' H
        second_moment = pairs + (pairs.mT + (v @ Hv.T)[:, :, None, None] * H) / n  # E Ŝ v_k v_l' Ŝ
        mean = torch.einsum("kai,ka->i", V, Hv)  # Σ V_k' H v_k
        weighted = torch.einsum("kai,ab,kb->i", V, self.residual_weighted, v)
        return (
            torch.einsum("kai,klab,lbj,ij->", V, second_moment, V, H)
            + 2 * mu @ H @ weighted
            + self.residual_square * (mu @ H @ mu)
            - 2 * b @ H @ (mean + self.tau * mu)
            + b @ H @ b
        )
