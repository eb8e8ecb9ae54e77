"""Chapter 13: the answer 0, measured."""

import numpy as np

from icl.estimates import Estimate, monte_carlo
from icl.prompts import PromptLaw


def measured_risk(law: PromptLaw, prompts: int, rng: np.random.Generator) -> Estimate:
    """Mean of y_query² over so many random prompts."""
    return monte_carlo(lambda B: law.sample(rng, B).y_query ** 2, prompts)
