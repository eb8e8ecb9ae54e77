r"""Linear attention with K heads and no MLP, in effective parameters, and its exact population risk.

The heads' outputs add up, so the error of the implied estimate has the even and odd parts of `exact_risk` with

    Gamma = Σ_k (c_k V_k'' + u_k v_k''),    mu = Σ_k c_k u_k,    even part  Σ_k V_k'' Ŝ v_k' + mu s_r − beta_star

(the second ' means transpose, the first adds beta_star as in `exact_risk`). This book.
"""

import numpy as np
import torch
from torch import nn

from icl.models.risk_gradient import RiskGradient
from icl.validation import InputError, check_count


class MultiHeadAttention(nn.Module):
    """Heads k = 1 … K with v, u : (K, d), c : (K,), V : (K, d, d), float64, entries N(0, scale²) from `rng`.

    `init` "label_path" adds 1 to c, an open path from the labels to the output. Raises InputError for another name.
    """

    def __init__(self, d: int, heads: int, *, rng, scale: float = 0.3, init: str = "small"):
        super().__init__()
        d, heads = check_count("d", d), check_count("heads", heads)
        draw = lambda *shape: nn.Parameter(torch.from_numpy(scale * rng.standard_normal((heads, *shape))))
        self.v, self.c, self.V, self.u = draw(d), draw(), draw(d, d), draw(d)
        if init not in ("small", "label_path"):
            raise InputError(f"init must be 'small' or 'label_path', not {init!r}.")
        if init == "label_path":
            with torch.no_grad():
                self.c += 1.0


class MultiHeadGradient(RiskGradient):
    """`RiskGradient` of a `MultiHeadAttention`: E (f − y_query)² with its derivatives, for descents; no w1."""

    def of_model(self, model: MultiHeadAttention) -> tuple[float, list[np.ndarray]]:
        """Value above `constant`, and its derivatives in the shapes of the model's parameters."""
        parts = {name: part.detach().numpy() for name, part in model.named_parameters()}
        value, gradient = self.of_parts(np.zeros(self.law.d), **parts)
        return float(value), [gradient[name] for name in parts]

    def _above_constant(self, w1, v, c, V, u) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        n, H, b, K = self._n, self._H, self.law.beta_star, len(c)
        by_w1 = np.zeros_like(w1)  # nothing but the heads answers
        v, V, mu = v + np.outer(c, b), V + b[:, None] * u[:, None, :], c @ u

        # the odd part, |Gamma X'r/n − theta|²
        Gamma = (c[:, None, None] * V.mT + u[:, :, None] * v[:, None, :]).sum(0)
        HG = H @ Gamma @ self._covariance
        odd = (Gamma * (HG - 2 * self._HPsiH)).sum()
        by_Gamma = 2 * (HG - self._HPsiH)

        # the even part, |Σ V_k' Ŝ v_k + mu s_r − b|², through W_kl = V_k' H v_l
        h, r, HV = v @ H, v @ self._weighted, H @ V
        HVH, W = HV @ H, h @ V
        HW, y, z = W @ H, np.einsum("kki->i", W), np.einsum("kai,ka->i", V, r)
        sizes, spreads = v @ h.T, V.reshape(K, -1) @ HVH.reshape(K, -1).T
        Hy, Hz, Hmu, Hb = (part @ H for part in (y, z, mu, b))
        square = y @ Hy + ((W * HW.swapaxes(0, 1)).sum() + (sizes * spreads).sum()) / n
        even = square + mu @ (2 * Hz + self._residual_square * Hmu) - 2 * Hb @ (y + self._tau * mu) + b @ Hb
        by_y, by_z = 2 * (Hy - Hb), 2 * Hmu
        by_mu = 2 * (Hz + self._residual_square * Hmu - self._tau * Hb)

        crossed = h.T @ HW.swapaxes(0, 1) + np.tensordot(sizes, HVH, 1)
        by_V = h[:, :, None] * by_y + r[:, :, None] * by_z + 2 / n * crossed + c[:, None, None] * by_Gamma.T
        by_v = HV @ by_y + (V @ by_z) @ self._weighted + u @ by_Gamma
        by_v += 2 / n * (np.einsum("lai,kli->ka", HV, HW) + spreads @ h)
        by_c = np.einsum("ij,kji->k", by_Gamma, V) + u @ by_mu + by_v @ b
        by_u = v @ by_Gamma.T + np.outer(c, by_mu) + b @ by_V
        return odd + even, dict(w1=by_w1, v=by_v, c=by_c, V=by_V, u=by_u)
