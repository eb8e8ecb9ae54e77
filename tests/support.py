"""Helpers shared by tests: random problems, the five-standard-error rule, a brute-force Gaussian expectation."""

import subprocess
import time
from itertools import product
from math import prod

import numpy as np

from icl.estimates import monte_carlo
from icl.prompts import PromptLaw, symmetric_root


def ends(process: int, seconds: float = 60.0) -> bool:
    """Whether the process of this number, somebody else's child, ends within so many seconds."""
    patience = time.monotonic() + seconds
    while time.monotonic() < patience:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout
        if not state.strip() or state.startswith("Z"):
            return True
        time.sleep(0.1)
    return False


def random_covariance(rng, d, rank=None) -> np.ndarray:
    factor = rng.standard_normal((d, rank or d))
    return factor @ factor.T / d


def random_law(rng, d, n, sigma2=0.3) -> PromptLaw:
    return PromptLaw(n, random_covariance(rng, d), random_covariance(rng, d), rng.standard_normal(d), sigma2)


def random_weights(rng, d, scale=0.5):
    from icl.models.effective import EffectiveParameters

    shapes = [(d,), (d,), (), (d, d), (d,)]
    return EffectiveParameters.from_numpy(*(scale * rng.standard_normal(shape) for shape in shapes))


def assert_within_errors(estimate, predicted, errors=5.0):
    distance = np.abs(np.asarray(estimate.mean) - predicted)
    assert np.all(distance <= errors * np.asarray(estimate.stderr)), (
        f"predicted {predicted}, measured {estimate.mean} ± {estimate.stderr}"
    )


def estimate(draw, count, chunk=20_000):
    return monte_carlo(draw, count, chunk=chunk)


class Polynomial(dict):
    """A polynomial in independent standard normals: exponents (a tuple) → coefficient."""

    def __add__(self, other):
        result = Polynomial(self)
        for powers, coefficient in other.items():
            result[powers] = result.get(powers, 0.0) + coefficient
        return result

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            return Polynomial({powers: other * coefficient for powers, coefficient in self.items()})
        result = Polynomial()
        for (p, a), (q, b) in product(self.items(), other.items()):
            powers = tuple(i + j for i, j in zip(p, q, strict=True))
            result[powers] = result.get(powers, 0.0) + a * b
        return result

    __rmul__ = __mul__

    def expectation(self) -> float:
        """E z^{2k} = (2k − 1)!!, and 0 for odd powers (Isserlis, Wick)."""
        return sum(c * prod(_double_factorial(k) for k in powers) for powers, c in self.items())


def _double_factorial(power: int) -> int:
    return 0 if power % 2 else prod(range(1, power, 2))


def wick_risk(law: PromptLaw, weights) -> float:
    """E (f − y)² by expanding the residual in standard normals: exact, exponential in n d, for tests only."""
    d, n = law.d, law.n
    count = (n + 1) * d + d + n
    variable = lambda k: Polynomial({tuple(int(i == k) for i in range(count)): 1.0})
    constant = lambda value: Polynomial({(0,) * count: float(value)})
    linear = lambda row, variables: sum((float(r) * z for r, z in zip(row, variables, strict=True)), Polynomial())
    z = [variable(k) for k in range(count)]
    root_H, root_Psi = symmetric_root(law.H), symmetric_root(law.Psi)
    x = [[linear(root_H[j], z[i * d : (i + 1) * d]) for j in range(d)] for i in range(n + 1)]
    beta = [linear(root_Psi[j], z[(n + 1) * d : (n + 2) * d]) + constant(law.beta_star[j]) for j in range(d)]
    noise = [np.sqrt(law.sigma2) * variable((n + 2) * d + i) for i in range(n)]
    dot = lambda left, right: sum((a * b for a, b in zip(left, right, strict=True)), Polynomial())
    part, query = weights.numpy(), x[n]
    f = linear(part["w1"], query)
    for i in range(n):
        y = dot(x[i], beta) + noise[i]
        left = linear(part["v"], x[i]) + float(part["c"]) * y
        right = dot(x[i], [linear(row, query) for row in part["V"]]) + y * linear(part["u"], query)
        f = f + (1.0 / n) * (left * right)
    residual = f + (-1.0) * dot(query, beta)
    return law.sigma2 + (residual * residual).expectation()
