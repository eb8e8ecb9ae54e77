"""The answer 0: the formula against prompts of another kind."""

import numpy as np
from support import assert_within_errors

from icl.chapters.zero_answer import experiments
from icl.prompts import PromptLaw
from icl.theory import zero_answer as theory


def test_the_risk_of_the_answer_0(rng):
    for d, sigma2 in ((1, 0.0), (7, 2.0)):
        law = PromptLaw.isotropic(d, 3, sigma2)
        assert_within_errors(experiments.measured_risk(law, 50_000, rng), theory.risk(d, sigma2))
        assert theory.risk(d, sigma2) == np.trace(law.H @ law.Psi) + sigma2
