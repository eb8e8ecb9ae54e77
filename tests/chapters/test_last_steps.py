"""Newton's method at the end of a search: to the bottom where L-BFGS crawls, and no further than the model may go."""

import numpy as np
import pytest

from icl.chapters import attention
from icl.chapters.last_steps import newton
from icl.models.effective import EffectiveParameters
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw
from icl.theory import mlp_benefit as theory

STEEP = PromptLaw(20, np.diag([1.0, 0.5]), np.eye(2), np.full(2, 500.0), 0.3).with_labels_scaled(1 / 500)
BUILDS = {
    "attention": (LinearSelfAttention, lambda law: theory.lsa_minimum(law).risk),
    "block": (LinearTransformerBlock, theory.ltb_minimal_risk),
}


def test_it_reaches_the_bottom_where_lbfgs_has_not(rng):
    floor = theory.ltb_minimal_risk(STEEP)
    options = dict(build=LinearTransformerBlock, iterations=100, scale=0.3)
    seed = int(rng.integers(2**32))
    crawling, finished = (
        attention.restarts(STEEP, 2, np.random.default_rng(seed), finish=finish, **options) for finish in (False, True)
    )
    assert (crawling.risks > 1.001 * floor).all()
    assert finished.risks.min() == pytest.approx(floor, rel=1e-9)


@pytest.mark.parametrize("name", BUILDS)
def test_each_model_ends_at_its_own_minimum(name, rng):
    build, floor = BUILDS[name]
    law = PromptLaw(9, np.diag([1.0, 0.4]), np.array([[1.0, 0.3], [0.3, 0.7]]), np.array([1.0, -0.5]), 0.4)
    ends = attention.restarts(law, 6, rng, build=build, iterations=20, init="label_path", finish=True)
    assert ends.risks.min() == pytest.approx(floor(law), rel=1e-12)
    for risk, weights in zip(ends.risks, ends.weights, strict=True):
        assert attention.exact_risk(law, weights) == risk
        assert name == "block" or not weights.w1.any()


def test_parts_that_are_not_free_stay_and_the_risk_never_rises(rng):
    d, law = 3, PromptLaw.isotropic(3, 8, 0.4, np.ones(3))
    start = EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in ((d,), (d,), (), (d, d), (d,))))
    before = start.numpy()
    for free in (["v", "c"], ["V"], ["w1", "u"], ["w1", "v", "c", "V", "u"]):
        end = newton(law, start, free)
        after = end.numpy()
        assert attention.exact_risk(law, end) < attention.exact_risk(law, start)
        assert all(np.array_equal(after[name], before[name]) for name in before if name not in free)
        assert all(not np.array_equal(after[name], before[name]) for name in free)
