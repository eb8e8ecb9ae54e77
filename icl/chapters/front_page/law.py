r"""The law of the front page's prompts: points about a line, few or many.

    u ~ uniform[−2, 2],   x = (1, u),   y = s (w'x + eps),   w ~ N(0, I_2),   eps ~ N(0, 1/4),   log s ~ uniform[±log 2]

with n, the number of points, uniform on 1 … 12. The size s, the same for all labels of a prompt, changes neither the
Bayes predictor nor the best step: both are the same linear map of the labels whatever s is.
"""

import numpy as np

from icl.prompts import Prompts
from icl.theory import lines
from icl.validation import check_count

MOST = 12  # points
REACH, SIGMA2, SIZE = 2.0, 0.25, 2.0  # u within ±REACH; s within SIZE^±1
LENGTHS = range(1, MOST + 1)
SIZE_SQUARED = (SIZE**2 - SIZE**-2) / (4 * np.log(SIZE))  # E s²


def draw(rng: np.random.Generator, B: int, n: int, queries: int) -> Prompts:
    """B prompts of n points and so many queries: X (B, n, 2), y (B, n), x_query (B, Q, 2), y_query (B, Q), beta = s w.

    Raises InputError for counts below 1.
    """
    B, n, queries = check_count("B", B), check_count("n", n), check_count("queries", queries)
    u = rng.uniform(-REACH, REACH, (B, n + queries))
    X = np.stack([np.ones_like(u), u], axis=-1)
    w, size = rng.standard_normal((B, 2)), SIZE ** rng.uniform(-1, 1, (B, 1))
    y = size * (np.einsum("btd,bd->bt", X, w) + np.sqrt(SIGMA2) * rng.standard_normal((B, n + queries)))
    return Prompts(X[:, :n], y[:, :n], X[:, n:], y[:, n:], size * w)


def best_step() -> np.ndarray:
    """Gamma's diagonal of the best single layer under this law, (2,), one for every length."""
    return lines.best_step(REACH, SIGMA2, LENGTHS)


def one_layer_risk() -> float:
    """E (f − y)² of that layer under this law, exactly."""
    return float(SIZE_SQUARED * lines.least_risk(REACH, SIGMA2, LENGTHS))
