"""Chapter 11's JavaScript against Python."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate

from icl.theory import when_depth_pays as theory

GRID = [
    dict(d=d, condition=kappa, layers=L) for d, kappa, L in product((1, 2, 5, 60), (1, 7, 100, 10_000), (1, 2, 4, 12))
]
PROGRAM = """(m, grid) => grid.map((p) => {
  const nodes = m.spectrum(p.d, p.condition), left = m.residual(nodes, p.layers);
  return [m.leastExcess(nodes, p.layers), m.sharedStep(nodes, p.layers), m.sharedExcess(nodes, p.layers),
          m.newtonExcess(nodes, Math.max(p.layers, 2)), nodes[p.d - 1], left(0),
          nodes.reduce((t, x) => t + x * left(x) ** 2, 0)];
})"""


def expected(p):
    lam, L = theory.spectrum(p["d"], p["condition"]), p["layers"]
    step, k = theory.shared_step(lam, L), max(L, 2) - 2
    newton = theory.newton_excess(lam, k, theory.newton_alpha(lam, k))
    least = theory.least_excess(lam, L)
    return [least, step, theory.excess(np.full(L, step), lam), newton, lam[-1], 1.0, least]


def test_closed_forms_are_python_s():
    for p, answer in zip(GRID, evaluate("when_depth_pays", PROGRAM, GRID), strict=True):
        assert answer == pytest.approx(expected(p), rel=1e-6, abs=1e-12), p


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    d, L = int(p["d"]), int(p["layers"])
    lam = theory.spectrum(d, p["condition"])
    step = theory.shared_step(lam, L)
    return {"free": theory.least_excess(lam, L) / d, "shared": theory.excess(np.full(L, step), lam) / d}
