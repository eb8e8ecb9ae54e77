r"""The exact population risk of linear attention, for any weights and any prompt law.

With theta = beta − beta_star, r = X theta + eps, v' = v + c beta_star, V' = V + beta_star u',
Gamma = c V'' + u v'', mu = c u and b = beta_star − w1, the error of the implied estimate of beta splits
into a part even and a part odd in (theta, eps):

    β̂ − β = { V'' Ŝ v' + mu |r|²/n − b } + { Gamma X'r/n − theta },     Ŝ = X'X/n,

(a second ' means transpose), so the risk is a polynomial of Gaussian moments up to order six. No
sampling, O(d³), differentiable: the loss of «training without noise». Zhang, Wu and Bartlett (2024),
proof of Theorem 4.1; every moment is re-derived and tested against Wick expansion.
"""

import torch

from icl.models.effective import EffectiveParameters
from icl.prompts import PromptLaw
from icl.theory import moments


class ExactRisk:
    """R(f) = E (f − y_query)², label noise of the query included, as a function of the weights.

    Built once for a law (d covariates, n examples), then called with `EffectiveParameters` of the
    same d; returns a scalar tensor of dtype float64 (or the given dtype). Raises InputError when d differs.
    """

    def __init__(self, law: PromptLaw, dtype: torch.dtype = torch.float64):
        as_tensor = lambda array: torch.as_tensor(array, dtype=dtype)
        self.law, n = law, law.n
        self.H, self.Psi, self.beta_star = map(as_tensor, (law.H, law.Psi, law.beta_star))
        self.tau = moments.tau(law)
        HPsi = self.H @ self.Psi
        HPsiH = HPsi @ self.H
        self.task_variance = torch.trace(HPsi)  # tr H Psi = E |theta|²_H
        self.HPsiH = HPsiH
        self.gradient_covariance = (n + 1) / n * HPsiH + self.tau / n * self.H  # E X'r r'X / n²
        self.residual_weighted = self.tau * self.H + 2 / n * HPsiH  # E s_r Ŝ, s_r = |r|²/n
        self.residual_square = (n + 2) / n * (self.tau**2 + 2 * torch.trace(HPsi @ HPsi))  # E s_r²

    def __call__(self, weights: EffectiveParameters) -> torch.Tensor:
        weights.check_dimension(self.law.d)
        v = weights.v + weights.c * self.beta_star
        V = weights.V + torch.outer(self.beta_star, weights.u)
        Gamma = weights.c * V.T + torch.outer(weights.u, v)
        return self.law.sigma2 + self._odd(Gamma) + self._even(v, V, weights)

    def _odd(self, Gamma):
        """E |Gamma X'r/n − theta|²_H: the risk of one step of GD from beta_star."""
        HG = self.H @ Gamma
        return (
            self.task_variance
            - 2 * torch.sum(Gamma * self.HPsiH)  # tr(H Gamma H Psi)
            + torch.sum((HG @ self.gradient_covariance) * Gamma)
        )

    def _even(self, v, V, weights):
        """E |V' Ŝ v + mu s_r − b|²_H: what only a model that must also predict the mean task pays."""
        H, n = self.H, self.law.n
        b, mu = self.beta_star - weights.w1, weights.c * weights.u
        Hv, a = H @ v, v @ H @ v
        second_moment = (n + 1) / n * torch.outer(Hv, Hv) + a / n * H  # E Ŝ v v' Ŝ
        VH = V @ H
        return (
            torch.sum((V.T @ second_moment) * VH.T)
            + 2 * mu @ H @ (V.T @ (self.residual_weighted @ v))
            + self.residual_square * (mu @ H @ mu)
            - 2 * b @ H @ (V.T @ Hv + self.tau * mu)
            + b @ H @ b
        )
