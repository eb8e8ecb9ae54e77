"""The last steps of a search over all weights: Newton's method on the few numbers through which they reach the risk.

L-BFGS finds the valley; where the valley is a thousand times as steep across as along, it then crawls, and here a dozen
Newton steps reach the bottom. Any effective parameters belong to some matrices, so nothing is restricted by this.
"""

import numpy as np
from scipy.optimize import minimize

from icl.models.effective import EffectiveParameters
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw


def newton(law: PromptLaw, start: EffectiveParameters, free: list[str], *, steps: int = 60) -> EffectiveParameters:
    """Minimise the exact risk over the parts named in `free` ("w1", "v", "c", "V", "u"); the others stay as they are.

    Within a trust region, at most `steps` steps; Hessians are differences of the exact gradient. The risk never rises.
    """
    parts, risk = start.numpy(), RiskGradient(law)
    cuts = np.cumsum([parts[name].size for name in free])[:-1].tolist()

    def weights_at(vector) -> EffectiveParameters:
        pieces = zip(free, np.split(vector, cuts), strict=True)
        moved = {name: piece.reshape(parts[name].shape) for name, piece in pieces}
        return EffectiveParameters.from_numpy(**parts | moved)

    def value_and_gradient(vector):
        value, gradient = risk(weights_at(vector))
        return value, np.concatenate([np.ravel(gradient[name]) for name in free])

    def curvature(vector):
        h = 1e-5 * np.maximum(1.0, np.abs(vector))
        rows = [value_and_gradient(vector + e)[1] - value_and_gradient(vector - e)[1] for e in np.diag(h)]
        matrix = np.array(rows) / (2 * h[:, None])
        return (matrix + matrix.T) / 2

    # Steps of at most 2: where H sees nothing the risk is flat, and long steps would wander off into rounding.
    end = minimize(
        value_and_gradient,
        np.concatenate([np.ravel(parts[name]) for name in free]),
        jac=True,
        hess=curvature,
        method="trust-exact",
        options=dict(maxiter=steps, gtol=1e-12, max_trust_radius=2.0),
    )
    return weights_at(end.x)
