"""Chapter 3's JavaScript against Python: the moments of all families, the step and the risk."""

from itertools import product

import pytest
from javascript import evaluate, numbers

from icl.chapters.nonlinear_targets.explorable import TARGETS
from icl.targets import FAMILIES
from icl.theory import nonlinear_targets as theory

GRID = [
    dict(family=family, d=d, n=n, sigma2=sigma2)
    for family, d, n, sigma2 in product(FAMILIES, (1, 2, 5, 50), (1, 20, 1000), (0, 0.25, 20))
]
PROGRAM = """
(maths, grid) => grid.map((p) => {
  const m = maths.moments(p.family, p.d);
  return [m.a, m.weighted, m.power, maths.b(m, p), maths.stepSize(m, p), maths.minimalRisk(m, p)];
})
"""
ALIKE = "(maths, grid) => grid.map((p) => maths.noiseAlike(maths.moments(p.family, p.d), p))"


def test_closed_forms_are_python_s():
    for p, answer in zip(GRID, evaluate("nonlinear_targets", PROGRAM, GRID), strict=True):
        m = theory.moments(p["family"], p["d"])
        law = m, p["n"], p["sigma2"]
        expected = [m.a, m.weighted, m.power, m.b(p["sigma2"]), theory.step_size(*law), theory.minimal_risk(*law)]
        assert answer == pytest.approx(expected, rel=1e-9, abs=1e-12), p


def test_a_linear_target_with_the_noise_alike_takes_the_same_step():
    for p, noise in zip(GRID, numbers(evaluate("nonlinear_targets", ALIKE, GRID)), strict=True):
        m = theory.moments(p["family"], p["d"])
        if m.a == 0:
            assert noise == float("inf")
        elif noise >= 0:
            expected = theory.step_size(m, p["n"], p["sigma2"])
            linear = theory.moments("linear", p["d"])
            assert theory.step_size(linear, p["n"], noise) == pytest.approx(expected, rel=1e-9), p


def test_the_page_offers_every_family():
    assert list(TARGETS) == list(FAMILIES) == evaluate("nonlinear_targets", "(m) => m.families", 0)


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    m, n = theory.moments(p["family"], int(p["d"])), int(p["n"])
    return {"a": m.a, "step": n * theory.step_size(m, n, p["sigma2"])}
