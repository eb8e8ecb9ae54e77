"""Newton's method at the end of a search: to the bottom where L-BFGS crawls, and no further than the model may go."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from icl import search
from icl.last_steps import _Reduced, _Search, newton, settle
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.linear_block import LinearTransformerBlock
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.theory import mlp_benefit as theory
from icl.theory import preconditioned_gd
from icl.theory.moments import label_unit

STEEP = PromptLaw(20, np.diag([1.0, 0.5]), np.eye(2), np.full(2, 500.0), 0.3).with_labels_scaled(1 / 500)


def test_from_a_crawl_to_the_bottom(rng):
    options = dict(build=LinearTransformerBlock, iterations=100, scale=0.3)
    crawling = search.restarts(STEEP, 2, rng, **options)
    least = theory.ltb_minimal_risk(STEEP)
    ends = [newton(STEEP, start, w1=True) for start in crawling.weights]
    assert (crawling.risks > 1.001 * least).all()
    assert min(search.exact_risk(STEEP, end) for end in ends) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("w1", [False, True])
def test_second_derivatives_are_autograd_s(rng, w1):
    d, law = 3, PromptLaw(6, np.diag([1.0, 0.5, 0.2]), np.eye(3), np.array([1.0, -2.0, 0.5]), 0.4)
    parts = [rng.standard_normal(shape) for shape in ((d,), (d,), (), (d, d), (d,))]
    search = _Search(law, EffectiveParameters.from_numpy(*parts), w1, 0.7)
    risk, mean = ExactRisk(law.whitened), torch.from_numpy(law.whitened.beta_star)

    def at(vector):
        whole = {name: torch.from_numpy(np.asarray(part)) for name, part in search.parts.items()}
        whole |= {name: vector[where].reshape(whole[name].shape) for name, where in search.places.items()}
        whole["w1"] = whole["w1"] + mean / 0.7  # the vector is told from the mean task on
        whole |= {"v": whole["v"] - whole["c"] * mean, "V": whole["V"] - torch.outer(mean, whole["u"])}
        return risk(EffectiveParameters(**whole).magnified(0.7)) / 0.7**2

    expected = torch.autograd.functional.hessian(at, torch.from_numpy(search.start)).numpy()
    found = search.curvature_along(search.start, np.eye(len(search.start)))
    along = rng.standard_normal(len(search.start))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    (seen,) = search.curvature_along(search.start, along[None])
    np.testing.assert_allclose(seen, expected @ along, rtol=1e-11, atol=1e-11)


def random_parts(rng, d):
    return EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in ((d,), (d,), (), (d, d), (d,))))


def test_without_w1_it_stays_and_the_risk_never_rises(rng):
    law, start = PromptLaw.isotropic(3, 8, 0.4, np.ones(3)), random_parts(rng, 3)
    for w1 in (False, True):
        end = newton(law, start, w1=w1)
        assert search.exact_risk(law, end) < search.exact_risk(law, start)
        moved = {name for name, part in end.numpy().items() if not np.array_equal(part, start.numpy()[name])}
        assert moved == {"v", "c", "V", "u"} | ({"w1"} if w1 else set())


def test_given_v_and_c_the_other_parts_are_the_best(rng):
    """Value, gradient and Hessian of the reduced risk, against L-BFGS over the inner parts and finite differences."""
    law = PromptLaw(6, np.diag([1.0, 0.5]), np.array([[1.0, 0.3], [0.3, 0.7]]), np.array([1.0, -2.0]), 0.4)
    whole = _Search(law, random_parts(rng, 2), True, 0.7)
    reduced, read = _Reduced(whole), rng.standard_normal(3)
    at = reduced.at(read)
    inner, free = reduced.inner.ravel(), at.best.copy()

    def of_inner(part):
        free[inner] = part
        value, gradient = whole.value_and_gradient(free)
        return value, gradient[inner]

    found = minimize(of_inner, np.zeros(len(inner)), jac=True, method="BFGS", options=dict(gtol=1e-10))
    assert at.value == pytest.approx(found.fun, rel=1e-9) and np.array_equal(at.best[reduced.outer], read)
    steps = 1e-5 * np.eye(3)
    slope = [(reduced.at(read + step).value - reduced.at(read - step).value) / 2e-5 for step in steps]
    np.testing.assert_allclose(at.gradient, slope, rtol=1e-6, atol=1e-8)
    bend = [(reduced.at(read + step).gradient - reduced.at(read - step).gradient) / 2e-5 for step in steps]
    np.testing.assert_allclose(at.curvature, bend, rtol=1e-5, atol=1e-7)
    assert reduced.at(3 * read).value == pytest.approx(at.value, rel=1e-12), "only the direction counts"


@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_along_a_bent_valley_a_dozen_steps_are_enough(rng, mean):
    """Attention whose tasks have a large mean: from a short descent to the theorem's least risk."""
    law = PromptLaw(12, np.diag(np.geomspace(1, 0.25, 5)), np.eye(5), np.full(5, mean), 1.0)
    law = law.with_labels_scaled(1 / label_unit(law))
    (near,) = search.restarts(law, 1, rng, iterations=30).weights
    least = theory.lsa_minimum(law).risk
    assert search.exact_risk(law, near) > (1 + 1e-9) * least
    assert search.exact_risk(law, newton(law, near, w1=False)) == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("condition", [1.0, 30.0])
