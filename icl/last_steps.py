"""The last steps of a search over all weights: Newton's method on the few numbers through which they reach the risk.

L-BFGS finds the valley; where the valley is a thousand times as steep across as along, it then crawls, and here a dozen
Newton steps reach the bottom. Any effective parameters belong to some matrices, so nothing is restricted by this. The
steps are taken in coordinates in which the covariates are white: what their covariance hides or stretches is then no
part of the problem, and costs no digits.
"""

import numpy as np
from scipy.optimize import minimize, root

from icl.models.effective import EffectiveParameters
from icl.models.risk_gradient import RiskGradient
from icl.prompts import PromptLaw

STEP = 1e-30j  # to the side; the gradient is a polynomial, and nothing is subtracted
AT_ONCE = 64  # gradients; the matrices of more do not fit into the cache


def newton(
    law: PromptLaw, start: EffectiveParameters, free: list[str], *, steps: int = 200, unit: float = 1.0
) -> EffectiveParameters:
    """Minimise the exact risk over the parts named in `free` ("w1", "v", "c", "V", "u"); the others stay as they are.

    The risk is that of `unit` times what the weights predict.

    Steps by conjugate gradients within a trust region, at most `steps` of them; the Hessian is seen along directions
    only. The risk never rises.
    """
    search = _Search(law, start, free, unit)
    # Steps of at most 2: along what does not change the function, long ones would wander off into rounding.
    options = dict(maxiter=steps, gtol=1e-12, max_trust_radius=2.0)
    found = minimize(
        search.value_and_gradient,
        search.start,
        jac=True,
        hessp=search.curvature_along,
        method="trust-ncg",
        options=options,
    )
    return search.weights_at(found.x)


def settle(law: PromptLaw, start: EffectiveParameters, free: list[str], *, unit: float = 1.0) -> EffectiveParameters:
    """From a minimum as good as the risk can show, to where its gradient is 0 to the last digit; options as `newton`.

    Near its minimum the risk is flat, and its own rounding hides half of the weights' digits; the gradient shows them.
    Levenberg and Marquardt's method, which keeps still along the directions in which nothing changes. Where that ended
    at a higher risk it was another stationary point, and `start` is returned.
    """
    search = _Search(law, start, free, unit)
    gradient = lambda vector: search.value_and_gradient(vector)[1]
    options = dict(xtol=1e-15, ftol=1e-15, gtol=0.0, maxiter=60)
    found = root(gradient, search.start, jac=search.curvature, method="lm", options=options).x
    before, after = (search.value_and_gradient(at)[0] for at in (search.start, found))
    return search.weights_at(found) if after <= before + 1e-12 * abs(before) else start


class _Search:
    """The risk as a function of one vector: the `free` parts end to end, as they act on z, x = root' z, z ~ N(0, I)."""

    def __init__(self, law: PromptLaw, given: EffectiveParameters, free: list[str], unit: float):
        root, self.inverse = law.whitening
        self.risk = RiskGradient(law.whitened, unit)
        self.given, self.free = given.numpy(), free
        self.parts = given.substituted(root).numpy()
        self.start = np.concatenate([np.ravel(self.parts[name]) for name in free])
        ends = np.cumsum([self.parts[name].size for name in free])
        self.places = {name: slice(end - self.parts[name].size, end) for name, end in zip(free, ends, strict=True)}

    def weights_at(self, vector: np.ndarray) -> EffectiveParameters:
        """The weights on x again; what H does not see of the free parts is 0."""
        moved = EffectiveParameters.from_numpy(**self._parts_at(vector)).substituted(self.inverse).numpy()
        return EffectiveParameters.from_numpy(**self.given | {name: moved[name] for name in self.free})

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.risk.of_parts(**self._parts_at(vector))
        return float(value), np.concatenate([np.ravel(gradient[name]) for name in self.free])

    def curvature_along(self, vector: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction, to the last digit: the gradient's imaginary part, a small step to the side."""
        return self._gradients((vector + STEP * direction)[None])[0].imag / abs(STEP)

    def curvature(self, vector: np.ndarray) -> np.ndarray:
        """The Hessian, a row a direction."""
        matrix = self._gradients(vector + STEP * np.eye(len(vector))).imag / abs(STEP)
        return (matrix + matrix.T) / 2

    def _gradients(self, vectors: np.ndarray) -> np.ndarray:
        """At each row of `vectors`, many at once: one after the other they would be most of the search."""
        parts = [vectors[k : k + AT_ONCE] for k in range(0, len(vectors), AT_ONCE)]
        found = [(len(part), self.risk.of_parts(**self._parts_at(part))[1]) for part in parts]
        return np.vstack([np.hstack([by[name].reshape(rows, -1) for name in self.free]) for rows, by in found])

    def _parts_at(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """The weights on z, of one vector or of each row of many."""
        shapes = {name: vectors.shape[:-1] + self.parts[name].shape for name in self.free}
        moved = {name: vectors[..., where].reshape(shapes[name]) for name, where in self.places.items()}
        return self.parts | moved
