"""Chapter 4's JavaScript against Python: the block, one step from 0, and attention's minimum over the angle."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate

from icl.prompts import PromptLaw
from icl.theory import mlp_benefit as theory

GRID = [
    dict(d=d, n=n, sigma2=sigma2, beta_norm=beta_norm)
    for d, n, sigma2, beta_norm in product((1, 2, 5, 50), (1, 20, 1000), (0, 0.25, 20), (0.1, 1, 3, 100))
]
PROGRAM = "(m, grid) => grid.map((p) => [m.ltbRisk(p), m.gd0Risk(p), m.lowerBound(p), m.lsaRisk(p)])"


def test_risks_are_python_s():
    for p, answer in zip(GRID, evaluate("mlp_benefit", PROGRAM, GRID), strict=True):
        d, n, sigma2, size = p["d"], p["n"], p["sigma2"], p["beta_norm"]
        law = PromptLaw.isotropic(d, n, sigma2, size * np.eye(d)[0])
        expected = [
            theory.ltb_minimal_risk(law),
            theory.gd0_minimal_risk(law),
            theory.lower_bound(law),
            float(theory.isotropic_lsa_risk(d, n, sigma2, np.array(size))),
        ]
        assert answer == pytest.approx(expected, rel=1e-9), p


def test_the_angle_s_minimum_is_that_over_all_weights():
    """Against the minimum over the whole sphere, which presumes no symmetry."""
    grid = [p for p in GRID if p["d"] in (1, 2, 5) and p["n"] == 20 and p["beta_norm"] in (1, 3)]
    for p, answer in zip(grid, evaluate("mlp_benefit", PROGRAM, grid), strict=True):
        law = PromptLaw.isotropic(p["d"], p["n"], p["sigma2"], p["beta_norm"] * np.eye(p["d"])[0])
        assert answer[3] == pytest.approx(theory.lsa_minimum(law).risk, rel=1e-9), p


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    law = PromptLaw.isotropic(int(p["d"]), int(p["n"]), p["sigma2"], p["beta_norm"] * np.eye(int(p["d"]))[0])
    return {"gap": theory.gap(law), "lower": theory.lower_bound(law)}
