"""Chapter 3's experiments at parameters of their own, the rotation test, and a reader's bad functions."""

from dataclasses import replace

import numpy as np
import page_code
import pytest

from icl.chapters.nonlinear_targets import experiments as chapter
from icl.chapters.nonlinear_targets.tensor_fit import TensorFit, tensor_fit
from icl.estimates import Estimate, NotRun, joint_monte_carlo, monte_carlo
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.search import learned_step
from icl.targets import ASYMMETRIC, FAMILIES, SIGNED_CUBE, TargetLaw, reader_family, rotation_statistic, uneven_linear
from icl.theory import nonlinear_targets as theory
from icl.training import Schedule
from icl.validation import InputError

PARAMETERS = Parameters(d=3, n=9, sigma2=0.4, seed=77)
CHAPTER = "03_nonlinear_targets"
PAGE = page_code.functions(CHAPTER, "attention", "one_step", "turns", "products", "plain")
SMALL = chapter.Budget(20_000, 2, 40_000, 2, Schedule(250, 0.02), 256)


def fit_all(law, prompts, seed):
    """As the page fits all coefficients."""
    return tensor_fit(law, PAGE.products, PAGE.plain(law.d), prompts, seed)


def within(estimate, truth):
    """Five standard errors."""
    return abs(estimate.mean - truth) <= 5 * estimate.stderr


def test_joint_monte_carlo_agrees_with_numpy():
    data = np.random.default_rng(1).standard_normal((1003, 3)) @ np.array([[1, 2, 0], [0, 1, 1], [3, 0, 1]])
    chunks = iter(np.split(data, range(100, 1003, 100)))
    joint = joint_monte_carlo(lambda B: next(chunks), 1003, chunk=100)
    assert joint.mean == pytest.approx(data.mean(0))
    assert joint.covariance == pytest.approx(np.cov(data.T) / 1003)
    deviations = (data - data.mean(0)) ** 2
    assert joint.largest_share == pytest.approx(deviations.max(0) / deviations.sum(0))
    chunks = iter([data])
    single = monte_carlo(lambda B: next(chunks), 1003)
    assert joint.function(0.0, [0, 1, 0]).stderr == pytest.approx(single.stderr[1])


def test_every_point_as_query_is_the_plain_average():
    """The shortcut for all n + 1 queries equals the loop over them."""
    law = TargetLaw(FAMILIES["sine"], 2, 3, 0.1)
    found = chapter.measure(law, PAGE.turns, 50, np.random.default_rng(5))
    batch = law.sample(np.random.default_rng(5), 50)
    X = np.concatenate([batch.X, batch.x_query[:, None]], 1)
    y = np.concatenate([batch.y, batch.y_query[:, None]], 1)
    P, Q = [], []
    for q in range(4):
        rest = [i for i in range(4) if i != q]
        guess = np.einsum("bnd,bn,bd->b", X[:, rest], y[:, rest], X[:, q])
        P.append(y[:, q] * guess)
        Q.append(guess**2)
    assert found.step_size.mean == pytest.approx(np.mean(P) / np.mean(Q))
    assert found.risk.mean == pytest.approx(np.mean(y**2) - np.mean(P) ** 2 / np.mean(Q))
    assert found.a.mean == pytest.approx(np.mean(P) / 3)
    assert found.b.mean == pytest.approx(np.mean(y**2 * (X**2).sum(-1)))


def test_the_page_s_attention_is_its_gradient_step():
    """With keys and queries that read x and values that read y; and heads add."""
    rng = np.random.default_rng(2)
    X, y, x = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal(3)
    reads_x, reads_y = np.diag([1.0, 1, 1, 0]), np.diag([0, 0, 0, 0.3])
    step = PAGE.one_step(X, y, x, 0.3)
    assert step == pytest.approx(0.3 * sum(y[i] * X[i] @ x for i in range(4)))
    assert PAGE.attention(X, y, x, [(reads_y, reads_x, reads_x)]) == pytest.approx(step)
    assert PAGE.attention(X, y, x, 2 * [(reads_y, reads_x, reads_x)]) == pytest.approx(2 * step)


