"""Newton's method at the end of a search: to the bottom where L-BFGS crawls, and no further than the model may go."""

import numpy as np
import pytest

from icl.chapters import attention
from icl.chapters.last_steps import newton
from icl.models.effective import EffectiveParameters
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw
from icl.theory import mlp_benefit as theory

STEEP = PromptLaw(20, np.diag([1.0, 0.5]), np.eye(2), np.full(2, 500.0), 0.3).with_labels_scaled(1 / 500)


def test_from_a_crawl_to_the_bottom(rng):
    options = dict(build=LinearTransformerBlock, iterations=100, scale=0.3)
    crawling = attention.restarts(STEEP, 2, rng, **options)
    least = theory.ltb_minimal_risk(STEEP)
    ends = [newton(STEEP, start, list(start.numpy())) for start in crawling.weights]
    assert (crawling.risks > 1.001 * least).all()
    assert min(attention.exact_risk(STEEP, end) for end in ends) == pytest.approx(least, rel=1e-9)


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
