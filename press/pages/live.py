"""The front page's first screen: its boxes and words, the picture as it stands before any script, and the weights.

`book/assets/live.js` makes it move; here, when the book is built, the same script draws the start in the node that
comes with playwright.
"""

import base64
import html
import json
import subprocess
import tempfile
from pathlib import Path

import torch
from playwright._impl._driver import compute_driver_executable

from icl import checkpoints
from icl.chapters.front_page import law, recipe
from press.layout import ROOT, WorkflowError

SCRIPTS = ("live_model.js", "live.js")  # of book/assets
WEIGHTS = "live_weights.js"
_STILL = """const [model, drawing, weights] = process.argv.slice(1).map((path) => require(path));
process.stdout.write(JSON.stringify(drawing.still(model(weights))));"""
_ASKS = "One point is about to drop to the circle. Where will the transformer’s line end then? Drag its end there."
_AFTER = "Drag the points; click to add one. The transformer redraws its line from them alone."


def weights_script() -> str:
    """The checkpoint as the script that the page's model reads: tensors in base64, and what the other lines need."""
    shipped = recipe.load()
    tensors, _ = checkpoints.load(recipe.FOLDER / f"{recipe.NAME}-seed0.safetensors")
    config = shipped.model.config
    content = {
        "layers": config.layers,
        "heads": config.heads,
        "step": law.best_step().tolist(),
        "sigma2": law.SIGMA2,
        "tensors": {name: _written(tensor) for name, tensor in sorted(tensors.items())},
    }
    return (
        f"/* The weights of {recipe.NAME}, from results/checkpoints; written by press/pages/live.py. */\n"
        f"(function (root) {{\nconst weights = {json.dumps(content)};\n"
        'if (typeof module !== "undefined") module.exports = weights;\nelse root.iclLiveWeights = weights;\n'
        '})(typeof globalThis === "undefined" ? this : globalThis);\n'
    )


def _written(tensor: torch.Tensor) -> dict:
    kind = "float16" if tensor.dtype == torch.float16 else "float64"  # sums over a read-out cancel
    little = tensor.numpy().astype({"float16": "<f2", "float64": "<f8"}[kind])
    return {"shape": list(tensor.shape), kind: base64.b64encode(little.tobytes()).decode()}


def still(weights: str) -> dict[str, str]:
    """What `live.js` draws at the start from such a script: viewBox, picture, rows of the table, points.

    Raises WorkflowError where the script fails.
    """
    node = compute_driver_executable()[0]
    assets = ROOT / "book" / "assets"
    with tempfile.TemporaryDirectory() as folder:
        (written := Path(folder) / WEIGHTS).write_text(weights, encoding="utf-8")
        command = [node, "-e", _STILL, *(str(assets / name) for name in SCRIPTS), str(written)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorkflowError(f"book/assets/live.js does not draw its start:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def first_screen(weights: str) -> str:
    """The HTML of the front page's first screen."""
    drawn, words = still(weights), html.escape(_ASKS)
    alt = html.escape(
        f"Points at {drawn['points']} and three lines through them: one layer of linear attention, a trained "
        "transformer and Bayes. Their heights stand in the table below."
    )
    legend = "".join(
        f'<span class="name {name}">{text}</span>'
        for name, text in (("one", "one layer"), ("model", "the transformer"), ("bayes", "Bayes"))
    )
    scripts = "".join(f'<script defer src="../_static/{name}"></script>' for name in (WEIGHTS, *SCRIPTS))
    return (
        '<link rel="stylesheet" href="../_static/live.css"><div class="icl-live">'
        f'<div class="asked"><p data-words="{words}" data-after="{html.escape(_AFTER)}" aria-live="polite">{words}</p>'
        '<span class="buttons"><button type="button" data-answer>Let it drop</button>'
        '<button type="button" data-skip>Just let me play</button></span></div>'
        f'<svg class="stage" viewBox="{drawn["viewBox"]}" role="img" aria-label="{alt}">{drawn["picture"]}</svg>'
        f'<p class="legend" aria-hidden="true">{legend}</p>'
        '<div class="foot"><p class="motto">No weight changes while you drag.</p><span class="buttons">'
        '<label><input type="checkbox" role="switch" data-layers autocomplete="off"> its layers</label>'
        '<button type="button" data-add>Add a point</button><button type="button" data-remove>Remove it</button>'
        '<button type="button" data-reset>Start again</button></span></div>'
        f"{_numbers(drawn)}{_about()}"
        f'<p role="status"></p></div>{scripts}'
    )


def _numbers(drawn: dict[str, str]) -> str:
    places = "".join(f'<th scope="col">u = {place}</th>' for place in ("−2", "−1", "0", "1", "2"))
    return (
        '<details class="numbers"><summary>The same as numbers</summary>'
        f"<p>The points (u, y): <span data-points>{drawn['points']}</span>. The heights of the lines:</p>"
        '<div class="scrolled" tabindex="0" role="region" aria-label="Heights of the lines"><table><thead><tr>'
        f"<td></td>{places}</tr></thead><tbody>{drawn['rows']}</tbody></table></div></details>"
    )


def _about() -> str:
    shipped = recipe.load()
    risks, layers = shipped.record["risks"], shipped.model.config.layers
    numbers = {name: f"{risk['mean']:.4f} ± {risk['stderr']:.4f}" for name, risk in risks.items() if name != "prompts"}
    return _ABOUT.format(
        layers=layers,
        weights=sum(parameter.numel() for parameter in shipped.model.parameters()),
        most=law.MOST,
        bayes=risks["bayes"]["mean"],
        model=numbers[f"layer_{layers}"],
        one=numbers["one_layer"],
        prompts=risks["prompts"],
    )


_ABOUT = """<details><summary>What is running here</summary>
<p><b>The transformer</b> has {layers} layers of softmax attention with MLPs, {weights:,} weights, and runs in this
page. It was trained on points about lines, <i>y</i> = <i>s</i>(<i>w</i><sub>0</sub> + <i>w</i><sub>1</sub><i>u</i> +
<i>ε</i>/2), 1 to {most} at a time: <i>w</i><sub>0</sub>, <i>w</i><sub>1</sub>, <i>ε</i> standard normal, <i>u</i>
uniform between −2 and 2, the size <i>s</i> between 1/2 and 2, its logarithm uniform. It never saw yours.
<b>One layer</b> of linear attention, which this book is about, has the best weights that there are for that law, the
same for any number of points: one step of gradient descent, with a size of its own in height and in slope.
<b>Bayes</b> knows the law; nothing does better under it.</p>
<p>Under that law the squared error of Bayes is {bayes:.3f} on average, noise included. The transformer’s is larger by
{model}, that of one layer by {one} (± one standard error, {prompts:,} fresh sets of points). Far from that law, as with
one point far off, transformer and Bayes may part, and nobody has proved what the transformer does.</p>
<p><b>Its layers</b>: what a straight read-out of each layer’s state would answer, fitted on other sets of points. The
last layer is read by the transformer’s own head.</p></details>"""
