"""Chapter 6's JavaScript against Python: closed forms, and the transformer's forward pass on the page's prompt."""

import json
import re

import numpy as np
import pytest
from javascript import evaluate, numbers

from icl.chapters import check_parameters
from icl.chapters.newton_transformers.constructed import walk
from icl.chapters.newton_transformers.explorable import explorable
from icl.constructions.newton_transformer import design_a
from icl.theory import newton as theory

KAPPAS = [1, 1.5, 2, 10, 123.4, 1e4]
POINTS = [0.0, 1e-4, 0.1, 0.5, 0.93, 1.0]
PROGRAM = """
(m, kappas, points, prompts) => ({
  newton: points.map((u) => [0, 1, 5, 12].map((k) => m.newtonResidual(u, k))),
  gd: points.map((u) => [0, 1, 64, 4096].map((s) => m.gdResidual(u, s))),
  worst: kappas.map((c) => [0, 1, 20].map((s) => m.gdWorst(c, s))),
  steps: kappas.map((c) => [1e-2, 1e-8].map((e) => [m.stepsToEps(c, e), m.gdStepsToEps(c, e)])),
  answers: prompts.map((p) => Array.from({ length: 13 }, (_, k) => m.designA(p, k))),
})
"""
SIZES = (dict(), dict(d=1, n=1), dict(d=8, n=3, condition=100.0), dict(d=40, n=70, sigma2=0.0))


@pytest.fixture(scope="module")
def walks() -> list:
    return [
        walk(check_parameters("06_newton_transformers", **p), np.random.default_rng(j)) for j, p in enumerate(SIZES)
    ]


def page_data(found, **parameters):
    """What the page holds: read back from its HTML."""
    page = explorable(check_parameters("06_newton_transformers", **parameters), found)._repr_html_()
    return json.loads(re.search(r'application/json">(.*?)</script>', page).group(1))["data"]


@pytest.fixture(scope="module")
def answers(walks) -> dict:
    prompts = [page_data(found, **p) for found, p in zip(walks, SIZES, strict=True)]
    return numbers(evaluate("newton_transformers", PROGRAM, KAPPAS, POINTS, prompts))


def test_closed_forms_are_python_s(answers):
    assert np.allclose(
        answers["newton"], [[theory.residual(u, k, 1.0) for k in (0, 1, 5, 12)] for u in POINTS], rtol=1e-9, atol=1e-300
    )
    expected = [[theory.gd_residual(u, s, 1.0) for s in (0, 1, 64, 4096)] for u in POINTS]
    assert np.allclose(answers["gd"], expected, rtol=1e-9, atol=1e-300)
    best = [[theory.gd_residual(1 / c, s, 2 / (1 + 1 / c)) for s in (0, 1, 20)] for c in KAPPAS]
    assert np.allclose(answers["worst"], best, rtol=1e-9, atol=1e-300)
    steps = [[[theory.steps_to_eps(c, e), theory.gd_steps_to_eps(c, e)] for e in (1e-2, 1e-8)] for c in KAPPAS]
    assert answers["steps"] == steps


def test_the_transformer_on_the_page_is_python_s(answers, walks):
    for found, answer in zip(walks, answers["answers"], strict=True):
        prompt = found.prompt
        for k in range(13):
            design = design_a(prompt.X.shape[2], k, found.alpha)
            expected = design.predict(prompt.X, prompt.y, prompt.x_query)[0]
            assert answer[k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_sliders_start_at_the_run_s_parameters(walks):
    page = explorable(check_parameters("06_newton_transformers", k=9, condition=50_000.0), walks[0])._repr_html_()
    assert '"start": 9' in page and '"start": 50000.0' in page and "http" not in page


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    return {"left": float(theory.residual(1 / p["condition"], int(p["k"]), 1.0)), "paper": int(p["k"]) + 8}


def example_explorable(parameters):
    """What the page shows, around a prompt of its own, for tests/test_explorables.py."""
    return explorable(parameters, walk(parameters, np.random.default_rng(0)))
