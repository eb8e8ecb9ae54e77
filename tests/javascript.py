"""What the pages' JavaScript computes, for comparison with Python: run by node, else by a browser."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from browser import HOW_TO_GET_ONE, chromium, ready

CHAPTERS = Path(__file__).resolve().parents[1] / "icl" / "chapters"
# JSON knows no infinity; the page's functions may return one, so it travels as text
_TO_JSON = "JSON.stringify(%s, (_, v) => typeof v === 'number' && !Number.isFinite(v) ? String(v) : v)"


def evaluate(name: str, program: str, *inputs):
    """`program`, the text of a JavaScript function (maths, ...inputs), on the maths of a chapter's explorable."""
    script, given = CHAPTERS / name / "explorable.js", ", ".join(map(json.dumps, inputs))
    if node := shutil.which("node"):
        call = _TO_JSON % f"({program})(require({json.dumps(str(script))}), {given})"
        done = subprocess.run([node, "-e", f"console.log({call})"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    if not ready():
        pytest.skip(f"neither node nor a browser is here to run the page's JavaScript: {HOW_TO_GET_ONE}")
    with chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(path=str(script))
        found = page.evaluate(_TO_JSON % f"({program})(iclExplorables[0].maths, {given})")
        return json.loads(found)


def numbers(value):
    """The answer with the infinities that travelled as text."""
    if isinstance(value, list):
        return [numbers(part) for part in value]
    if isinstance(value, dict):
        return {key: numbers(part) for key, part in value.items()}
    return float(value) if isinstance(value, str) else value
