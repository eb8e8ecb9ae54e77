"""How the book was made, from what is committed: the same checkout gives the same page, whenever and wherever built.

Times and hardware differ from run to run, so they come from the provenance that `make baselines` commits beside the
numbers, not from the run that these pages show; versions come from the lock.
"""

import re
import tomllib

from icl.chapters import CHAPTERS
from icl.claims import DRIFT
from icl.files import sha256
from icl.parameters import PROFILES
from press.finished import FinishedRun
from press.layout import BASELINES, CHECKPOINTS, ROOT
from press.pages.reading import title
from press.regression import committed_provenance

_METHODS = {"exact": "deterministic", "monte-carlo": "sampled", "trained": "trained on samples"}


def making(run: FinishedRun) -> str:
    """The generated tables of the page «How it was made», in MyST."""
    parts = ["## How the claims were measured", "", _methods(run), "## Committed results", "", _results()]
    parts += ["## Versions", "", _versions()]
    if trained := _checkpoints():
        parts += ["## Trained weights", "", trained]
    return "\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def _methods(run: FinishedRun) -> str:
    rows = []
    for chapter in run.chapters:
        methods = [claim.method for claim in chapter.claims]
        counts = [str(methods.count(method)) for method in DRIFT]
        link = f"{{doc}}`{title(chapter.name)} </notebooks/{chapter.name}>`"
        rows.append([link, *counts, str(len(chapter.figures))])
    return _table(["chapter", *(_METHODS[method] for method in DRIFT), "figures"], rows)


def _results() -> str:
    rows = []
    for profile in PROFILES:
        for name in CHAPTERS if (BASELINES / profile).is_dir() else ():
            facts = committed_provenance(profile, name)
            if facts:
                hardware = f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']:.0f} GiB"
                made = [f"{facts['seconds']:.0f} s", hardware, f"{facts['system']}, Python {facts['python']}"]
                rows.append([f"`{name}`", profile, *made, f"`{facts['lock_sha256'][:12]}`"])
            else:
                rows.append([f"`{name}`", profile, "not recorded", "–", "–", "–"])
    return _table(["chapter", "profile", "time", "hardware", "system", "lock"], rows)


def _versions() -> str:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", lock, flags=re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        re.match(r"[\w-]+", line).group() for line in project["dependencies"] + project["optional-dependencies"]["book"]
    ]
    rows = [[f"`{name}`", pinned[name]] for name in wanted if name in pinned]
    digest = sha256(lock)
    text = f"The lock names {len(pinned)} packages; its SHA-256 begins `{digest[:12]}`. Those asked for by name:"
    return f"{text}\n\n{_table(['package', 'version'], rows)}"


def _checkpoints() -> str:
    files = sorted(CHECKPOINTS.glob("*.safetensors"))
    rows = [
        [
            f"`{path.name}`",
            f"{path.stat().st_size / 1024:.0f} KiB",
            f"`{sha256(path.read_bytes())[:12]}`",
        ]
        for path in files
    ]
    return _table(["file", "size", "SHA-256 begins"], rows) if rows else ""
