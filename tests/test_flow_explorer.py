"""The explorer's JavaScript against Python: the same closed forms, the same flow; and its HTML."""

import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from icl.parameters import check_parameters
from icl.pictures.flow_explorer import SLIDERS, Explorer
from icl.prompts import PromptLaw
from icl.theory import bayes_rates, gd_beta, gradient_flow, scalar_flow

SCRIPT = Path(__file__).resolve().parents[1] / "assets" / "gradient_flow.js"
TIMES = [0.01, 0.3, 1.0, 7.5, 40.0]
GRID = [
    dict(d=d, n=n, sigma2=sigma2, beta_norm=beta_norm)
    for d, n, sigma2, beta_norm in product((1, 2, 5, 50), (1, 7, 100), (0, 0.25, 5), (0, 0.5, 3, 6))
]
STATE = [0.7, 1.1, -0.3]
PROGRAM = """
(grid, times, state) => grid.map((p) => ({
  closed: [m.gammaStar(p), m.minimalExcess(p), m.tailRate(p), m.excess(p, state), m.betaBound(p, 2.5),
           m.sandwich(p).lower, m.sandwich(p).gdBeta, Number.isFinite(m.sandwich(p).upper) ? m.sandwich(p).upper : -1],
  velocity: m.velocity(p, state),
  flow: m.flow(p, times),
}))
"""


@pytest.fixture(scope="module")
def answers() -> list[dict]:
    """What the page's functions say on the grid: run by node, else by a browser; skipped where there is neither."""
    if node := shutil.which("node"):
        inputs = ", ".join(map(json.dumps, (GRID, TIMES, STATE)))
        program = f"const m = require({json.dumps(str(SCRIPT))}); console.log(JSON.stringify(({PROGRAM})({inputs})))"
        done = subprocess.run([node, "-e", program], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return _in_browser()


def _in_browser() -> list[dict]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("neither node nor a browser is here to run the page's JavaScript")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.add_script_tag(path=str(SCRIPT))
        program = f"([grid, times, state]) => {{ const m = iclGradientFlow; return ({PROGRAM})(grid, times, state) }}"
        found = page.evaluate(program, [GRID, TIMES, STATE])
        browser.close()
    return found


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
            bounds.upper if np.isfinite(bounds.upper) else -1,
        ]
        assert answer["closed"] == pytest.approx(expected, rel=1e-9, abs=1e-12), p
        velocity = scalar_flow.isotropic_velocity(np.array(STATE), law.d, law.n, law.sigma2)
        assert answer["velocity"] == pytest.approx(list(velocity), rel=1e-9, abs=1e-12), p


def test_flow_is_python_s_to_the_integration_s_accuracy(answers):
    for p, answer in zip(GRID, answers, strict=True):
        flow = scalar_flow.isotropic_flow(p["beta_norm"], 0.0, TIMES, p["d"], p["n"], p["sigma2"])
        assert np.abs(np.array(answer["flow"]) - flow.T).max() < 2e-6, p


def test_sliders_start_at_the_run_s_parameters_and_can_reach_them():
    far = check_parameters("05_gd_beta_gradient_flow", d=77, n=13, sigma2=0.3, beta_norm=9.5)
    page = Explorer(far)._repr_html_()
    assert page.count('type="range"') == len(SLIDERS) == page.count("<label for=")
    assert 'name="d" min="1" max="77" step="1" value="77"' in page
    assert 'max="9.5" step="0.1" value="9.5"' in page
    assert "http" not in page.replace("http-equiv", "")
    assert "http" not in SCRIPT.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
