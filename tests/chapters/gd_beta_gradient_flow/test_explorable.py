"""Chapter 5's JavaScript against Python: the same closed forms, the same flow."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate, numbers

from icl.prompts import PromptLaw
from icl.theory import bayes_rates, gd_beta, gradient_flow, scalar_flow

TIMES = [0.01, 0.3, 1.0, 7.5, 40.0]
GRID = [
    dict(d=d, n=n, sigma2=sigma2, beta_norm=beta_norm)
    for d, n, sigma2, beta_norm in product((1, 2, 5, 50), (1, 7, 100), (0, 0.25, 5), (0, 0.5, 3, 6))
]
STATE = [0.7, 1.1, -0.3]
PROGRAM = """
(m, grid, times, state) => grid.map((p) => ({
  closed: [m.gammaStar(p), m.minimalExcess(p), m.tailRate(p), m.excess(p, state), m.betaBound(p, 2.5),
           m.sandwich(p).lower, m.sandwich(p).gdBeta, m.sandwich(p).upper],
  velocity: m.velocity(p, state),
  flow: m.flow(p, times),
}))
"""


@pytest.fixture(scope="module")
def answers() -> list[dict]:
    return numbers(evaluate("gd_beta_gradient_flow", PROGRAM, GRID, TIMES, STATE))


def test_closed_forms_are_python_s(answers):
    for p, answer in zip(GRID, answers, strict=True):
        law = PromptLaw.isotropic(p["d"], p["n"], p["sigma2"])
        bounds = bayes_rates.sandwich(np.ones(law.d), law.n, law.sigma2)
        expected = [
            gd_beta.optimal_gamma(law)[0, 0],
            gd_beta.minimal_risk(law) - law.sigma2,
            gradient_flow.tail_rates(law)[0],
            scalar_flow.isotropic_excess(np.array(STATE), law.d, law.n, law.sigma2),
            gradient_flow.beta_bound(law, 2.5),
            bounds.lower,
            bounds.gd_beta,
            bounds.upper,
        ]
        assert answer["closed"] == pytest.approx(expected, rel=1e-9, abs=1e-12), p
        velocity = scalar_flow.isotropic_velocity(np.array(STATE), law.d, law.n, law.sigma2)
        assert answer["velocity"] == pytest.approx(list(velocity), rel=1e-9, abs=1e-12), p


def test_flow_is_python_s(answers):
    for p, answer in list(zip(GRID, answers, strict=True))[::5]:  # every value of every parameter
        flow = scalar_flow.isotropic_flow(p["beta_norm"], 0.0, TIMES, p["d"], p["n"], p["sigma2"])
        assert np.abs(np.array(answer["flow"]) - flow.T).max() < 1e-9, p


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    law = PromptLaw.isotropic(int(p["d"]), int(p["n"]), p["sigma2"])
    return {"gamma_star": gd_beta.optimal_gamma(law)[0, 0], "excess": gd_beta.minimal_risk(law) - law.sigma2}
