"""Chapter 12: the power of the test, the shipped models, and counted models at other parameters."""

import numpy as np
import pytest

from icl.chapters.your_own_model import experiments as chapter
from icl.comparison.table import prompts_needed
from icl.estimates import Estimate
from icl.prompts import PromptLaw
from icl.solvers import linear

LAW = PromptLaw.isotropic(3, 9, 0.5)


def test_the_prompts_wanted_tell_apart_nine_times_in_ten(rng):
    penalties = (0.5, 0.5, 1.5)
    Delta = chapter.farther(LAW, penalties, 20_000, rng)
    count = int(prompts_needed(Estimate(Delta.mean(), Delta.std() / np.sqrt(len(Delta)), len(Delta))))
    tables = [chapter.farther(LAW, penalties, count, rng) for _ in range(300)]
    found = chapter.detected([D.mean() > 5 * D.std(ddof=1) / np.sqrt(count) for D in tables], count, Delta)
    assert abs(found.mean - 0.9) < 0.06 + 4 * found.stderr
    sure = chapter.detected([True] * 9 + [False], 100, 1 + 1e-9 * Delta)
    assert sure.mean == 0.9 and sure.stderr == pytest.approx((0.09 / 10 + 0.01 / 10) ** 0.5, rel=0.2)
    assert found.stderr > 1.05 * np.sqrt(found.mean * (1 - found.mean) / 300)  # the reckoned number's own error
    assert prompts_needed(Estimate(1.0, 1.0, 100)) == np.ceil(100 * 6.2816**2)
    assert prompts_needed(Estimate(0.0, 1.0, 100)) == np.inf
    assert "more than 10,000 prompts" in chapter.detected([], 10_000, Delta).reason


def test_the_same_penalty_is_never_farther(rng):
    assert (chapter.farther(LAW, (0.5, 0.5, 0.5), 50, rng) == 0).all()


def test_errors_of_a_function_of_a_mean(rng):
    found = chapter.with_error(3 + rng.standard_normal(10_000), np.square)
    assert found.mean == pytest.approx(9, abs=0.3) and found.stderr == pytest.approx(0.06, rel=0.05)


@pytest.mark.parametrize("name", chapter.SHIPPED)
def test_shipped_models_come_with_their_law(name):
    model, law = chapter.shipped(name)
    assert (law.d, law.n, law.sigma2) == (5, 10, 0) and not model.training


def test_newton_steps_are_counted(rng):
    models = {k: chapter.newton_model(LAW, k) for k in (1, 3)}
    off, near = chapter.miscounted(models, LAW, ("newton_fixed", "newton"), 120, rng)
    assert off == 0 and near > 0
    ridge = lambda X, y, x_query: (linear.ridge(X, y, 0.5) * x_query).sum(1)
    off, _ = chapter.miscounted({3: ridge}, LAW, ("newton_fixed", "newton"), 120, rng)
    assert off > 900, "what is not named so has no count"
