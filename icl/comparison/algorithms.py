r"""The algorithms that a model is set beside, in families each with one number that sets its members apart.

A family answers at once for all its members, (P, R) → (P, R, K). Its members are fixed by the law (the best step, the
Bayes penalty), counted (k steps of a length that each context sets), or fitted to the model's own answers: the step
length or penalty that comes nearest to them. Least squares and ridge are limits of nearly
all of them, which is why the counts matter. Gradient descent and Newton as in Fu et al. (2024), §3.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.comparison.fitting import Fit, least
from icl.comparison.kernels import KERNELS, kernel_ridge
from icl.comparison.questions import Law, Questions
from icl.prompts import PromptLaw
from icl.solvers import prefixes
from icl.targets import TargetLaw
from icl.theory import gd_beta, moments, one_step_gd, preconditioned_gd
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.theory.gd_beta import at_length

NEWTON_STEPS = np.arange(0, 25)
GD_STEPS = np.r_[1:21, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
ONE_LENGTH_STEPS = GD_STEPS[GD_STEPS <= 64]  # with one step length for all prompts


@dataclass(frozen=True)
class Family:
    """Algorithms of one kind.

    key : for colours and records; names : of its K members; answers : questions → (P, R, K); steps : (K,) where members
    count steps; fitted : how many numbers were fitted to the model; values : (K,), the number that sets a member apart.
    """

    key: str
    names: list[str]
    answers: Callable[[Questions], np.ndarray]
    steps: np.ndarray | None = None
    fitted: int = 0
    values: np.ndarray | None = None


def families(law: Law, questions: Questions, fit: Fit) -> list[Family]:
    """All families for a law, fitted to a model; where the law has no closed forms, the best on `questions`."""
    found = [Family("zero", ["predict 0"], lambda q: np.zeros((*q.labels.shape, 1)))]
    found += _of_law(law, questions)
    found += [
        _counted(fit, "gd_fixed", ONE_LENGTH_STEPS, _gd_answers, _gd_name, power=1),
        Family("gd", [f"GD, {_steps(k)} of 1/λ_max" for k in GD_STEPS], _gd, GD_STEPS),
        _counted(fit, "newton_fixed", NEWTON_STEPS, _newton_answers, _newton_name, power=2),
        Family("newton", [f"Newton, {_steps(k)} from S/λ_max²" for k in NEWTON_STEPS], _newton, NEWTON_STEPS),
        Family("least_squares", ["least squares"], lambda q: prefixes.least_squares(q.prefixes)[..., None]),
        _fitted_ridge(fit),
        _fitted_online(fit),
    ]
    return found


def _of_law(law: Law, questions: Questions) -> list[Family]:
    """What the law itself asks for: its best step, its best preconditioned step, its Bayes estimate."""
    if not isinstance(law, PromptLaw):
        return _of_labels(law, questions)
    start = law.beta_star
    steps = {t: best_step(at_length(law, int(t))) for t in np.unique(questions.seen)}
    named = f"eta = {steps[law.n]:.4g}" if len(steps) == 1 else "eta best at each length"
    found = [Family("one_step", [f"one GD step, {named} (best)"], lambda q: _one_step(q, steps))]
    even = _even(law.H) and _even(law.Psi)
    if start.any() or not even:
        best = {t: gd_beta.optimal_gamma(at_length(law, int(t))) / t for t in np.unique(questions.seen)}
        name = "GD-β, one preconditioned step from beta*" if start.any() else "one preconditioned GD step (best)"
        found += [Family("preconditioned", [name], lambda q: _gd_beta(q, start, best))]
    if start.any() or not _even(law.Psi):
        name = "Bayes: ridge around beta* in the prior's units" if start.any() else "Bayes: ridge in the prior's units"
        found += [Family("bayes", [name], lambda q: bayes(q, law))]
    elif law.sigma2 > 0 and law.Psi[0, 0] > 0:
        penalty = law.sigma2 / law.Psi[0, 0]
        found += [Family("bayes", [f"ridge, penalty {penalty:.4g} (Bayes)"], lambda q: _ridge(q, penalty)[..., None])]
    return found


def _of_labels(law: Law, questions: Questions) -> list[Family]:
    """For a law without closed forms: the step and the penalty that answer best, and the best linear in the labels."""
    products = _moment(questions)
    eta = float((products * questions.labels).sum() / max((products**2).sum(), 1e-300))
    risk = lambda penalty: ((_ridge(questions, penalty) - questions.labels) ** 2).mean()
    penalty = least(risk, *_penalties(questions))
    found = [
        Family("one_step", [f"one GD step, eta = {eta:.4g} (best)"], lambda q: (eta * _moment(q))[..., None]),
        Family("bayes", [f"ridge, penalty {penalty:.4g} (best)"], lambda q: _ridge(q, penalty)[..., None]),
    ]
    if isinstance(law, TargetLaw) and law.family.name in KERNELS:
        name = f"kernel ridge, the covariance of {law.family.name}"
        found += [Family("kernel", [name], lambda q: kernel_ridge(q, KERNELS[law.family.name], law.sigma2)[..., None])]
    return found


def best_step(law: PromptLaw) -> float:
    """eta at which one step of gradient descent from 0 on ½ Σ (w'x_i − y_i)² has least risk: the vertex of (6.1)."""
    at = [float(gd_beta.risk(law, np.zeros(law.d), g * np.eye(law.d))) for g in (0.0, 0.5, 1.0)]
    curvature, slope = 2 * (at[0] - 2 * at[1] + at[2]), -3 * at[0] + 4 * at[1] - at[2]
    return -slope / (2 * curvature) / law.n


def exact_risk(key: str, law: Law, questions: Questions) -> float:
    """The risk of a family's only member in closed form; NaN where there is none or contexts differ in length."""
    if not isinstance(law, PromptLaw) or len(np.unique(questions.seen)) > 1:
        return float("nan")
    centred, even = not law.beta_star.any(), _even(law.H) and _even(law.Psi)
    m = float(law.H[0, 0] * law.Psi[0, 0])
    if key == "zero":
        return moments.tau(law) + float(law.beta_star @ law.H @ law.beta_star)
    if key == "one_step":
        return float(gd_beta.risk(law, np.zeros(law.d), law.n * best_step(law) * np.eye(law.d)))
    if key == "preconditioned":
        return gd_beta.minimal_risk(law)
    if key == "bayes" and centred and even and m > 0:
        return isotropic_bayes_risk(law.d, law.n, law.sigma2, m)
    if key == "least_squares" and centred and even and m == law.H[0, 0] == 1:
        return one_step_gd.least_squares_risk(law.d, law.n, law.sigma2)
    if key == "least_squares" and law.n >= law.d + 2:
        return preconditioned_gd.least_squares_risk(law)
    return float("nan")


def _counted(fit: Fit, key: str, counts, answer, name, *, power: int) -> Family:
    """Of k steps with one length for all prompts: for each k the length that comes nearest to the model."""
    low, high = 1e-3 / fit.largest**power, 4 / fit.largest**power
    rates = np.array([fit.best(lambda q, rate, k=k: answer(q, int(k), rate), low, high) for k in counts])
    both = lambda q: np.stack([answer(q, int(k), rate) for k, rate in zip(counts, rates, strict=True)], -1)
    names = [name(k, rate) for k, rate in zip(counts, rates, strict=True)]
    return Family(key, names, both, np.asarray(counts), 1, rates)


def _fitted_ridge(fit: Fit) -> Family:
    """Ridge with the penalty that comes nearest."""
    penalty = fit.best(_ridge, *_penalties(fit.questions))
    answers = lambda q: _ridge(q, penalty)[..., None]
    return Family("ridge", [f"ridge, penalty {penalty:.4g} (fitted)"], answers, None, 1, np.array([penalty]))


def _fitted_online(fit: Fit) -> Family:
    """One pass over the examples, at the rate that comes nearest."""
    scale = float((fit.questions.asked**2).sum(-1).mean())
    rate = fit.best(lambda q, rate: q.online([rate])[..., 0], 1e-3 / scale, 2 / scale)
    name = f"online GD, one pass, rate {rate:.4g} (fitted)"
    return Family("online", [name], lambda q: q.online([rate]), None, 1, np.array([rate]))


def _gd(q: Questions) -> np.ndarray:
    return prefixes.gradient_descent(q.prefixes, GD_STEPS)


def _newton(q: Questions) -> np.ndarray:
    return prefixes.newton(q.prefixes, NEWTON_STEPS)


def _gd_answers(q: Questions, k: int, eta: float) -> np.ndarray:
    left = (1 - eta * q.spectra) ** k
    return np.vecdot(q.prefixes.inverse_weights, 1 - left)


def _newton_answers(q: Questions, k: int, alpha: float) -> np.ndarray:
    e = alpha * q.spectra**2
    for _ in range(k):
        e = e * (2 - e)  # as prefixes.newton, for one count, and for any alpha: a search looks beyond the range too
    return np.vecdot(q.prefixes.inverse_weights, e)


def _gd_name(k: int, eta: float) -> str:
    return f"GD, {_steps(k)}, eta = {eta:.4g} (fitted)" if k > 1 else f"one GD step, eta = {eta:.4g} (fitted)"


def _newton_name(k: int, alpha: float) -> str:
    return f"Newton, {_steps(k)} from {alpha:.4g} S (fitted)"


def _steps(k: int) -> str:
    return f"{k} step" if k == 1 else f"{k} steps"


def _ridge(q: Questions, penalty: float) -> np.ndarray:
    return prefixes.ridge(q.prefixes, [penalty])[..., 0]


def _moment(q: Questions) -> np.ndarray:
    return q.prefixes.weights.sum(-1)  # x'X'y


def _one_step(q: Questions, steps: dict) -> np.ndarray:
    return (np.array([_nearest(steps, t) for t in q.seen]) * _moment(q))[..., None]


def _gd_beta(q: Questions, start: np.ndarray, best: dict) -> np.ndarray:
    matrices = np.array([_nearest(best, t) for t in q.seen])  # (R, d, d), already divided by the length
    along = np.einsum("prd,rde,pre->pr", q.asked, matrices, q.moments(start), optimize=True)
    return (q.asked @ start + along)[..., None]


def _nearest(values: dict, t: int):
    """The entry for length t, or for the length nearest to it: off its law an algorithm keeps what it had."""
    return values[min(values, key=lambda known: abs(known - t))]


def bayes(q: Questions, law: PromptLaw) -> np.ndarray:
    """E[y | x, the examples], (P, R, 1), for any law: `icl.solvers.linear.bayes` for all questions at once."""
    found, shift = q.from_start(law.beta_star, law.roots[1])
    return shift[..., None] + prefixes.ridge(found, [law.sigma2])


def _penalties(q: Questions) -> tuple[float, float]:
    largest = float(np.median(q.prefixes.largest))
    return 1e-8 * largest, 1e3 * largest


def _even(matrix: np.ndarray) -> bool:
    """Whether a matrix is a multiple of the identity."""
    return np.allclose(matrix, matrix[0, 0] * np.eye(len(matrix)), rtol=1e-12, atol=0)
