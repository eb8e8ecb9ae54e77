"""Chapter 12: the power of the test, the shipped models, and counted models at other parameters."""

import numpy as np
import pytest

from icl.chapters.your_own_model import experiments as chapter
from icl.comparison.table import prompts_needed
from icl.estimates import Estimate
from icl.prompts import PromptLaw

LAW = PromptLaw.isotropic(3, 9, 0.5)


def test_the_prompts_wanted_tell_apart_nine_times_in_ten(rng):
    penalties = (0.5, 0.5, 1.5)
    count = chapter.wanted(chapter.farther(LAW, penalties, 20_000, rng))
    found = chapter.detected(LAW, penalties, count, 300, rng)
    assert abs(found.mean - 0.9) < 0.06 + 4 * found.stderr
    assert prompts_needed(Estimate(1.0, 1.0, 100)) == np.ceil(100 * 6.2816**2)
    assert prompts_needed(Estimate(0.0, 1.0, 100)) == np.inf


def test_the_same_penalty_is_never_told_apart(rng):
    assert chapter.detected(LAW, (0.5, 0.5, 0.5), 50, 20, rng).mean == 0


@pytest.mark.parametrize("name", chapter.SHIPPED)
def test_shipped_models_come_with_their_law(name):
    model, law = chapter.shipped(name)
    assert (law.d, law.n, law.sigma2) == (5, 10, 0) and not model.training


def test_newton_steps_are_counted(rng):
    models = {k: chapter.newton_model(LAW, k) for k in (1, 3)}
    off, near = chapter.miscounted(models, LAW, ("newton_fixed", "newton"), 120, rng)
    assert off == 0 and near > 0