def test_the_page_s_products_are_all_of_multi_head_attention():
    """Two random heads are a sum of them, and so is a gradient step, in the page's pattern."""
    rng = np.random.default_rng(3)
    heads = [tuple(rng.standard_normal((3, 3)) for _ in range(3)) for _ in range(2)]
    prompts = [(rng.standard_normal((5, 2)), rng.standard_normal(5), rng.standard_normal(2)) for _ in range(40)]
    features = PAGE.products(*map(np.stack, zip(*prompts, strict=True)))
    answers = np.array([PAGE.attention(*prompt, heads) for prompt in prompts])
    assert features.shape == (40, 12)
    coefficients = np.linalg.lstsq(features[:30], answers[:30], rcond=None)[0]
    assert features[30:] @ coefficients == pytest.approx(answers[30:])
    assert features @ PAGE.plain(2) == pytest.approx([PAGE.one_step(*prompt, 1.0) for prompt in prompts])


def test_the_page_s_formulas_are_the_library_s():
    page = page_code.functions(CHAPTER, "best_step", "least_risk", sigma2=0.4)
    for name in FAMILIES:
        m = theory.moments(name, 3)
        a, b = m.a, m.b(0.4)
        assert page.best_step(a, b, 9) == pytest.approx(theory.step_size(m, 9, 0.4))
        assert page.least_risk(a, b, m.power, 9) == pytest.approx(theory.minimal_risk(m, 9, 0.4))


def test_stated_errors_are_the_true_ones():
    """The spread of eta over 60 repetitions matches the delta method's standard error."""
    law, rng = TargetLaw(FAMILIES["cosine"], 2, 5, 0.2), np.random.default_rng(6)
    found = [chapter.measure(law, PAGE.turns, 800, rng).step_size for _ in range(60)]
    spread = np.std([estimate.mean for estimate in found], ddof=1)
    stated = np.mean([estimate.stderr for estimate in found])
    assert 0.6 < spread / stated < 1.5


