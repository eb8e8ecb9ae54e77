"""Chapter 5, first half: the risk of GD-β, what minimises it, and its distance from the Bayes risk."""

from dataclasses import dataclass

import numpy as np
import torch

from icl.estimates import Estimate, monte_carlo
from icl.models.exact_risk import ExactRisk
from icl.models.gd_beta import GDBeta
from icl.parameters import TaskMeanParameters
from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.theory import bayes_rates, bayes_risk, gd_beta
from icl.training import minimise


@dataclass(frozen=True)
class Budget:
    """How much a profile computes."""

    prompts: int  # Monte-Carlo prompts
    starts: int  # L-BFGS starts
    flows: int  # starts of the gradient flow
    contexts: int  # draws of X, with all else integrated out
    spectra: int  # random problems for the sandwich
    steps: int  # of gradient descent and Adam


BUDGETS = {
    "quick": Budget(200_000, 10, 24, 120, 60, 400),
    "standard": Budget(2_000_000, 20, 60, 1000, 200, 1000),
    "paper": Budget(20_000_000, 40, 120, 4000, 400, 4000),
}


def budget(parameters: TaskMeanParameters) -> Budget:
    """The profile's budget, with fewer prompts and starts where one prompt is large."""
    full, size = BUDGETS[parameters.profile], parameters.n * parameters.d
    prompts = max(1000, int(100 * full.prompts / max(100, size)))
    starts = max(3, full.starts * 20 // max(20, parameters.d))
    return Budget(prompts, starts, full.flows, full.contexts, full.spectra, full.steps)


def isotropic_law(parameters: TaskMeanParameters, d: int | None = None) -> PromptLaw:
    """H = Psi = I and beta_star = beta_norm (1, …, 1)/√d: the setting of the chapter's claims, or at another d."""
    d = d or parameters.d
    mean = np.full(d, parameters.beta_norm / np.sqrt(d))
    return PromptLaw.isotropic(d, parameters.n, parameters.sigma2, mean)


def skewed_law(parameters: TaskMeanParameters, rng: np.random.Generator, *, d: int | None = None) -> PromptLaw:
    """Random H (eigenvalues from 1 to 1/4) and Psi > 0 that do not commute; |beta_star|_H = beta_norm."""
    d = d or parameters.d
    H = _with_spectrum(np.geomspace(1, 0.25, d), rng)
    Psi = _with_spectrum(np.geomspace(2, 0.5, d), rng)
    return _centred(parameters, H, Psi, rng)


def singular_law(parameters: TaskMeanParameters, rng: np.random.Generator, *, d: int | None = None) -> PromptLaw:
    """d + 2 covariates of which only d directions vary, and a task that does not vary in one direction."""
    d = d or parameters.d
    H = _with_spectrum(np.r_[np.geomspace(1, 0.25, d), 0, 0], rng)
    Psi = _with_spectrum(np.r_[np.geomspace(2, 0.5, d + 1), 0], rng)
    return _centred(parameters, H, Psi, rng)


def _centred(parameters, H, Psi, rng) -> PromptLaw:
    mean = rng.standard_normal(len(H))
    mean *= parameters.beta_norm / np.sqrt(mean @ H @ mean)
    return PromptLaw(parameters.n, H, Psi, mean, parameters.sigma2)


def _with_spectrum(eigenvalues, rng) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((len(eigenvalues),) * 2))
    matrix = (Q * eigenvalues) @ Q.T
    return (matrix + matrix.T) / 2


