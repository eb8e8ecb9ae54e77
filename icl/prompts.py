r"""The data of in-context linear regression: a law over prompts, and draws from it.

A prompt is n labelled examples and one query. With x_1, …, x_n, x ~ N(0, H) and the task
beta ~ N(beta_star, Psi),

    y_i = x_i' beta + eps_i,    y = x' beta + eps,    eps ~ N(0, sigma2),

all independent. Mahankali et al. take H = Psi = I and beta_star = 0; Zhang, Wu and Bartlett the
general case. Draws are float64 and come from an explicit generator.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from icl.validation import InputError, check_count, check_covariance, check_generator, check_nonnegative, check_vector


@dataclass(frozen=True)
class Prompts:
    """A batch of B prompts; B may be any leading shape.

    X : (B, n, d) covariates; y : (B, n) labels; x_query : (B, d); y_query : (B,);
    beta : (B, d) the task vectors that made the labels, None where the task is not a vector.
    """

    X: np.ndarray
    y: np.ndarray
    x_query: np.ndarray
    y_query: np.ndarray
    beta: np.ndarray | None


@dataclass(frozen=True)
class PromptLaw:
    """The law of a prompt: H, Psi (d, d) symmetric PSD, beta_star (d,), sigma2 ≥ 0, n ≥ 1.

    Singular H and Psi are valid. Raises InputError for anything else, and for
    tau = tr(H Psi) + sigma2 + |beta_star|²_H = 0, where every label is zero and nothing can be learned.
    """

    n: int
    H: np.ndarray
    Psi: np.ndarray
    beta_star: np.ndarray
    sigma2: float
    d: int = field(init=False)

    def __post_init__(self):
        d = check_count("d", np.shape(self.H)[0] if np.ndim(self.H) else 0)
        beta_star = check_vector("beta_star", self.beta_star, d)
        checked = dict(
            n=check_count("n", self.n),
            H=check_covariance("H", self.H, d),
            Psi=check_covariance("Psi", self.Psi, d),
            beta_star=beta_star,
            sigma2=check_nonnegative("sigma2", self.sigma2),
            d=d,
        )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if np.trace(self.H @ self.Psi) + self.sigma2 <= 0:
            raise InputError("tau = tr(H Psi) + sigma2 is 0: no label is random; give Psi, H or sigma2 some variance.")

    @classmethod
    def isotropic(cls, d: int, n: int, sigma2: float, beta_star=None) -> "PromptLaw":
        """H = Psi = I; beta_star (d,) defaults to 0: the setting of Mahankali et al. (2024), §2."""
        d = check_count("d", d)
        return cls(n, np.eye(d), np.eye(d), np.zeros(d) if beta_star is None else beta_star, sigma2)

    @cached_property
    def roots(self) -> tuple[np.ndarray, np.ndarray]:
        """Symmetric square roots H^{1/2}, Psi^{1/2}, each (d, d)."""
        return symmetric_root(self.H), symmetric_root(self.Psi)

    @cached_property
    def whitening(self) -> tuple[np.ndarray, np.ndarray]:
        """(root, inverse), (r, d) and (d, r), r the rank of H: x = root' z with z = inverse' x ~ N(0, I_r).

        z lives in the range of H only: what H cannot see is no part of any risk, and keeping it would invent randomness
        that the data do not have. Eigenvalues below 1e-10 of the largest count as 0.
        """
        h, U = np.linalg.eigh(self.H)
        seen = h > 1e-10 * max(h[-1], np.finfo(float).tiny)
        return np.sqrt(h[seen])[:, None] * U[:, seen].T, U[:, seen] / np.sqrt(h[seen])

    @cached_property
    def whitened(self) -> "PromptLaw":
        """The law of the same prompts with z for x; labels and risks stay. Raises InputError for H = 0."""
        root, _ = self.whitening
        Psi = root @ self.Psi @ root.T
        return replace(self, H=np.eye(len(root)), Psi=(Psi + Psi.T) / 2, beta_star=root @ self.beta_star)

    def with_labels_scaled(self, scale: float) -> "PromptLaw":
        """The law of the same prompts with `scale` > 0 times the labels; every risk is scale² times as large."""
        return replace(self, beta_star=scale * self.beta_star, Psi=scale**2 * self.Psi, sigma2=scale**2 * self.sigma2)

    def sample(self, rng: np.random.Generator, B: int) -> Prompts:
        """Draw B independent prompts from `rng` (float64; B ≥ 1 and a generator, else InputError)."""
        B, n, d = check_count("B", B), self.n, self.d
        check_generator(rng)
        root_H, _ = self.roots
        covariates = rng.standard_normal((B, n + 1, d)) @ root_H
        beta = self._tasks(rng, B)
        labels = np.einsum("bnd,bd->bn", covariates, beta)
        labels += np.sqrt(self.sigma2) * rng.standard_normal((B, n + 1))
        return Prompts(covariates[:, :n], labels[:, :n], covariates[:, n], labels[:, n], beta)

    def condensed(self, rng: np.random.Generator, B: int) -> Prompts:
        """B prompts of d + 1 examples each whose Σ zz'/(d + 1), z = (x; y), has the law of Σ zz'/n over n; needs n > d.

        What sees a prompt through these sums, as linear attention does, learns the same from both, and these cost the
        same at every n. X = QR with R by Bartlett (1933): |N(0, I_{n−i})| at entry i of its diagonal, N(0, 1) above;
        y's noise has the part Q'eps ~ N(0, I_d), and is as long as |N(0, I_{n−d})| beside it.
        Raises InputError for n ≤ d, and as `sample`.
        """
        B, n, d = check_count("B", B), self.n, self.d
        check_generator(rng)
        if n <= d:
            raise InputError(f"prompts of n = {n} examples in d = {d} are condensed already: sample them.")
        root_H, _ = self.roots
        R = np.triu(rng.standard_normal((B, d, d)), 1)
        R[:, range(d), range(d)] = np.sqrt(rng.chisquare(n - np.arange(d), (B, d)))
        X = np.concatenate([R @ root_H, np.zeros((B, 1, d))], axis=1)
        noise = np.concatenate([rng.standard_normal((B, d)), np.sqrt(rng.chisquare(n - d, (B, 1)))], axis=1)
        beta = self._tasks(rng, B)
        y = np.einsum("bnd,bd->bn", X, beta) + np.sqrt(self.sigma2) * noise
        x_query = rng.standard_normal((B, d)) @ root_H
        y_query = np.einsum("bd,bd->b", x_query, beta) + np.sqrt(self.sigma2) * rng.standard_normal(B)
        scale = np.sqrt((d + 1) / n)
        return Prompts(scale * X, scale * y, x_query, y_query, beta)

    def _tasks(self, rng: np.random.Generator, B: int) -> np.ndarray:
        _, root_Psi = self.roots
        return self.beta_star + rng.standard_normal((B, self.d)) @ root_Psi


def symmetric_root(matrix: np.ndarray) -> np.ndarray:
    """The symmetric square root of a symmetric PSD (d, d) matrix, singular ones included.

    Eigenvalues of which nothing but rounding is left count as 0: their roots would be a hundred million times as large.
    """
    eigenvalues, Q = np.linalg.eigh(matrix)
    rounding = len(matrix) * np.finfo(float).eps * np.abs(eigenvalues).max(initial=0.0)
    return (Q * np.sqrt(np.where(eigenvalues > rounding, eigenvalues, 0.0))) @ Q.T


def conditioned_covariance(d: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    """H (d, d): eigenvalues evenly spaced in logarithm from 1/condition to 1, eigenvectors Haar from `rng`.

    d = 1 gives 1 whatever the condition number. Raises InputError for d < 1 or a condition number below 1.
    """
    if check_nonnegative("condition", condition) < 1:
        raise InputError(f"condition must be at least 1, not {condition!r}: it is largest over least eigenvalue.")
    rotation, triangle = np.linalg.qr(rng.standard_normal((check_count("d", d), d)))
    rotation = rotation * np.sign(
        np.diag(triangle)
    )  # without the signs QR's law is not Haar; H does not see reflections
    H = (rotation * np.geomspace(1, 1 / condition, d)) @ rotation.T
    return (H + H.T) / 2


def token_matrix(X, y, x_query) -> np.ndarray:
    """Stack a batch of prompts into E, (B, d+1, n+1): columns (x_i; y_i), then (x_query; 0).

    Source: Zhang, Wu and Bartlett (2024), §2. Shapes (B, n, d), (B, n), (B, d).
    """
    B, n, d = X.shape
    E = np.zeros((B, d + 1, n + 1), dtype=X.dtype)
    E[:, :d, :n] = np.swapaxes(X, 1, 2)
    E[:, d, :n] = y
    E[:, :d, n] = x_query  # the query's label is what the model must fill in: it stays 0
    return E


def attention_mask(n: int) -> np.ndarray:
    """M = diag(I_n, 0), (n+1, n+1): the query token is never attended to. Zhang et al. (2024), §2."""
    return np.diag(np.r_[np.ones(check_count("n", n)), 0.0])
