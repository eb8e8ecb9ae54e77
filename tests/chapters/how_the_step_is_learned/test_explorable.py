"""Chapter 8's JavaScript against Python: the same stairs, the same times, the same flow of a merged matrix."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate, numbers
from scipy.integrate import solve_ivp

from icl.chapters.how_the_step_is_learned.experiments import spectra
from icl.theory import how_the_step_is_learned as theory

GRID = [
    dict(d=d, n=n, sigma2=sigma2, slope=slope, start=start)
    for d, n, sigma2, slope, start in product((1, 3, 6), (1, 20, 1000), (0, 0.25, 5), (0, 1, 2.5), (1e-4, 0.03, 0.6))
]
TIMES = [1.0, 4.0, 20.0, 150.0]
PROGRAM = """
(m, grid, times) => grid.map((p, i) => ({
  stairs: m.stairs(p), climbs: m.stairTimes(p), factor: m.factor(p), merged: i % 7 ? [] : m.merged(p, times),
  risks: times.map((t) => m.risk(p, m.shares(p, t * 100))),
}))
"""


@pytest.fixture(scope="module")
def answers():
    return numbers(evaluate("how_the_step_is_learned", PROGRAM, GRID, TIMES))


def sizes_of(p):
    h = spectra(p["d"], p["slope"])["chapter"]
    return (h, p["n"], p["sigma2"]), p["start"] * theory.factor_sizes(h, p["n"], p["sigma2"]).min()


def test_stairs_and_times_are_python_s(answers):
    for p, answer in zip(GRID, answers, strict=True):
        problem, start = sizes_of(p)
        assert answer["stairs"] == pytest.approx(list(theory.stairs(*problem)), rel=1e-12), p
        assert answer["factor"] == pytest.approx(start, rel=1e-12)
        assert answer["climbs"] == pytest.approx(list(theory.stair_times(*problem, start)), rel=1e-9), p
        risks = theory.aligned_risk(*problem, start, 100 * np.array(TIMES))
        assert answer["risks"] == pytest.approx(list(risks), rel=1e-8), p


def test_the_drop_is_the_flow_s(answers):
    for p, answer in list(zip(GRID, answers, strict=True))[::7]:
        (h, n, sigma2), start = sizes_of(p)
        gamma = theory.best_entries(h, n, sigma2)

        def field(_, s, h=h, gamma=gamma):
            pull = h**2 * (1 - s[0] * s[1:] / gamma)
            return np.r_[pull @ s[1:], s[0] * pull]

        begin = np.r_[start, start * h**2 / np.linalg.norm(h**2)]
        s = solve_ivp(field, (0, TIMES[-1]), begin, t_eval=TIMES, rtol=1e-10, atol=1e-14, method="LSODA").y
        risks = theory.stairs(h, n, sigma2)[-1] + (1 - (s[0] * s[1:]).T / gamma) ** 2 @ (h**2 * gamma)
        assert answer["merged"] == pytest.approx(list(risks), rel=1e-5), p


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    p = p | {"d": int(p["d"]), "n": int(p["n"])}
    problem, start = sizes_of(p)
    climbs = theory.stair_times(*problem, start)
    return {"least": theory.stairs(*problem)[-1], "first": climbs[0], "last": climbs[-1]}
