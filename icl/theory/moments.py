r"""The three quantities that every closed form is made of.

    Phi = H^{1/2} Psi H^{1/2},   tau = tr(H Psi) + sigma2,   Omega = (n+1)/n Phi + tau/n I.

Omega is the covariance of X'r/n in coordinates where H = I, with r the labels' residual at
beta_star: E[X'r r'X]/n² = H^{1/2} Omega H^{1/2}. The names are this book's, after the
setting of Zhang, Wu and Bartlett (2024).
"""

import numpy as np

from icl.prompts import PromptLaw


def phi(law: PromptLaw) -> np.ndarray:
    """Phi = H^{1/2} Psi H^{1/2}, (d, d): the task's covariance in whitened coordinates."""
    root_H, _ = law.roots
    return root_H @ law.Psi @ root_H


def tau(law: PromptLaw) -> float:
    """tau = tr(H Psi) + sigma2, the variance of a label around its mean x' beta_star."""
    return float(np.trace(law.H @ law.Psi)) + law.sigma2


def mean_size(law: PromptLaw) -> float:
    """|beta_star|²_H = beta_star' H beta_star."""
    return float(law.beta_star @ law.H @ law.beta_star)


def label_size(law: PromptLaw) -> float:
    """(E y²)^{1/2}, the root of tau and |beta_star|²_H together."""
    return float(np.sqrt(tau(law) + mean_size(law)))


def label_unit(law: PromptLaw) -> float:
    """(E y² / tr H)^{1/2}: in this unit labels vary as the covariates do; 1 where H = 0."""
    total = np.trace(law.H)
    return float(np.sqrt((tau(law) + mean_size(law)) / total)) if total else 1.0


def omega(law: PromptLaw) -> np.ndarray:
    """Omega = (n+1)/n Phi + tau/n I, (d, d); positive definite because tau > 0."""
    return (law.n + 1) / law.n * phi(law) + tau(law) / law.n * np.eye(law.d)
