r"""Sign symmetry without rotation invariance: the optimum is preconditioned GD, plain GD pays a penalty.

If −f has the law of f, and E xx' = I, then the best linear self-attention predicts x' Gamma X'y with

    Gamma = C_2 C_1^{-1},    C_1 = E[X'y y'X],    C_2 = n E[w_f w_f'],    risk E f² + sigma2 − tr(C_2 C_1^{-1} C_2),

(no factor 1/n), and the best scalar step tr C_2 / tr C_1 has risk E f² + sigma2 − (tr C_2)² / tr C_1.
This book; the two examples show that rotation invariance in Theorem 3 of Mahankali et al. (2024) is needed.
"""

from dataclasses import dataclass

import numpy as np

from icl.validation import InputError, check_count, check_nonnegative


@dataclass(frozen=True)
class SignSymmetric:
    """C1, C2 : (d, d), C1 positive definite; power = E f²; sigma2 the noise. Raises InputError for a singular C1."""

    C1: np.ndarray
    C2: np.ndarray
    power: float
    sigma2: float

    def __post_init__(self):
        if np.linalg.eigvalsh(self.C1)[0] <= 0:
            raise InputError("C1 is singular: some covariate never carries a label; give sigma2 some variance.")

    @property
    def preconditioner(self) -> np.ndarray:
        """Gamma = C_2 C_1^{-1}, (d, d)."""
        return np.linalg.solve(self.C1, self.C2).T

    @property
    def risk(self) -> float:
        """The least risk over linear self-attention."""
        return self.power + self.sigma2 - float(np.trace(self.preconditioner @ self.C2))

    @property
    def scalar_step(self) -> float:
        """The best step of plain GD."""
        return float(np.trace(self.C2) / np.trace(self.C1))

    @property
    def scalar_risk(self) -> float:
        """The least risk of plain GD."""
        return self.power + self.sigma2 - float(np.trace(self.C2) ** 2 / np.trace(self.C1))


def signed_cube(d: int, n: int, sigma2: float) -> SignSymmetric:
    """Counterexample A, f(x) = ±x_1³: w_f = ±3 e_1, E z⁶ = 15, E z⁸ = 105."""
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    along = np.diag(np.eye(d)[0])
    C1 = n * (15 + sigma2) * np.eye(d) + (90 * n + 9 * n * (n - 1)) * along
    return SignSymmetric(C1, 9 * n * along, 15.0, sigma2)


def uneven_linear(variances, n: int, sigma2: float) -> SignSymmetric:
    """Counterexample B, w'x with w ~ N(0, Psi), Psi = diag(variances) of shape (d,).

    E[X'y y'X] = n [(n+1) Psi + (tr Psi + sigma2) I], chapter 1's c_1 for unequal variances.
    """
    n, sigma2 = check_count("n", n), check_nonnegative("sigma2", sigma2)
    Psi = np.diag(np.asarray(variances, dtype=float))
    C1 = n * ((n + 1) * Psi + (np.trace(Psi) + sigma2) * np.eye(len(Psi)))
    return SignSymmetric(C1, n * Psi, float(np.trace(Psi)), sigma2)
