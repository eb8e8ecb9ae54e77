"""Chapter 9's JavaScript against Python."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate

from icl.chapters.softmax_heads_losses.pictures import pair_weights, scores
from icl.theory import one_step_gd, softmax_heads

GRID = [
    dict(d=d, n=n, sigma2=sigma2)
    for d, n, sigma2 in product((1, 2, 5, 30), (2, 7, 20, 200), (0, 0.25, 5))
    if d + sigma2 > 1
]
PAIRS = [
    dict(sharpness=s, d=d, n=n, sigma2=sigma2)
    for s, (d, n, sigma2) in product((0.1, 0.4, 1.5), ((1, 5, 0.3), (3, 2, 0.0), (5, 20, 0.25), (30, 200, 1.0)))
]


def test_closed_forms_are_python_s():
    program = "(m, grid) => grid.map((p) => [m.linear(p), m.limit(p), m.floor(p, false), m.floor(p, true)])"
    for p, answer in zip(GRID, evaluate("softmax_heads_losses", program, GRID), strict=True):
        law = p["d"], p["n"], p["sigma2"]
        expected = [
            one_step_gd.minimal_risk(*law),
            softmax_heads.centred_risk(*law),
            softmax_heads.score_floor(*law),
            softmax_heads.score_floor(*law, zero_sum=True),
        ]
        assert answer == pytest.approx(expected, rel=1e-8), p


def test_the_pair_s_risk_and_weights_are_python_s():
    program = """(m, grid, z) => grid.map((p) => {
      const found = m.pair(p), r = Math.sqrt(p.d);
      return [found.risk, found.V, m.weights(z, p.sharpness / r, r, found.V)];
    })"""
    z = scores(9)
    for p, (risk, V, weights) in zip(PAIRS, evaluate("softmax_heads_losses", program, PAIRS, z.tolist()), strict=True):
        q = p["sharpness"] / np.sqrt(p["d"])
        found = softmax_heads.pair_risk(q, p["d"], p["n"], p["sigma2"])
        assert risk == pytest.approx(found.risk, rel=1e-4), p
        assert pytest.approx(found.V[0], rel=1e-3) == V, p
        expected = pair_weights(q, p["d"], p["n"], p["sigma2"], z)
        assert weights == pytest.approx(expected.tolist(), rel=2e-3, abs=1e-6), p
