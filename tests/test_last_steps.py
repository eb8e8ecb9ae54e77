"""Newton's method at the end of a search: to the bottom where L-BFGS crawls, and no further than the model may go."""

import numpy as np
import pytest
import torch

from icl import search
from icl.last_steps import _Search, newton, settle
from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.models.linear_block import LinearTransformerBlock
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw
from icl.theory import mlp_benefit as theory
from icl.theory import one_step_gd, preconditioned_gd

STEEP = PromptLaw(20, np.diag([1.0, 0.5]), np.eye(2), np.full(2, 500.0), 0.3).with_labels_scaled(1 / 500)


def test_from_a_crawl_to_the_bottom(rng):
    options = dict(build=LinearTransformerBlock, iterations=100, scale=0.3)
    crawling = search.restarts(STEEP, 2, rng, **options)
    least = theory.ltb_minimal_risk(STEEP)
    ends = [newton(STEEP, start, list(start.numpy())) for start in crawling.weights]
    assert (crawling.risks > 1.001 * least).all()
    assert min(search.exact_risk(STEEP, end) for end in ends) == pytest.approx(least, rel=1e-9)


def test_second_derivatives_are_autograd_s(rng):
    d, law = 3, PromptLaw(6, np.diag([1.0, 0.5, 0.2]), np.eye(3), np.array([1.0, -2.0, 0.5]), 0.4)
    parts = [rng.standard_normal(shape) for shape in ((d,), (d,), (), (d, d), (d,))]
    search = _Search(law, EffectiveParameters.from_numpy(*parts), ["v", "c", "V"], 0.7)
    risk = ExactRisk(law.whitened)

    def at(vector):
        whole = {name: torch.from_numpy(part) for name, part in search.parts.items()}
        whole |= {name: vector[where].reshape(whole[name].shape) for name, where in search.places.items()}
        return risk(EffectiveParameters(**whole).magnified(0.7)) / 0.7**2

    expected = torch.autograd.functional.hessian(at, torch.from_numpy(search.start)).numpy()
    found, along = search.curvature(search.start), rng.standard_normal(len(search.start))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(search.curvature_along(search.start, along), expected @ along, rtol=1e-11, atol=1e-11)


def test_parts_that_are_not_free_stay_and_the_risk_never_rises(rng):
    d, law = 3, PromptLaw.isotropic(3, 8, 0.4, np.ones(3))
    start = EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in ((d,), (d,), (), (d, d), (d,))))
    before = start.numpy()
    for free in (["v", "c"], ["V"], ["w1", "u"], ["w1", "v", "c", "V", "u"]):
        end = newton(law, start, free)
        after = end.numpy()
        assert search.exact_risk(law, end) < search.exact_risk(law, start)
        assert all(np.array_equal(after[name], before[name]) for name in before if name not in free)
        assert all(not np.array_equal(after[name], before[name]) for name in free)


@pytest.mark.parametrize("condition", [1.0, 30.0])
def test_a_minimum_that_has_settled_is_known_to_the_last_digit(rng, condition):
    """From where the risk, flat at its minimum, shows half of the digits, on a singular H and without noise too."""
    H, singular = np.diag(np.geomspace(1, 1 / condition, 3)), np.diag([1.0, 0.5, 0.0])
    for law in (PromptLaw(7, H, np.eye(3), np.zeros(3), 0.4), PromptLaw(7, singular, H, np.zeros(3), 0.0)):
        (near,) = search.restarts(law, 1, rng, scale=0.1, init="label_path").weights
        blurred = {name: part + 1e-8 * rng.standard_normal(part.shape) for name, part in near.numpy().items()}
        start = EffectiveParameters.from_numpy(**blurred | {"w1": near.numpy()["w1"]})
        end = settle(law, start, ["v", "c", "V", "u"])
        _, gradient = RiskGradient(law)(end)
        assert max(np.abs(part).max() for name, part in gradient.items() if name != "w1") < 1e-14
        expected = law.H @ preconditioned_gd.preconditioner(law) @ law.H
        off = [np.abs(law.H @ search.preconditioner(at) @ law.H - expected).max() for at in (start, end)]
        assert off[1] < 1e-14 and off[0] > 1e-10, off


def test_what_settles_at_a_higher_risk_stays_where_it_was():
    """On the way down from 0, where nothing is learned, the nearest point without a gradient is 0 again."""
    law = PromptLaw.isotropic(2, 5, 0.3)
    for scale, reached in ((0.1, False), (0.3, False), (1.0, True)):
        start = EffectiveParameters.from_numpy(np.zeros(2), np.zeros(2), scale, scale * np.eye(2), np.zeros(2))
        end = settle(law, start, ["v", "c", "V", "u"])
        least = one_step_gd.minimal_risk(2, 5, 0.3) if reached else search.exact_risk(law, start)
        assert search.exact_risk(law, end) == pytest.approx(least, rel=1e-14)