def test_light_tailed_families_would_show_an_error_of_two_per_cent():
    """At the book's parameters and budget five standard errors stay below 2 % of a, b and eta*."""
    budget, d, n, sigma2 = chapter.BUDGETS["quick"], 5, 20, 0.25
    for name, family in FAMILIES.items():
        if family.heavy:
            continue
        law, rng = TargetLaw(family, d, n, sigma2), np.random.default_rng(8)
        found = chapter.measure(law, PAGE.turns, budget.prompts // 10, rng)
        for estimate in (found.a, found.b, found.step_size):
            assert 5 * estimate.stderr / np.sqrt(10) < 0.02 * estimate.mean, name


def test_all_families_are_measured():
    found = chapter.measure_families(PARAMETERS, SMALL, PAGE.turns, Streams("a test", 0))
    for name in FAMILIES:
        exact = theory.moments(name, 3)
        assert within(found[name].b, exact.b(0.4)), name
        assert within(found[name].step_size, theory.step_size(exact, 9, 0.4)), name
    assert found["sign"].largest_share < 0.05
    assert found["sign"].largest_share < found["cubic_gaussian"].largest_share < 1


def test_training_learns_the_step_of_each_light_family(monkeypatch):
    tried = {name: family for name, family in FAMILIES.items() if not family.heavy or name == "quadratic"}
    monkeypatch.setattr(chapter, "FAMILIES", tried)
    for name, (run,) in chapter.train_families(PARAMETERS, replace(SMALL, trainings=1), Streams("a test", 0)).items():
        aim = 9 * theory.step_size(theory.moments(name, 3), 9, 0.4)  # of «quadratic» it is 0
        assert 9 * learned_step(run.weights, 9) == pytest.approx(aim, rel=0.15, abs=0.05 * (aim == 0)), name


def test_faint_families_are_named():
    assert chapter.too_faint("linear", PARAMETERS) is None
    assert "lowers the risk" in chapter.too_faint("cosine", Parameters(d=20, n=5, sigma2=1.0)).reason


def test_scaling_labels_leaves_the_step():
    law = TargetLaw(FAMILIES["sign"].scaled(7.0), 3, 9, 0.4 * 49)
    plain = TargetLaw(FAMILIES["sign"], 3, 9, 0.4)
    scaled, unscaled = (
        chapter.measure(each, PAGE.turns, 2000, np.random.default_rng(9)).step_size for each in (law, plain)
    )
    assert scaled.mean == pytest.approx(unscaled.mean, rel=1e-10)


def test_floor_by_extrapolation():
    estimate = chapter.extrapolated_floor(FAMILIES["sign"], PARAMETERS, PAGE.turns, 20_000, np.random.default_rng(10))
    truth = theory.linear_floor(theory.sign(3), 0.4)
    assert abs(estimate.mean - truth) <= 0.002 * truth + 5 * estimate.stderr
    assert estimate.stderr < 0.005 * truth


@pytest.mark.parametrize("name", ASYMMETRIC)
def test_only_plain_gradient_descent_remains(name):
    fit = fit_all(TargetLaw(ASYMMETRIC[name], 2, 5, 0.3), 60_000, [11, 1])
    assert len(fit.coefficients) == 12 and fit.plain.sum() == 2
    assert np.abs(fit.z[fit.plain == 0]).max() < 4.5
    assert np.abs(fit.z[fit.plain == 1]).min() > 10
    assert within(fit.step, theory.step_size(theory.moments(name, 2), 5, 0.3))


def test_fit_finds_what_is_not_plain_gradient_descent():
    """The instrument can see: without rotation invariance coefficients besides plain GD's are found."""
    fit = fit_all(TargetLaw(uneven_linear([4, 0.1]), 2, 6, 0.2), 60_000, [12, 1])
    Psi = np.diag([4, 0.1])
    C1, C2 = 6 * (7 * Psi + (4.1 + 0.2) * np.eye(2)), 6 * Psi
    exact = page_code.functions(CHAPTER, "optima", sigma2=0.2).optima(C1, C2, 4.1)
    gamma = fit.coefficients[fit.plain == 1]
    assert gamma == pytest.approx(np.diag(C2 @ np.linalg.inv(C1)), abs=0.01)
    for label, truth in exact.items():
        assert within(getattr(fit, label), truth), label
    assert fit.penalty.mean > 5 * fit.penalty.stderr
    assert fit.departure(fit.plain).mean > 1 + 50 * fit.departure(fit.plain).stderr and np.abs(fit.strays).max() > 20


def test_fit_of_a_preconditioned_target_off_the_axes():
    fit = fit_all(TargetLaw(SIGNED_CUBE, 3, 4, 0.1), 100_000, [13, 1])
    e1 = np.diag([1.0, 0, 0])
    C1 = 4 * (15.1 * np.eye(3) + 90 * e1) + 9 * 12 * e1
    exact = page_code.functions(CHAPTER, "optima", sigma2=0.1).optima(C1, 36 * e1, 15.0)
    assert within(fit.penalty, exact["penalty"])


def test_a_fit_s_own_prompts_do_not_make_a_penalty():
    """Plain gradient descent is best here: eleven more coefficients, fitted to 2000 prompts, seem to save 0.015."""
    fits = [fit_all(PromptLaw.isotropic(2, 6, 0.5), 2000, [1, k]) for k in range(60)]
    assert abs(np.mean([fit.penalty.mean for fit in fits])) < 0.005


def test_a_slightly_uneven_target_does_not_pass_for_plain_gradient_descent():
    """No single other coefficient betrays it; the three steps compared do, and χ² of the whole pattern."""
    fit = fit_all(TargetLaw(uneven_linear([1.5, 1, 1]), 3, 6, 0.25), 200_000, [14, 1])
    assert np.abs(fit.z[fit.plain == 0]).max() < 4.5 < np.abs(fit.strays).max()
    found = fit.departure(fit.plain)
    assert found.mean > 1 + 5 * found.stderr


def test_departure_of_a_fit_from_a_pattern():
    """By hand: coefficients 3, 5 and 1 with errors of 1, and the patterns (1, 1, 0) and (0, 0, 1)."""
    zero = Estimate(0.0, 0.0, 1)
    fit = TensorFit(np.array([3.0, 5, 1]), np.diag([1.0, 1, 4]), np.array([1.0, 1, 0]), zero, zero, zero)
    assert fit.departure(fit.plain).mean == pytest.approx((1 + 1 + 1 / 4) / 2)
    assert fit.departure(np.array([0.0, 0, 1])).mean == pytest.approx((9 + 25) / 2)
    # nearest multiple of (1, 0, 1): (3 + 1/4) / (1 + 1/4) = 2.6
    assert fit.departure(np.array([1.0, 0, 1])).mean == pytest.approx((0.4**2 + 25 + 1.6**2 / 4) / 2)
    assert fit.departure(fit.plain).stderr == pytest.approx(1.0)
    assert fit.strays == pytest.approx([1 / 2, -2 / np.sqrt(2)])
    assert (fit.step.mean, fit.step.stderr) == (4.0, pytest.approx(np.sqrt(0.5)))


def test_mean_steps_share_one_relative_error():
    """Spreads of 20 % and 0 of the expected step: variances of .02 and 0, so .01 in the mean and .1 / √2 the error."""
    found = chapter.mean_steps({"a": np.array([0.9, 1.1]), "b": np.array([6.0, 6.0])}, {"a": 1.0, "b": 5.0})
    assert (found["a"].mean, found["a"].stderr) == (pytest.approx(1), pytest.approx(0.1 / np.sqrt(2)))
    assert (found["b"].mean, found["b"].stderr) == (6.0, pytest.approx(0.5 / np.sqrt(2)))


def test_mean_square_deviation():
    found = chapter.mean_square_deviation([Estimate(1.0, 0.5, 9), Estimate(2.0, 0.1, 9)], [2.0, 2.1])
    assert (found.mean, found.stderr) == (pytest.approx((4 + 1) / 2), pytest.approx(1.0))


def test_reader_family_is_predicted_and_measured():
    """Other prompts than those that gave a and b; a target that is neither odd nor continuous."""

    def steps(x, rng):
        w = rng.standard_normal((len(x), x.shape[2], 1))
        return np.ceil((x @ w)[..., 0])

    yours = reader_family(steps, 3, np.random.default_rng(14))
    sampled = chapter.moments_by_sampling(yours, 3, 30_000, np.random.default_rng(15))
    step, risk = chapter.predict_from_samples(sampled, 3, 9, 0.4)
    found = chapter.measure(TargetLaw(yours, 3, 9, 0.4), PAGE.turns, 30_000, np.random.default_rng(16))
    for guess, seen in ((step, found.step_size), (risk, found.risk)):
        assert abs(guess.mean - seen.mean) <= 5 * np.hypot(guess.stderr, seen.stderr)
        assert 0 < guess.stderr < 0.02 * guess.mean


def test_error_bars_of_the_prediction_by_differences():
    sampled = chapter.moments_by_sampling(FAMILIES["sine"], 3, 5_000, np.random.default_rng(17))
    step, risk = chapter.predict_from_samples(sampled, 3, 6, 0.2)
    value = lambda moments: np.array(
        [f(theory.Moments(3, *moments), 6, 0.2) for f in (theory.step_size, theory.minimal_risk)]
    )
    h = 1e-6
    slopes = np.array([(value(sampled.mean + h * e) - value(sampled.mean - h * e)) / (2 * h) for e in np.eye(3)])
    expected = np.sqrt(np.diag(slopes.T @ sampled.covariance @ slopes))
    assert (step.stderr, risk.stderr) == pytest.approx(tuple(expected), rel=1e-5)


def test_view_is_one_target_and_straight_lines():
    view = chapter.view(FAMILIES["sign"], 3, [2, 500], 0.1, Streams("a test", 18))
    assert set(np.unique(view.target)) <= {-1.0, 0.0, 1.0} and (np.diff(view.target) != 0).sum() <= 2
    slopes = view.predictions / np.where(view.t == 0, 1, view.t)
    assert np.ptp(np.delete(slopes, 60, axis=1), axis=1) == pytest.approx(0, abs=1e-12)
    assert slopes[1, 0] == pytest.approx(np.sqrt(2 / np.pi), rel=0.2)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_rotation_statistic_accepts_every_family(d):
    for name, family in (FAMILIES | ASYMMETRIC).items():
        assert rotation_statistic(family, d, np.random.default_rng([19, d]), draws=4000) < 5, name


@pytest.mark.parametrize(
    "function",
    [
        lambda x, rng: x[..., 0],
        lambda x, rng: rng.choice([-1.0, 1.0], (len(x), 1)) * x[..., 0] ** 3,
        lambda x, rng: uneven_linear([1.0, 2.0]).values(x, rng),
        lambda x, rng: np.abs(x).sum(-1),
    ],
)
def test_rotation_statistic_finds_preferred_directions(function):
    with pytest.raises(InputError, match=r"not rotation invariant: .* differ by [\d.e+]+ standard errors"):
        reader_family(function, 2, np.random.default_rng(20))


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda x, rng: x, "must return one number per covariate, shape"),
        (lambda x, rng: x.sum(), "must return one number per covariate, shape"),
        (lambda x, rng: np.log(x[..., 0] * 0 - 1 + 0j), "must return real numbers"),
        (lambda x, rng: np.where(x[..., 0] > 2, np.nan, 1.0), "is NaN or infinite at"),
        (lambda x, rng: np.full(x.shape[:2], np.inf), "is NaN or infinite at"),
        (3, "must be a function of"),
    ],
)
def test_bad_targets(function, sentence):
    with pytest.raises(InputError, match=sentence):
        reader_family(function, 2, np.random.default_rng(21))


