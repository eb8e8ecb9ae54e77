"""The page's JavaScript against PyTorch and NumPy: live_model.js, live.js, and the weights as the page gets them."""

import json
import re
import subprocess

import numpy as np
import pytest
import torch
from playwright._impl._driver import compute_driver_executable

from icl.chapters.front_page import law, recipe
from icl.figures import COLOURS
from icl.theory import lines
from press.layout import ROOT, WorkflowError
from press.pages import live

ASSETS = ROOT / "book" / "assets"


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / live.WEIGHTS
    path.write_text(live.weights_script(), encoding="utf-8")
    return path


def run(program: str, given, *paths):
    """A JavaScript function of `given` and the modules at `paths`, run in node."""
    script = f"""const modules = process.argv.slice(1).map((path) => require(path));
        const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
        process.stdout.write(JSON.stringify(({program})(given, ...modules)));"""
    command = [compute_driver_executable()[0], "-e", script, *map(str, paths)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_forward_pass_is_pytorch_s_on_a_thousand_prompts(weights, rng):
    """Every layer's answers, at every length; and beyond the law, as far as the picture reaches."""
    shipped, batches = recipe.load(), [law.draw(rng, 84, n, 5) for n in law.LENGTHS]
    for batch in batches:
        batch.y[::4] = rng.uniform(-4, 4, batch.y[::4].shape)  # scattered at will, as readers do
    parts = [(batch.X[..., 1], batch.y, batch.x_query[..., 1]) for batch in batches]
    given = [[part.tolist() for part in prompt] for batch in parts for prompt in zip(*batch, strict=True)]
    program = "(all, model, weights) => { const m = model(weights); return all.map((p) => m.answers(...p)); }"
    found = np.array(run(program, given, ASSETS / "live_model.js", weights))
    exact = [shipped.answers(batch.X, batch.y, batch.x_query) for batch in batches]
    np.testing.assert_allclose(found.swapaxes(0, 1), np.concatenate(exact, axis=1), rtol=0, atol=1e-9)
    single = shipped.model.float()
    with torch.no_grad():
        usual = [single(*(torch.from_numpy(a).float() for a in (b.X, b.y, b.x_query))).numpy() for b in batches]
    np.testing.assert_allclose(found[:, -1], np.concatenate(usual), rtol=0, atol=1e-5)


def test_the_straight_lines_are_the_theory_s(weights, rng):
    prompts = [law.draw(rng, 1, n, 1) for n in law.LENGTHS]
    given = [[p.X[0, :, 1].tolist(), p.y[0].tolist()] for p in prompts]
    program = """(all, model, weights) => { const m = model(weights);
        return all.map((p) => [m.oneLayer(...p), m.bayes(...p)]); }"""
    found = run(program, given, ASSETS / "live_model.js", weights)
    for (one, bayes), p in zip(found, prompts, strict=True):
        np.testing.assert_allclose(one, lines.one_layer(p.X, p.y, law.best_step())[0], rtol=1e-12)
        np.testing.assert_allclose(bayes, lines.posterior_mean(p.X, p.y, law.SIGMA2)[0], rtol=1e-10)


def test_the_page_s_files_are_small(weights):
    assert weights.stat().st_size < 400_000
    code = (ASSETS / "live_model.js").read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 200 and len(code) < 100_000
    assert (ASSETS / "live.js").stat().st_size < 100_000


def test_colours_are_the_book_s():
    script, sheet = ((ASSETS / f"live.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    chosen = dict(re.findall(r'(\w+): "(#\w{6})"', re.search(r"const COLOURS = \{(.*?)\}", script)[1]))
    assert chosen == {"one": COLOURS["preconditioned"], "model": COLOURS["trained_sampled"], "bayes": COLOURS["bayes"]}
    assert dict(re.findall(r"\.name\.(\w+) \{ --icl-colour: (#\w{6})", sheet)) == chosen


def test_labels_keep_apart_in_the_order_of_their_lines():
    program = "(given, drawing) => given.map((wanted) => drawing.apart(wanted, 17, 20, 200))"
    wanted = [[100, 101, 102], [20, 20, 20], [200, 199, 500], [-50, 100, 30], [150, 20, 90]]
    for before, after in zip(wanted, run(program, wanted, ASSETS / "live.js"), strict=True):
        order = np.argsort(before, kind="stable")
        assert (np.diff(np.array(after)[order]) >= 17).all() and min(after) >= 20 and max(after) <= 200
    assert run(program, [[150, 20, 90]], ASSETS / "live.js") == [[150, 20, 90]], "who has room stays"


def test_the_start_is_drawn_with_its_numbers(weights):
    drawn = live.still(weights.read_text(encoding="utf-8"))
    points = [[float(v) for v in pair] for pair in re.findall(r"\((\S+), (\S+)\)", drawn["points"].replace("−", "-"))]
    assert drawn["picture"].count('class="dot"') == len(points) == 6 and drawn["picture"].count('class="bayes"') == 1
    u, y = np.array(points).T
    X, at = np.stack([np.ones_like(u), u], -1), np.array([[1, p] for p in (-2, -1, 0, 1, 2)])
    cells = {
        name: [float(value) for value in re.findall("<td>(.*?)</td>", row.replace("−", "-"))]
        for name, row in re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', drawn["rows"])
    }
    shipped = recipe.load()
    layers = shipped.answers(X[None], y[None], at[None].astype(float))[:, 0]
    expected = {
        "one layer": at @ lines.one_layer(X, y, law.best_step()),
        "the transformer": layers[-1],
        "Bayes": at @ lines.posterior_mean(X, y, law.SIGMA2),
    } | {f"the transformer, after layer {k + 1}": layer for k, layer in enumerate(layers[:-1])}
    assert cells.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(cells[name], values, atol=0.0051)


def test_the_first_screen_says_what_runs_and_how_well(weights):
    page, shipped = live.first_screen(weights.read_text(encoding="utf-8")), recipe.load()
    own = shipped.record["risks"][f"layer_{shipped.model.config.layers}"]
    assert f"{own['mean']:.4f} ± {own['stderr']:.4f}" in page and "No weight changes while you drag." in page
    assert f"{sum(p.numel() for p in shipped.model.parameters()):,} weights" in page
    assert [page.index(f"../_static/{name}") for name in (live.WEIGHTS, *live.SCRIPTS)] == sorted(
        page.index(f"../_static/{name}") for name in (live.WEIGHTS, *live.SCRIPTS)
    ), "weights and model come before what uses them"


def test_a_script_that_does_not_draw_is_named():
    with pytest.raises(WorkflowError, match="live.js does not draw its start"):
        live.still("module.exports = { layers: 5, heads: 4, tensors: {} };")
