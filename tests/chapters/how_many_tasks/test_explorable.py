"""Chapter 10's JavaScript against Python."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate

from icl.chapters import check_parameters
from icl.chapters.how_many_tasks.explorable import explorable
from icl.theory import how_many_tasks as theory

GRID = [
    dict(tau=tau, kappa=kappa, alpha=alpha, rho=rho, ridge=ridge)
    for tau, kappa, alpha, rho, ridge in product(
        (0.1, 0.7, 1.6, 100), (0.1, 1, 100), (0.1, 4, 1000), (0, 0.3, 2), (0, 0.01, 1)
    )
]
PROGRAM = "(m, grid) => grid.map((p) => m.limit(p))"


def test_the_limit_is_python_s():
    for p, answer in zip(GRID, evaluate("how_many_tasks", PROGRAM, GRID), strict=True):
        assert answer == pytest.approx(theory.limit(**p), rel=1e-8), p


def test_endless_and_at_the_peak():
    program = "(m, p) => [m.limit({...p, tau: Infinity, kappa: Infinity})[0], String(m.limit({...p, tau: 1})[0])]"
    p = dict(tau=2, kappa=3, alpha=5, rho=0.1, ridge=0)
    assert evaluate("how_many_tasks", program, p) == [pytest.approx(theory.endless_prompts(5, np.inf, 0.1)), "Infinity"]


def test_it_starts_where_the_run_is():
    start = explorable(check_parameters("10_how_many_tasks", d=4, n=6, sigma2=1.0)).start
    assert (start["alpha"], start["rho"]) == (1.5, 0.25)


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    ratios = {name: p[name] for name in ("tau", "alpha", "kappa", "rho", "ridge")}
    new, seen = theory.limit(**ratios)
    return {"new": new, "seen": seen, "endless_prompts": theory.endless_prompts(p["alpha"], p["kappa"], p["rho"])}