@pytest.mark.parametrize("values", [dict(d=0), dict(n=0), dict(sigma2=-1.0)])
def test_bad_laws(values):
    with pytest.raises(InputError):
        TargetLaw(**(dict(family=FAMILIES["sign"], d=2, n=3, sigma2=0.1) | values))


def test_same_generator_same_prompts():
    law = TargetLaw(FAMILIES["relu_network"], 3, 4, 0.1)
    first, second = (law.sample(np.random.default_rng(22), 10) for _ in range(2))
    assert (first.X == second.X).all() and (first.y_query == second.y_query).all()


def test_families_are_sign_symmetric():
    """At any one point −f has the law of f: f averages to 0, and so does what is odd in it."""
    x = np.tile(np.random.default_rng(23).standard_normal((3, 2)), (40_000, 1, 1))
    for name, family in FAMILIES.items():
        values = np.tanh(family(x, np.random.default_rng(24)))
        assert (np.abs(values.mean(0)) <= 5 * values.std(0) / np.sqrt(len(x))).all(), name


@pytest.mark.parametrize("quantity", ["a", "b", "risk"])
def test_stated_errors_of_the_other_quantities(quantity):
    law, rng = TargetLaw(FAMILIES["linear"], 2, 5, 0.2), np.random.default_rng(25)
    found = [getattr(chapter.measure(law, PAGE.turns, 400, rng), quantity) for _ in range(100)]
    spread = np.std([estimate.mean for estimate in found], ddof=1)
    assert 0.75 < spread / np.mean([estimate.stderr for estimate in found]) < 1.33