def test_a_minimum_that_has_settled_is_known_to_the_last_digit(rng, condition):
    """From where the risk, flat at its minimum, shows half of the digits, on a singular H and without noise too."""
    H, singular = np.diag(np.geomspace(1, 1 / condition, 3)), np.diag([1.0, 0.5, 0.0])
    for law in (PromptLaw(7, H, np.eye(3), np.zeros(3), 0.4), PromptLaw(7, singular, H, np.zeros(3), 0.0)):
        (near,) = search.restarts(law, 1, rng, scale=0.1, init="label_path").weights
        blurred = {name: part + 1e-8 * rng.standard_normal(part.shape) for name, part in near.numpy().items()}
        start = EffectiveParameters.from_numpy(**blurred | {"w1": near.numpy()["w1"]})
        end = settle(law, start, w1=False)
        _, gradient = RiskGradient(law)(end)
        assert max(np.abs(part).max() for name, part in gradient.items() if name != "w1") < 1e-14
        expected = law.H @ preconditioned_gd.preconditioner(law) @ law.H
        off = [np.abs(law.H @ search.preconditioner(at) @ law.H - expected).max() for at in (start, end)]
        assert off[1] < 1e-14 and off[0] > 1e-10, off


def with_best_parts(law, c):
    """Weights that read x and c y of an example, and make the best of it."""
    start = EffectiveParameters.from_numpy(np.zeros(2), np.array([1.0, 0.0]), c, np.eye(2), np.zeros(2))
    whole = _Search(law, start, False, 1.0)
    return whole.weights_at(_Reduced(whole).at(_Reduced(whole).start).best)


def test_what_settles_at_a_higher_risk_stays_where_it_was():
    """On the way down from c = 0, where labels are not read, the nearest point without a gradient is c = 0 again."""
    law = PromptLaw.isotropic(2, 5, 0.3)
    start, least = with_best_parts(law, 0.02), theory.lsa_minimum(law).risk
    assert 1.001 * least < search.exact_risk(law, start)
    end = settle(law, start, w1=False)
    assert search.exact_risk(law, end) == pytest.approx(search.exact_risk(law, start), rel=1e-14)


def test_nearby_three_steps_are_enough():
    """Only the direction of v and c counts: a step that lengthened them would change nothing."""
    law = PromptLaw.isotropic(2, 5, 0.3)
    near = with_best_parts(law, 0.2)
    far = search.exact_risk(law, near)
    assert search.exact_risk(law, settle(law, near, w1=False)) < far - 1e-3
