r"""How much depth buys when every prompt has a covariance of its own. This book; the question: Bordelon et al. (2025).

Setting: x_i, x ~ N(0, H) with H = O diag(λ) O', O Haar on O(d) and drawn anew in each prompt; beta ~ N(0, I). A layer
is a gradient step with a matrix, w ← w + Gamma X'(y − Xw)/n. With endless context X'X/n = H, and scalar steps
Gamma_k = a_k I leave the excess risk (over sigma2)

    Σ_i λ_i p(λ_i)²,   p(λ) = Π_k (1 − a_k λ).

The least over all polynomials with p(0) = 1 and degree L is 1/K_L(0, 0), K_L the kernel of the polynomials orthonormal
in the weights λ_i; it is attained by the one orthogonal in the weights λ_i², whose roots are real, so by steps.
Looped layers (one step for all) are a convex problem in that step. With n examples, p is a polynomial in the sample
covariance Ŝ, and all that matters are the moments E tr(H Ŝ^k), found by Wick's rule.
"""

import numpy as np
from scipy.optimize import minimize

from icl.validation import InputError, check_array, check_count, check_nonnegative

MOST_SHORT = 4  # layers of the finite-context formula; eight moments


def spectrum(d: int, condition: float) -> np.ndarray:
    """Eigenvalues (d,) of every prompt's H: evenly spaced in logarithm, falling, with sum d; d = 1 gives 1.

    Raises InputError for d < 1 or a condition number below 1.
    """
    if check_nonnegative("condition", condition) < 1:
        raise InputError(f"condition must be at least 1, not {condition!r}: it is largest over least eigenvalue.")
    eigenvalues = np.geomspace(1, 1 / condition, check_count("d", d))
    return d * eigenvalues / eigenvalues.sum()


def excess(steps, eigenvalues) -> float:
    """Σ λ Π (1 − a λ)², the excess risk of layers with these steps (L,) and endless context."""
    steps, eigenvalues = _arrays(steps, eigenvalues)
    return float(eigenvalues @ np.prod(1 - steps[:, None] * eigenvalues, axis=0) ** 2)


def least_excess(eigenvalues, layers: int) -> float:
    """1/K_L(0, 0): the least excess risk of L ≥ 0 layers, over their steps. This book, from Christoffel's function.

    0 as soon as there are as many layers as different eigenvalues.
    """
    layers, (nodes, _) = check_count("layers", layers, least=0), _arrays(eigenvalues, eigenvalues)
    if layers >= len(_distinct(nodes)):
        return 0.0
    return float(1 / np.sum(_at_zero(nodes, nodes, layers) ** 2))


def free_steps(eigenvalues, layers: int) -> np.ndarray:
    """The best steps of L ≥ 1 layers, (L,), rising: one over the roots of the polynomial orthogonal in λ².

    All lie between 1/λ_max and 1/λ_min. With more layers than different eigenvalues the first step, which magnifies no
    error, is repeated. As L nears d at a large condition number, float64 no longer holds the steps well enough.
    """
    layers = check_count("layers", layers)
    nodes, _ = _arrays(eigenvalues, eigenvalues)
    distinct = _distinct(nodes)
    if layers >= len(distinct):
        return np.r_[np.full(layers - len(distinct), 1 / distinct[0]), 1 / distinct]
    centres, offsets = _recurrence(nodes, nodes**2, layers)
    beside = np.diag(offsets[:-1], 1)
    roots = np.linalg.eigvalsh(np.diag(centres) + beside + beside.T)
    return 1 / roots[::-1]


def shared_step(eigenvalues, layers: int) -> float:
    """The best step that L ≥ 1 layers share: where Σ λ² (1 − aλ)^{2L−1} = 0. The risk is convex in a."""
    layers, (nodes, _) = check_count("layers", layers), _arrays(eigenvalues, eigenvalues)
    return zero_of_falling(lambda a: nodes**2 @ _odd_powers(1 - a * nodes, 2 * layers - 1), 1 / nodes.max())


def newton_alpha(eigenvalues, k: int) -> float:
    """The alpha at which k ≥ 0 steps of Newton's iteration from M_0 = alpha H leave least: `newton_excess`."""
    power, (nodes, _) = 2.0 ** (check_count("k", k, least=0) + 1) - 1, _arrays(eigenvalues, eigenvalues)
    return zero_of_falling(lambda alpha: nodes**3 @ _odd_powers(1 - alpha * nodes**2, power), 1 / nodes.max() ** 2)


