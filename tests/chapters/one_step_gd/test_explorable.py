"""Chapter 1's JavaScript against Python."""

from itertools import product

import pytest
from javascript import evaluate

from icl.theory import one_step_gd as theory

GRID = [
    dict(d=d, n=n, sigma2=sigma2, eta=eta)
    for d, n, sigma2, eta in product((1, 2, 5, 50), (1, 7, 20, 1000, 10_000), (0, 0.25, 20), (0, 1e-3, 0.04, 1.0))
]
PROGRAM = "(m, grid) => grid.map((p) => [m.stepSize(p), m.zeroRisk(p), m.minimalRisk(p), m.risk(p, p.eta)])"


def test_closed_forms_are_python_s():
    for p, answer in zip(GRID, evaluate("one_step_gd", PROGRAM, GRID), strict=True):
        eta, law = p["eta"], (p["d"], p["n"], p["sigma2"])
        expected = [
            theory.step_size(*law),
            theory.zero_predictor_risk(*law),
            theory.minimal_risk(*law),
            float(theory.one_step_risk(eta, *law)),
        ]
        assert answer == pytest.approx(expected, rel=1e-9, abs=1e-12), p


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    law = int(p["d"]), int(p["n"]), p["sigma2"]
    return {"least": theory.minimal_risk(*law), "eta": theory.step_size(*law)}
