"""An explorable before any script runs: its panels drawn and its numbers filled in, at the start of its sliders.

Its own script draws them, when the book is built, in the node that comes with playwright.
"""

import html
import json
import re
import subprocess
from functools import cache

from playwright._impl._driver import compute_driver_executable

from icl.chapters import CHAPTERS
from press.layout import ROOT, WorkflowError

_CONFIG = re.compile(r'<script type="application/json">(.*?)</script>', flags=re.S)
_PANEL = re.compile(r'(<svg viewBox="0 0 340 240"[^>]*>)</svg>')


@cache
def drawn(page: str) -> str:
    """The HTML of an explorable with its panels drawn; raises WorkflowError where its script fails."""
    name = re.findall(r'src="\.\./_static/(\w+)\.js"', page)[-1]  # the chapter's script comes last
    folder = next(chapter.folder for chapter in CHAPTERS.values() if chapter.folder.name == name)
    node = compute_driver_executable()[0]
    scripts = [ROOT / "press/static_panels.js", ROOT / "book/assets/explorable.js", folder / "explorable.js"]
    done = subprocess.run(
        [node, *map(str, scripts)], input=_CONFIG.search(page)[1], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise WorkflowError(f"{folder}/explorable.js does not draw its start:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    panels = iter(found["panels"])
    page = _PANEL.sub(lambda svg: f"{svg[1]}{next(panels)}</svg>", page)
    for key, text in found["numbers"].items():
        page = page.replace(f'data-number="{key}">–<', f'data-number="{key}">{html.escape(str(text))}<')
    return page.replace(" ~ ", " ∼ ")  # the text face raises its tilde