def newton_excess(eigenvalues, k: int, alpha: float) -> float:
    """Σ λ (1 − alpha λ²)^{2^{k+1}}: Fu et al. (2024), §3.1, on a known spectrum."""
    nodes, _ = _arrays(eigenvalues, eigenvalues)
    return float(nodes @ np.abs(1 - alpha * nodes**2) ** 2.0 ** (check_count("k", k, least=0) + 1))


def chebyshev_bound(eigenvalues, layers: int) -> float:
    """tr H / T_L((κ + 1)/(κ − 1))² ≥ `least_excess`: the polynomial that is least on all of [λ_min, λ_max]."""
    nodes, _ = _arrays(eigenvalues, eigenvalues)
    least, most = nodes.min(), nodes.max()
    if most - least <= 1e-12 * most:
        return 0.0
    return float(
        nodes.sum() / np.cosh(check_count("layers", layers) * np.arccosh((most + least) / (most - least))) ** 2
    )


def turn(eigenvalues) -> tuple[float, float]:
    """(a, b) with (I − (aI + bJ) H)² = 0 for both rotations of two eigenvalues, J the quarter turn. This book."""
    low, high = sorted(check_array("eigenvalues", eigenvalues, (2,)))
    a = 2 / (low + high)
    return a, np.sqrt(max(1 / (low * high) - a**2, 0.0))


def one_layer_excess(eigenvalues, n: int, sigma2: float) -> float:
    """S_1 − S_2² / ((n+1)/n S_3 + tau/n S_2), S_k = Σ λ^k, tau = S_1 + sigma2: one layer, n examples. This book.

    Zhang, Wu and Bartlett (2024), eq. (6.1), averaged over rotations; it is convex in Gamma, so no matrix does better.
    """
    S_1, S_2, S_3 = (np.sum(np.asarray(eigenvalues) ** k) for k in (1, 2, 3))
    return float(S_1 - S_2**2 / ((n + 1) / n * S_3 + (S_1 + sigma2) / n * S_2))


def moments(eigenvalues, n: int, degree: int) -> np.ndarray:
    """E tr(H Ŝ^k), k = 0 … degree, for Ŝ = X'X/n of n ≥ 1 rows N(0, H): exact, (degree + 1,). Isserlis (1918).

    A state is a product of traces of words in S and H. Wick's rule for the first factor x_i of one S = Σ x_i x_i':
    paired with its own transpose it gives n H; paired with a factor of another S it splits a trace or joins two.
    """
    n, nodes = check_count("n", n), _arrays(eigenvalues, eigenvalues)[0]
    known: dict[tuple[str, ...], float] = {}

    def mean(words):
        factor = float(np.prod([np.sum(nodes ** len(word)) for word in words if "S" not in word]))
        open_words = tuple(sorted(_necklace(word) for word in words if "S" in word))
        if not open_words:
            return factor
        if open_words not in known:
            known[open_words] = expand(*open_words)
        return factor * known[open_words]

    def expand(word, *others):
        first = word.index("S")
        B = word[first + 1 :] + word[:first]  # tr(S B)
        total = n * mean(["H" + B, *others])
        for j in (j for j, letter in enumerate(B) if letter == "S"):
            before, after = B[:j], B[j + 1 :]
            total += mean(["H" + before, "S" + after, *others]) + mean(["S" + before[::-1] + "H" + after, *others])
        for m, other in enumerate(others):
            rest = others[:m] + others[m + 1 :]
            for j in (j for j, letter in enumerate(other) if letter == "S"):
                C, head = other[j + 1 :] + other[:j], "S" + B[::-1] + "H"
                total += mean([head + C, *rest]) + mean([head + C[::-1], *rest])
        return total

    return np.array([mean(["H" + "S" * k]) / float(n) ** k for k in range(check_count("degree", degree, least=0) + 1)])


def short_excess(steps, m: np.ndarray, noise: float) -> float:
    """The excess risk of L steps (L,) with n examples: E tr H p(Ŝ)² + noise E tr H q(Ŝ)² Ŝ, p = 1 − λq.

    noise = sigma2/n; `m` are the `moments` up to degree 2L at least.
    """
    c = _coefficients(steps)
    return float(_quadratic(c, m) + noise * _quadratic(c[1:], m[1:]))


