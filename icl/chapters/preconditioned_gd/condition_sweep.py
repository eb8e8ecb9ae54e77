"""What the condition number of H does: to every predictor's risk, and to the time that training takes."""

from dataclasses import dataclass

import numpy as np

from icl.chapters.one_step_gd.experiments import Budget
from icl.chapters.preconditioned_gd.experiments import covariance, descend, with_prior
from icl.estimates import Estimate
from icl.parameters import Parameters
from icl.prompts import PromptLaw, symmetric_root
from icl.randomness import Streams
from icl.search import Training, exact_risk, train_on_samples
from icl.theory import preconditioned_gd as theory
from icl.theory.moments import phi
from icl.theory.one_step_gd import minimal_risk


def bayes_risks(laws: list[PromptLaw], draws: int, rng: np.random.Generator) -> list[Estimate]:
    """Bayes risks of laws that share d and n, from the same `draws` Gaussian matrices Z.

    Task, query and noise are integrated out: sigma2 + tr Phi − Σ_k λ_k / (λ_k + sigma2) |Phi^{1/2} v_k|², over
    the eigenpairs of Phi^{1/2} Z'Z Phi^{1/2}.
    """
    d, n = laws[0].d, laws[0].n
    gram = np.empty((draws, d, d))
    for k in range(0, draws, 200):
        Z = rng.standard_normal((min(200, draws - k), n, d))
        gram[k : k + 200] = np.swapaxes(Z, 1, 2) @ Z
    return [_bayes_risk(law, gram) for law in laws]


def _bayes_risk(law: PromptLaw, gram: np.ndarray) -> Estimate:
    Phi = phi(law)
    root = symmetric_root(Phi)
    eigenvalues, V = np.linalg.eigh(root @ gram @ root)
    seen = eigenvalues > 1e-12 * eigenvalues[:, -1:]
    share = np.where(seen, eigenvalues / np.where(seen, eigenvalues + law.sigma2, 1), 0)
    learned = (share * ((root @ V) ** 2).sum(1)).sum(1)
    risks = law.sigma2 + np.trace(Phi) - learned
    return Estimate(float(risks.mean()), float(risks.std(ddof=1) / np.sqrt(len(risks))), len(risks))


@dataclass(frozen=True)
class ConditionSweep:
    """Risks along condition numbers for one prior: closed forms, Bayes by Monte Carlo over X, trained attention."""

    conditions: np.ndarray
    laws: list[PromptLaw]
    bayes: list[Estimate]
    trained_at: np.ndarray
    trained: np.ndarray


def condition_sweep(
    parameters: Parameters, rotation: int, prior: str, conditions, trained_at, draws: int, rng: np.random.Generator
) -> ConditionSweep:
    """Sweep H's condition number under the prior "inverse" (Psi = H^{-1}) or "identity" (Psi = I).

    `rotation` makes H's axes, here and below, as in `experiments.covariance`.
    """

    def law(condition):
        at = _theorem2_at(parameters, rotation, condition)
        return at if prior == "inverse" else with_prior(at.H, np.eye(at.d), parameters)

    laws = [law(condition) for condition in conditions]
    bayes = bayes_risks(laws, draws, rng)
    trained = [exact_risk(at, descend(at, rng, 1)) for at in map(law, trained_at)]
    return ConditionSweep(np.asarray(conditions, float), laws, bayes, np.asarray(trained_at, float), np.array(trained))


def _theorem2_at(parameters, rotation, condition) -> PromptLaw:
    H = covariance(parameters.model_copy(update={"condition": float(condition)}), rotation)
    return theory.theorem2_law(H, parameters.n, parameters.sigma2)


def adam_against_condition(
    parameters: Parameters, rotation: int, budget: Budget, conditions, stream: Streams
) -> list[Training]:
    """One training on samples at each condition number, the same schedule for all, Theorem 2's prior."""
    runs = []
    for k, condition in enumerate(conditions):
        law = _theorem2_at(parameters, rotation, condition)
        seed = stream.entropy("training against the condition number", k)
        runs.append(train_on_samples(law, budget.schedule, budget.batch, seed, f"condition {condition:g}"))
    return runs


def excess_percent(parameters: Parameters, rotation: int, conditions, runs: list[Training]) -> np.ndarray:
    """How far above the least risk each training of `adam_against_condition` ended, in per cent, (len(runs),)."""
    least = minimal_risk(parameters.d, parameters.n, parameters.sigma2)
    laws = [_theorem2_at(parameters, rotation, condition) for condition in conditions]
    risks = np.array([exact_risk(law, run.weights) for law, run in zip(laws, runs, strict=True)])
    return 100 * (risks / least - 1)
