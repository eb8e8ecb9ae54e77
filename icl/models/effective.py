r"""Effective parameters: the few numbers through which linear attention's weights reach its output.

Every single-head linear transformer of this book predicts, with z_i = (x_i; y_i) and G = Σ_i z_i z_i',

    f = w1' x_query + (1/n) (v', c) G (V; u') x_query,

whatever its key, value and hidden sizes. Linear self-attention has w1 = 0. The factor 1/n is the
convention of Zhang, Wu and Bartlett (2024); Mahankali et al. (2024) leave it out.
"""

from dataclasses import dataclass

import numpy as np
import torch

from icl.validation import InputError


@dataclass(frozen=True)
class EffectiveParameters:
    """w1, v, u : (d,); c : (); V : (d, d), torch tensors of one dtype, in the 1/n convention."""

    w1: torch.Tensor
    v: torch.Tensor
    c: torch.Tensor
    V: torch.Tensor
    u: torch.Tensor

    def __post_init__(self):
        (d,) = self.v.shape
        expected = dict(w1=(d,), v=(d,), c=(), V=(d, d), u=(d,))
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"{name} must have shape {shape}, not {tuple(getattr(self, name).shape)}.")

    @classmethod
    def from_numpy(cls, w1, v, c, V, u) -> "EffectiveParameters":
        """From array-likes of the shapes above, as float64 tensors. Raises InputError on a wrong shape."""
        return cls(*(torch.as_tensor(np.asarray(part, dtype=np.float64)) for part in (w1, v, c, V, u)))

    def with_labels_scaled(self, scale: float) -> "EffectiveParameters":
        """Those that predict `scale` ≠ 0 times as much from `scale` times the labels."""
        return EffectiveParameters(scale * self.w1, scale * self.v, self.c, self.V, self.u / scale)

    def magnified(self, scale: float) -> "EffectiveParameters":
        """Those that predict `scale` times as much from the same labels."""
        return EffectiveParameters(scale * self.w1, scale * self.v, scale * self.c, self.V, self.u)

    def substituted(self, root: np.ndarray) -> "EffectiveParameters":
        """Those that predict from z (r,) what these predict from x = root' z, root (r, d): root a, and root V root'."""
        root = torch.from_numpy(root)
        vectors = {name: root @ getattr(self, name).double() for name in ("w1", "v", "u")}
        return EffectiveParameters(c=self.c.double(), V=root @ self.V.double() @ root.T, **vectors)

    def check_dimension(self, d: int) -> None:
        """Raises InputError unless these are the weights for d covariates."""
        if len(self.v) != d:
            raise InputError(f"the weights are for d = {len(self.v)}, but the prompts have d = {d}; use the same d.")

    def numpy(self) -> dict[str, np.ndarray]:
        """The five parts as float64 arrays, detached."""
        names = ("w1", "v", "c", "V", "u")
        return {name: part.detach().double().numpy() for name, part in zip(names, _tensors(self), strict=True)}

    def predict(self, X: torch.Tensor, y: torch.Tensor, x_query: torch.Tensor) -> torch.Tensor:
        """f for a batch: X (B, n, d), y (B, n), x_query (B, d) → (B,)."""
        n = X.shape[1]
        left = X @ self.v + self.c * y  # (B, n): (v', c) z_i
        asked = (x_query @ self.V.T)[:, :, None]  # (B, d, 1): V x_query
        right = (X @ asked)[:, :, 0] + y * (x_query @ self.u)[:, None]  # (B, n): z_i' (V; u') x_query
        return x_query @ self.w1 + (left * right).sum(1) / n  # Zhang et al. (2024), eq. of §2, bottom-right entry


def _tensors(parameters: EffectiveParameters) -> tuple[torch.Tensor, ...]:
    return parameters.w1, parameters.v, parameters.c, parameters.V, parameters.u