def random_point(law: PromptLaw, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A (beta, Gamma) off the minimum: beta_star + N(0, I), Gamma* + N(0, 1/(4d)) in every entry."""
    beta = law.beta_star + rng.standard_normal(law.d)
    return beta, gd_beta.optimal_gamma(law) + rng.standard_normal((law.d, law.d)) / np.sqrt(4 * law.d)


def measured_risk(law: PromptLaw, beta, Gamma, prompts: int, rng: np.random.Generator) -> Estimate:
    """The risk of GD-β on random prompts; the query and its noise are integrated out."""
    return _mean(law, prompts, rng, lambda batch: _loss(law, batch, linear.gd_beta(batch.X, batch.y, beta, Gamma)))


def measured_bayes_risk(law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """The risk of ridge regression centred at beta_star on random prompts."""
    return _mean(law, prompts, rng, lambda batch: _loss(law, batch, linear.bayes(batch.X, batch.y, law)))


def measured_ratio(law: PromptLaw, expected: float, prompts: int, rng: np.random.Generator) -> Estimate:
    """Risk of the optimal GD-β over the Bayes risk on the same prompts; the error is the delta method's at `expected`."""
    Gamma = gd_beta.optimal_gamma(law)

    def both(batch):
        step = _loss(law, batch, linear.gd_beta(batch.X, batch.y, law.beta_star, Gamma))
        bayes = _loss(law, batch, linear.bayes(batch.X, batch.y, law))
        return np.stack([step, bayes, step - expected * bayes], axis=1)

    found = _mean(law, prompts, rng, both)
    return Estimate(float(found.mean[0] / found.mean[1]), float(found.stderr[2] / found.mean[1]), prompts)


def _loss(law, batch, estimate):
    error = estimate - batch.beta
    return law.sigma2 + np.einsum("bi,ij,bj->b", error, law.H, error)


def _mean(law, prompts, rng, statistic) -> Estimate:
    return monte_carlo(lambda B: statistic(law.sample(rng, B)), prompts, chunk=max(100, 2_000_000 // (law.n * law.d)))


@dataclass(frozen=True)
class Ends:
    """Where L-BFGS stopped from K random starts: risks (K,), beta (K, d), Gamma (K, d, d)."""

    risks: np.ndarray
    beta: np.ndarray
    Gamma: np.ndarray


def minimisers(law: PromptLaw, count: int, rng: np.random.Generator) -> Ends:
    """Minimise the exact risk (Gaussian moments and autograd) over beta and Gamma from N(0, 1) entries."""
    risk, found = ExactRisk(law), []
    for _ in range(count):
        model = GDBeta(rng.standard_normal(law.d), rng.standard_normal((law.d, law.d)))
        loss = minimise(model, lambda model=model: risk(model.effective())).loss
        found.append((loss, model.beta.detach().numpy(), model.Gamma.detach().numpy()))
    return Ends(*map(np.stack, zip(*found, strict=True)))


def prediction_spread(law: PromptLaw, ends: Ends, rng: np.random.Generator, *, prompts: int = 256) -> float:
    """Largest difference between the predictions of found minimisers and of the formula's, relative to the largest."""
    batch = law.sample(rng, prompts)
    X, y, x = map(torch.from_numpy, (batch.X, batch.y, batch.x_query))
    formula = GDBeta(law.beta_star, gd_beta.optimal_gamma(law))(X, y, x).detach().numpy()
    found = [GDBeta(*point)(X, y, x).detach().numpy() for point in zip(ends.beta, ends.Gamma, strict=True)]
    return float(np.abs(np.stack(found) - formula).max() / np.abs(formula).max())


def parameter_spread(ends: Ends) -> float:
    """Largest distance between the Gammas of two starts, over the largest Gamma: not small where H is singular."""
    apart = ends.Gamma[:, None] - ends.Gamma[None]
    size = lambda Gamma: np.linalg.norm(Gamma, axis=(-2, -1)).max()
    return float(size(apart) / size(ends.Gamma))


@dataclass(frozen=True)
class ContextRisks:
    """Excess over sigma2 of the optimal GD-β and of the Bayes predictor, averaged over draws of X only."""

    gd_beta: Estimate
    bayes: Estimate


def context_risks(law: PromptLaw, draws: int, rng: np.random.Generator) -> ContextRisks:
    """Monte Carlo over X; the task, the label noise and the query are integrated out given X."""
    H, Psi, n, sigma2, root = law.H, law.Psi, law.n, law.sigma2, law.roots[1]
    Gamma, weighted = gd_beta.optimal_gamma(law), root @ H @ root

    def draw(B):
        X = rng.standard_normal((B, n, law.d)) @ law.roots[0]
        S = X.swapaxes(1, 2) @ X
        miss = Gamma @ S / n - np.eye(law.d)
        step = np.einsum("ij,bjk,kl,bil->b", H, miss, Psi, miss, optimize=True)
        step += sigma2 / n**2 * np.einsum("ij,bjk->b", Gamma.T @ H @ Gamma, S)
        return np.stack([step, _posterior_variance(root @ S @ root, weighted, sigma2)], axis=1)

    found = monte_carlo(draw, draws, chunk=max(2, 2_000_000 // (n * law.d)))
    return ContextRisks(*(Estimate(float(found.mean[k]), float(found.stderr[k]), draws) for k in (0, 1)))


def _posterior_variance(M, weighted, sigma2):
    """tr(weighted (I + M/sigma2)^{-1}), (B,): what remains of the prior variance; without noise the unseen part."""
    identity = np.eye(M.shape[-1])
    if sigma2 > 0:
        left = np.linalg.solve(sigma2 * identity + M, np.broadcast_to(sigma2 * weighted, M.shape))
    else:
        left = (identity - np.linalg.pinv(M, rcond=1e-10, hermitian=True) @ M) @ weighted
    return np.trace(left, axis1=1, axis2=2)


@dataclass(frozen=True)
class SandwichTest:
    """Ratios that may not exceed 1, each (K,): lower bound / Bayes, Bayes / GD-β, GD-β / upper bound; and errors."""

    ratios: np.ndarray  # (3, K)
    stderr: np.ndarray  # (3, K)

    @property
    def worst(self) -> Estimate:
        """The largest of all, with its standard error."""
        at = np.unravel_index(np.argmax(self.ratios), self.ratios.shape)
        return Estimate(float(self.ratios[at]), float(self.stderr[at]), self.ratios.size)


def sandwich_test(count: int, draws: int, rng: np.random.Generator) -> SandwichTest:
    """Corollary 6.2's bounds on `count` random problems: d < 8, n < 40, log-normal eigenvalues and noise."""
    ratios, errors = np.empty((3, count)), np.zeros((3, count))
    for k in range(count):
        d, n = int(rng.integers(1, 8)), int(rng.integers(1, 40))
        phi, sigma2 = np.exp(1.5 * rng.standard_normal(d)), float(np.exp(2 * rng.standard_normal()))
        found = context_risks(PromptLaw(n, np.eye(d), np.diag(phi), np.zeros(d), sigma2), draws, rng)
        bound, bayes = bayes_rates.sandwich(phi, n, sigma2), found.bayes
        ratios[:, k] = bound.lower / bayes.mean, bayes.mean / found.gd_beta.mean, found.gd_beta.mean / bound.upper
        relative = np.hypot(bayes.stderr / bayes.mean, found.gd_beta.stderr / found.gd_beta.mean)
        errors[:, k] = ratios[:, k] * (bayes.stderr / bayes.mean, relative, found.gd_beta.stderr / found.gd_beta.mean)
    return SandwichTest(ratios, errors)


RATE_LENGTHS = np.array([10, 32, 100, 316, 1000])


def power_law(n: int, *, d: int = 200, sigma2: float = 1.0) -> PromptLaw:
    """Eigenvalues φ_i = 1/i², i ≤ d: the worked example of Corollary 6.2."""
    return PromptLaw(n, np.eye(d), np.diag(np.arange(1.0, d + 1) ** -2), np.zeros(d), sigma2)


def power_law_risks(draws: int, rng: np.random.Generator) -> list[ContextRisks]:
    """Excess risks under the power law at every context length of RATE_LENGTHS."""
    return [context_risks(power_law(int(n)), draws, rng) for n in RATE_LENGTHS]


def log_slope(values: list[Estimate], at) -> Estimate:
    """Least-squares slope of log mean against log `at`, with its standard error."""
    x = np.log(at) - np.log(at).mean()
    weights = x / (x @ x)
    means, errors = (np.array([getattr(value, part) for value in values]) for part in ("mean", "stderr"))
    slope, error = weights @ np.log(means), np.sqrt(((weights * errors / means) ** 2).sum())
    return Estimate(float(slope), float(error), len(values))


def snr_ratio(sigma2: float, d: int = 8, n: int = 8) -> float:
    """Risk of the optimal GD-β over the Bayes risk, both exact, at H = Psi = I."""
    return gd_beta.minimal_risk(PromptLaw.isotropic(d, n, sigma2)) / bayes_risk.isotropic_bayes_risk(d, n, sigma2)