def test_extrapolation_and_its_error(monkeypatch):
    """2 R(2N) − R(N), its error from both."""
    seen = []

    def measured(law, turns, prompts, rng):
        seen.append(law.n)
        risk = Estimate(1.0, 0.03, prompts) if len(seen) == 1 else Estimate(2.0, 0.02, prompts)
        return chapter.Measured(risk, risk, risk, risk, 0.0)

    monkeypatch.setattr(chapter, "measure", measured)
    found = chapter.extrapolated_floor(FAMILIES["sign"], PARAMETERS, PAGE.turns, 1000, np.random.default_rng(0))
    assert seen[1] == 2 * seen[0] and (found.mean, found.stderr) == (3.0, pytest.approx(0.05))


def test_steps_along_n_belong_to_their_lengths():
    budget = chapter.Budget(320_000, 2, 0, 0, None, 0)
    steps = chapter.steps_along_n(FAMILIES["sine"], PARAMETERS, budget, [2, 30], PAGE.turns, np.random.default_rng(7))
    for step, n in zip(steps, (2, 30), strict=True):
        truth = theory.step_size(theory.moments("sine", 3), n, 0.4)
        assert within(step, truth) and step.stderr < 0.05 * truth


def test_families_are_trained_on_labels_of_size_one_and_streams_of_their_own(monkeypatch):
    calls = []
    monkeypatch.setattr(chapter, "train_on_samples", lambda law, *rest: calls.append((law, rest[2])))
    chapter.train_families(PARAMETERS, SMALL, Streams("a test", 0))
    assert len({seed for _, seed in calls}) == len(calls) == 2 * len(FAMILIES)
    for law, _ in calls[::2]:
        y = law.sample(np.random.default_rng(26), 50_000).y[:, 0]
        unscaled = theory.moments(law.family.name, 3).power
        assert law.sigma2 == pytest.approx(0.4 / (unscaled + 0.4)), law.family.name
        assert abs((y**2).mean() - 1) <= 5 * (y**2).std() / np.sqrt(len(y)), law.family.name


def test_a_floor_whose_contexts_do_not_fit_into_memory_is_not_measured():
    loud = PARAMETERS.model_copy(update={"sigma2": 3e4})
    found = chapter.extrapolated_floor(FAMILIES["sign"], loud, PAGE.turns, 1000, np.random.default_rng(0))
    assert isinstance(found, NotRun) and "more than memory holds" in found.reason
