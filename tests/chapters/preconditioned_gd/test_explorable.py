"""Chapter 2's JavaScript against Python: the shares of each direction and the three excess risks."""

from itertools import product

import numpy as np
import pytest
from javascript import evaluate

from icl.prompts import PromptLaw
from icl.theory import moments
from icl.theory import preconditioned_gd as theory

GRID = [
    dict(d=d, n=n, sigma2=sigma2, condition=condition, prior=prior)
    for d, n, sigma2, condition, prior in product(
        (1, 2, 5, 50), (1, 20, 1000), (0, 0.25, 20), (1, 10, 1000), ("identity", "inverse")
    )
]
PROGRAM = """
(m, grid) => grid.map((p) => {
  const s = m.shares(p), hs = m.eigenvalues(p);
  return { hs, tau: m.tau(p), learned: hs.map(s.learned),
           plain: m.bestMultiple(p, () => 1), inverse: m.bestMultiple(p, (h) => 1 / h),
           excess: [s.learned, s.plain, s.inverse].map((share) => m.excess(p, share)) };
})
"""


def test_closed_forms_are_python_s():
    for p, answer in zip(GRID, evaluate("preconditioned_gd", PROGRAM, GRID), strict=True):
        h = np.geomspace(1, 1 / p["condition"], p["d"])
        H, Psi = np.diag(h), np.diag(1 / h) if p["prior"] == "inverse" else np.eye(p["d"])
        law = PromptLaw(p["n"], H, Psi, np.zeros(p["d"]), p["sigma2"])
        assert answer["hs"] == pytest.approx(list(h), rel=1e-9), p
        assert answer["tau"] == pytest.approx(moments.tau(law), rel=1e-9), p
        assert answer["learned"][::-1] == pytest.approx(list(theory.shrinkage(law)), rel=1e-9), p
        plain, inverse = (theory.best_multiple(P, law) for P in (np.eye(p["d"]), np.diag(1 / h)))
        assert [answer["plain"], answer["inverse"]] == pytest.approx([plain, inverse], rel=1e-9), p
        steps = (theory.preconditioner(law), plain * np.eye(p["d"]), inverse * np.diag(1 / h))
        risks = [theory.risk(Gamma, law) - p["sigma2"] for Gamma in steps]
        assert answer["excess"] == pytest.approx(risks, rel=1e-9, abs=1e-9), p


def on_page(p):
    """Some of the numbers beside the curves, for tests/book/test_explorables.py."""
    h, d = np.geomspace(1, 1 / p["condition"], int(p["d"])), int(p["d"])
    law = PromptLaw(int(p["n"]), np.diag(h), np.eye(d), np.zeros(d), p["sigma2"])
    return {"learned": theory.minimal_risk(law) - p["sigma2"], "weak": theory.shrinkage(law)[0]}
