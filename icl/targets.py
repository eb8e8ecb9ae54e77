r"""Random targets for in-context learning that need not be linear, and the prompts they make.

A family is one function: `values(x, rng)` draws B targets f_1, …, f_B from `rng` and returns f_k at the
covariates x[k], so x is (B, m, d) and the values are (B, m). One row, one target: all m values of a row belong
to the same f, and the draw of f must not look at x. Ten families come with exact moments
(`icl.theory.nonlinear_targets`); a reader's own function is wrapped by `reader_family`, which tests it first.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icl.prompts import Prompts
from icl.validation import InputError, check_count, check_generator, check_nonnegative

HIDDEN = 16  # hidden units of the network; its law depends on them only through KAPPA at second order
KAPPA = 1.0  # m s_a² s_w² of the network: E f² = KAPPA d / 2
FREQUENCY = 0.6  # s: sine and cosine have w ~ N(0, s² I)


def activation(z: np.ndarray) -> np.ndarray:
    """The single index's phi(z) = tanh(2z), odd and bounded; z of any shape."""
    return np.tanh(2 * z)


@dataclass(frozen=True)
class Family:
    """A law over targets: `values` as above, its formula in mathtext, and whether its labels have heavy tails."""

    name: str
    formula: str
    values: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    heavy: bool = False

    def __call__(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """f at x, (B, m, d) → (B, m) float64; raises InputError for another shape, NaN or infinity."""
        values = np.asarray(self.values(x, rng))
        if values.shape != x.shape[:2]:
            raise InputError(
                f"the target {self.name!r} must return one number per covariate, shape {x.shape[:2]},"
                f" but returned shape {values.shape}; sum over the last axis of x only."
            )
        if values.dtype.kind not in "fiub":
            raise InputError(f"the target {self.name!r} must return real numbers, not {values.dtype}.")
        wrong = int((~np.isfinite(values)).sum())
        if wrong:
            raise InputError(
                f"the target {self.name!r} is NaN or infinite at {wrong} of {values.size} Gaussian covariates;"
                " it must be finite everywhere."
            )
        return values.astype(float, copy=False)

    def scaled(self, factor: float) -> "Family":
        """The same family with every value multiplied by `factor`."""
        return Family(self.name, self.formula, lambda x, rng: factor * self.values(x, rng), self.heavy)


def _along(x, w):
    """w'x for one w per row: (B, m, d), (B, d) → (B, m)."""
    return (x @ w[..., None])[..., 0]


def _gaussian_direction(x, rng, scale=1.0):
    return _along(x, scale * rng.standard_normal((len(x), x.shape[2])))


def _unit_direction(x, rng):
    w = rng.standard_normal((len(x), x.shape[2]))
    return _along(x, w / np.linalg.norm(w, axis=1, keepdims=True))


def _cube(z):
    return z * z * z  # NumPy's z ** 3 takes a hundred times as long


def _relu_network(x, rng):
    B, _, d = x.shape
    inner = rng.standard_normal((B, d, HIDDEN))
    outer = np.sqrt(KAPPA / HIDDEN) * rng.standard_normal((B, HIDDEN))
    return _along(np.maximum(x @ inner, 0), outer)


def _quadratic(x, rng):
    """x'Qx with Q = (A + A')/2, A standard Gaussian: then x'Qx = x'Ax."""
    A = rng.standard_normal((len(x), x.shape[2], x.shape[2]))
    return np.einsum("bmd,bmd->bm", x @ A, x)


def _cosine(x, rng):
    phase = rng.uniform(0, 2 * np.pi, (len(x), 1))
    return np.sqrt(2) * np.cos(_gaussian_direction(x, rng, FREQUENCY) + phase)


FAMILIES = {
    family.name: family
    for family in (
        Family("linear", "$w^T x$", _gaussian_direction),
        Family("relu_network", r"$\Sigma_j a_j\,\mathrm{relu}(w_j^T x)$", _relu_network),
        Family("sign", r"$\mathrm{sign}(w^T x)$", lambda x, rng: np.sign(_gaussian_direction(x, rng))),
        Family("cubic_unit", r"$(w^T x)^3,\ |w|=1$", lambda x, rng: _cube(_unit_direction(x, rng)), heavy=True),
        Family("cubic_gaussian", "$(w^T x)^3$", lambda x, rng: _cube(_gaussian_direction(x, rng)), heavy=True),
        Family("quadratic", "$x^T Q x$", _quadratic, heavy=True),
        Family(
            "linear_quadratic",
            r"$w^T x + \frac{1}{2} x^T Q x$",
            lambda x, rng: _gaussian_direction(x, rng) + _quadratic(x, rng) / 2,
            heavy=True,
        ),
        Family(
            "sine",
            r"$\sqrt{2}\,\sin(w^T x)$",
            lambda x, rng: np.sqrt(2) * np.sin(_gaussian_direction(x, rng, FREQUENCY)),
        ),
        Family("cosine", r"$\sqrt{2}\,\cos(w^T x + \varphi)$", _cosine),
        Family("single_index", r"$\tanh(2 w^T x),\ |w|=1$", lambda x, rng: activation(_unit_direction(x, rng))),
    )
}
# Rotation invariant but not sign symmetric: −f does not have the law of f.
ASYMMETRIC = {
    family.name: family
    for family in (
        Family(
            "tilted_bowl",
            r"$w^T x + \frac{1}{2}(|x|^2 - d) + 1$",
            lambda x, rng: _gaussian_direction(x, rng) + ((x**2).sum(-1) - x.shape[2]) / 2 + 1,
        ),
        Family("single_relu", r"$\mathrm{relu}(w^T x)$", lambda x, rng: np.maximum(_gaussian_direction(x, rng), 0)),
    )
}


def _signed_cube(x, rng):
    return rng.choice([-1.0, 1.0], (len(x), 1)) * _cube(x[..., 0])


def uneven_linear(variances) -> Family:
    """w'x with w ~ N(0, diag(variances)): sign symmetric, not rotation invariant (counterexample B)."""
    deviations = np.sqrt(variances)
    return Family("uneven_linear", "$w^T x$", lambda x, rng: _along(x, deviations * rng.standard_normal(x[:, 0].shape)))


# Sign symmetric but not rotation invariant (counterexample A).
SIGNED_CUBE = Family("signed_cube", r"$\pm x_1^3$", _signed_cube, heavy=True)


def gaussian_covariates(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """N(0, I)."""
    return rng.standard_normal(shape)


def sphere_covariates(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Uniform on the sphere of radius √d, (B, n, d), so that E xx' = I as for the Gaussian."""
    x = rng.standard_normal(shape)
    return np.sqrt(shape[-1]) * x / np.linalg.norm(x, axis=-1, keepdims=True)


def mixture_covariates(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Gaussian with variance ½ or 3/2, each half of the time, (B, n, d): E xx' = I, heavier tails."""
    return np.sqrt(rng.choice([0.5, 1.5], (*shape[:-1], 1))) * rng.standard_normal(shape)


@dataclass(frozen=True)
class TargetLaw:
    """The law of a prompt with y_i = f(x_i) + eps_i: a family, d, n ≥ 1, sigma2 ≥ 0, and the law of x.

    `covariates(rng, shape)` draws x; the default is N(0, I). Raises InputError for a value out of range.
    """

    family: Family
    d: int
    n: int
    sigma2: float
    covariates: Callable[[np.random.Generator, tuple], np.ndarray] = gaussian_covariates

    def __post_init__(self):
        check_count("d", self.d), check_count("n", self.n), check_nonnegative("sigma2", self.sigma2)

    def sample(self, rng: np.random.Generator, B: int) -> Prompts:
        """Draw B independent prompts (float64); `beta` is None, for f need not be a vector.

        Raises InputError for B < 1 and what is no generator.
        """
        check_generator(rng)
        x = self.covariates(rng, (check_count("B", B), self.n + 1, self.d))
        y = self.family(x, rng) + np.sqrt(self.sigma2) * rng.standard_normal(x.shape[:2])
        return Prompts(x[:, :-1], y[:, :-1], x[:, -1], y[:, -1], None)


def rotation_statistic(family: Family, d: int, rng: np.random.Generator, *, draws: int = 20_000) -> float:
    """How far from rotation invariant the family is: the largest |z| over 108 comparisons.

    The values at six Gaussian points, and at the same points under four random orthogonal matrices, must have
    one law. Compared are the means of tanh(f(p_i)/scale) and of their products: bounded, so that heavy tails do
    no harm. Raises InputError as `Family.__call__`.
    """
    points = rng.standard_normal((6, d))
    rotations = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(4)]
    first, second = np.triu_indices(6)
    scale = None
    moments = []
    for turn in [np.eye(d), *rotations]:
        values = family(np.tile(points @ turn, (draws, 1, 1)), rng)
        scale = scale or float(np.median(np.abs(values))) or 1.0
        bounded = np.tanh(values / scale)
        features = np.hstack([bounded, bounded[:, first] * bounded[:, second]])
        moments.append((features.mean(0), features.var(0) / draws))
    (mean, variance), turned = moments[0], moments[1:]
    z = [np.abs(m - mean) / np.sqrt(v + variance + 1e-20) for m, v in turned]
    return float(np.max(z))


def reader_family(function, d: int, rng: np.random.Generator, *, name: str = "yours") -> Family:
    """Wrap a reader's `function(x, rng)` as a Family, after testing it at dimension d.

    Raises InputError, one sentence each: not a function, a wrong shape, NaN, or a law that rotations of x change
    (statistic above 5).
    """
    if not callable(function):
        raise InputError(f"a target must be a function of (x, rng), not {type(function).__name__}.")
    family = Family(name, name, function)
    statistic = rotation_statistic(family, check_count("d", d), rng)
    if statistic > 5:
        raise InputError(
            f"the target {name!r} is not rotation invariant: its values at rotated covariates differ by"
            f" {statistic:.3g} standard errors (at most 5 allowed); give it a random direction."
        )
    return family
