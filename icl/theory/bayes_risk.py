r"""The Bayes risk of in-context linear regression: Lemma 6.1 of Zhang, Wu and Bartlett (2024).

The Bayes predictor is ridge regression centred at beta_star. With D = diag(φ_i) the eigenvalues of
Phi and Z an n × d standard normal matrix its risk is

    R_B = sigma2 + sigma2 E tr[ D (sigma2 I + D^{1/2} Z'Z D^{1/2})^{-1} ].

For D = m I the expectation is a spectral sum of a white Wishart matrix, computed without sampling.
"""

import numpy as np

from icl.theory.wishart import expected_spectral_sum
from icl.validation import InputError, check_count, check_nonnegative


def isotropic_bayes_risk(d: int, n: int, sigma2: float, m: float = 1.0) -> float:
    """Exact Bayes risk for Phi = m I, to about 1e-12 relative.

    d, n ≥ 1; sigma2 ≥ 0 the noise variance; m > 0 the variance of a task coordinate. sigma2 = 0 gives the
    limit m·max(d − n, 0): what n noiseless examples leave unseen. Raises InputError otherwise.
    """
    d, n, sigma2 = check_count("d", d), check_count("n", n), check_nonnegative("sigma2", sigma2)
    if check_nonnegative("m", m) == 0:
        raise InputError("m must be positive: with m = 0 the task is known and the Bayes risk is sigma2.")
    unseen = m * max(d - n, 0)  # directions outside the span of the context keep their prior variance
    if sigma2 == 0:
        return float(unseen)
    q = sigma2 / m
    seen = expected_spectral_sum(lambda lam: sigma2 / (q + lam), d, n, finest=np.sqrt(q))
    return sigma2 + unseen + seen
