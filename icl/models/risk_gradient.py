r"""The exact population risk and its gradient by all weights, both written out, for descents of thousands of steps.

The number is that of `exact_risk`, which says what it is made of; what differs is the time. On matrices this small
autograd spends nearly all of it on keeping its graph of a hundred operations, which a gradient by hand does without.
The formulas are those of Zhang, Wu and Bartlett (2024), proof of Theorem 4.1, differentiated.
"""

import numpy as np
import torch
from numpy import matvec

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.prompts import PromptLaw


class RiskGradient:
    """R(f) = E (f − y_query)² above `constant`, for a law, with its derivatives; float64, on the CPU.

    `constant` is tau, the risk of predicting x'beta_star. Left out, it does not drown a descent's last steps in its
    own rounding where noise outweighs all that can be learned. With a `unit` other than 1 it is (R(unit f) − constant)
    / unit²: what is predicted, told in that unit.
    """

    def __init__(self, law: PromptLaw, unit: float = 1.0):
        risk = ExactRisk(law)
        self.law, self.unit, self._n = law, unit, law.n
        self._H, self._HPsiH, self._covariance, self._weighted = (
            part.numpy() for part in (risk.H, risk.HPsiH, risk.gradient_covariance, risk.residual_weighted)
        )
        self._tau, self._residual_square = float(risk.tau), risk.residual_square.item()
        self.constant = self._tau

    def of_model(self, model: torch.nn.Module) -> tuple[float, list[np.ndarray]]:
        """Value of a model with `effective_arrays` and `pull_back`, and its derivatives in its parameters' shapes."""
        value, gradient = self.of_parts(**model.effective_arrays(self._n))
        return float(value), model.pull_back(gradient, self._n)

    def __call__(self, weights: EffectiveParameters) -> tuple[float, dict[str, np.ndarray]]:
        """R(f) − constant and its derivatives by w1, v, u (d,), c () and V (d, d). Raises InputError for another d."""
        weights.check_dimension(self.law.d)
        value, gradient = self.of_parts(**weights.numpy())
        return float(value), gradient

    def of_parts(self, w1, v, c, V, u) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The same of the parts, as arrays, without a look at their shapes; of many at once, by their first axes.

        Polynomials in the parts, complex ones too: nothing is conjugated.
        """
        unit = self.unit
        value, gradient = self._above_constant(unit * w1, unit * v, unit * c, V, u)
        by = {name: part / (unit if name in ("w1", "v", "c") else unit**2) for name, part in gradient.items()}
        return value / unit**2, by

    def _above_constant(self, w1, v, c, V, u) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        c1 = np.asarray(c)[..., None]  # c beside vectors, and beside matrices
        c2, beta_star = c1[..., None], self.law.beta_star
        n, H, mu, b = self._n, self._H, c1 * u, beta_star - w1
        v, V = v + c1 * beta_star, V + _outer(beta_star, u)

        # the odd part, |Gamma X'r/n − theta|²
        Gamma = c2 * V.mT + _outer(u, v)
        HG = H @ Gamma @ self._covariance
        odd = (Gamma * (HG - 2 * self._HPsiH)).sum((-2, -1))
        by_Gamma = 2 * (HG - self._HPsiH)

        # the even part, |V' Ŝ v + mu s_r − b|², through y = V' H v and z = V' (E s_r Ŝ) v
        h, r, HV = matvec(H, v), matvec(self._weighted, v), H @ V
        y, z, HVH = matvec(V.mT, h), matvec(V.mT, r), HV @ H
        size, spread = _dot(v, h), (V * HVH).sum((-2, -1))
        size1, spread1 = size[..., None], spread[..., None]
        Hy, Hz, Hmu, Hb = matvec(H, y), matvec(H, z), matvec(H, mu), matvec(H, b)
        square = ((n + 1) * _dot(y, Hy) + size * spread) / n  # E |V' Ŝ v|²
        even = square + _dot(mu, 2 * Hz + self._residual_square * Hmu) - 2 * _dot(Hb, y + self._tau * mu)
        even += _dot(b, Hb)
        by_y, by_z = 2 * ((n + 1) / n * Hy - Hb), 2 * Hmu
        by_mu = 2 * (Hz + self._residual_square * Hmu - self._tau * Hb)

        by_V = _outer(h, by_y) + _outer(r, by_z) + 2 / n * size1[..., None] * HVH + c2 * by_Gamma.mT
        by_v = matvec(HV, by_y) + matvec(self._weighted, matvec(V, by_z))
        by_v += 2 / n * spread1 * h + matvec(by_Gamma.mT, u)
        by_c = (by_Gamma * V.mT).sum((-2, -1)) + _dot(by_mu, u) + _dot(by_v, beta_star)
        by_u = matvec(by_Gamma, v) + c1 * by_mu + matvec(by_V.mT, beta_star)
        by_w1 = 2 * (Hy + self._tau * Hmu - Hb)
        return odd + even, dict(w1=by_w1, v=by_v, c=by_c, V=by_V, u=by_u)


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., :, None] * b[..., None, :]


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1)