def short_steps(m: np.ndarray, noise: float, layers: int) -> np.ndarray:
    """The best steps (L,) of L ≤ 4 layers with n examples, rising: from the best polynomial where its roots are real.

    Else by descent from their real parts. Raises InputError for more layers.
    """
    if check_count("layers", layers) > MOST_SHORT:
        raise InputError(f"layers must be at most {MOST_SHORT} with a short context, not {layers}.")
    unit = m[1] / m[0]  # eigenvalues of order one
    scaled, noise = m / unit ** np.arange(len(m)), noise / unit
    index = np.add.outer(np.arange(1, layers + 1), np.arange(1, layers + 1))
    c = np.linalg.solve(scaled[index] + noise * scaled[index - 1], -scaled[1 : layers + 1])
    roots = np.roots(np.r_[c[::-1], 1.0])
    if np.abs(roots.imag).max() < 1e-9 * np.abs(roots).max():
        return np.sort(1 / roots.real) / unit
    start = (1 / roots).real
    ends = [
        minimize(short_excess, start * spread, (scaled, noise), method="BFGS", options=dict(gtol=1e-10))
        for spread in (np.ones(layers), np.linspace(0.7, 1.3, layers))
    ]
    return np.sort(min(ends, key=lambda end: end.fun).x) / unit


def _arrays(first, eigenvalues) -> tuple[np.ndarray, np.ndarray]:
    pair = tuple(check_array(name, x, np.shape(x)) for name, x in (("steps", first), ("eigenvalues", eigenvalues)))
    if pair[1].ndim != 1 or not pair[1].size or not (pair[1] > 0).all():
        raise InputError("eigenvalues must be a list of positive numbers.")
    return pair


def _distinct(nodes: np.ndarray) -> np.ndarray:
    """The different eigenvalues, falling: those closer than 1e-9 of the largest count once."""
    ordered = np.sort(nodes)[::-1]
    return ordered[np.r_[True, -np.diff(ordered) > 1e-9 * ordered[0]]]


def _recurrence(nodes, weights, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Lanczos: centres and offsets, (degree,) each, of the orthonormal polynomials' three-term recurrence."""
    basis, centres, offsets = [np.sqrt(weights / weights.sum())], [], []
    for _ in range(degree):
        v = nodes * basis[-1]
        centres.append(basis[-1] @ v)
        for _ in range(2):  # twice is enough
            v = v - np.array([b @ v for b in basis]) @ np.array(basis)
        offsets.append(np.linalg.norm(v))
        basis.append(v / offsets[-1])
    return np.array(centres), np.array(offsets)


def _at_zero(nodes, weights, degree: int) -> np.ndarray:
    """Values at 0 of the polynomials of degree 0 … `degree` that are orthonormal in the weights, (degree + 1,)."""
    centres, offsets = _recurrence(nodes, weights, degree)
    at_0 = [1 / np.sqrt(weights.sum())]
    for k in range(degree):  # b_k π_{k+1} = (λ − a_k) π_k − b_{k−1} π_{k−1}
        before = offsets[k - 1] * at_0[k - 1] if k else 0.0
        at_0.append((-centres[k] * at_0[k] - before) / offsets[k])
    return np.array(at_0)


def _odd_powers(x: np.ndarray, power: float) -> np.ndarray:
    """x to an odd power, (k,), in units of the largest: the sign of a sum of them survives where each underflows."""
    size = np.abs(x)
    return np.sign(x) * (size / max(size.max(), np.finfo(float).tiny)) ** power  # floats do not know that it is odd


def zero_of_falling(f, low: float) -> float:
    """Where a falling function changes sign, right of `low` ≥ its first positive value, to the last digit."""
    high = 2 * low
    with np.errstate(over="ignore", invalid="ignore"):
        while f(high) > 0:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2


def _necklace(word: str) -> str:
    """The first in the alphabet of a cyclic word's turns, read either way: tr is cyclic, and S and H symmetric."""
    return min(w[k:] + w[:k] for w in (word, word[::-1]) for k in range(len(word)))


def _coefficients(steps) -> np.ndarray:
    """Π (1 − a_k λ), by rising powers of λ."""
    c = np.ones(1)
    for a in np.atleast_1d(steps):
        c = np.convolve(c, [1.0, -a])
    return c


def _quadratic(c: np.ndarray, m: np.ndarray) -> float:
    """Σ c_i c_j m_{i+j}."""
    return c @ m[np.add.outer(np.arange(len(c)), np.arange(len(c)))] @ c
