"""How long continuous integration takes, measured as it works: in a fresh clone, with an environment of its own.

What is measured is written to `measurements/times.json`; the page on trust shows it.
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from icl.files import read_sealed, sealed, write_atomically
from press.layout import BUILD, MEASUREMENTS, ROOT, WorkflowError
from press.run import processor

LOG = BUILD / "trials" / "clone.log"
KEPT = 5  # the same run takes up to half as long again on a machine that others use too: one alone says little
_TESTS = re.compile(r"^make test: everything passed, in (\d+) s\.$", flags=re.M)
_OURS = ("MAKE", "MFLAGS", "PYTHON", "VIRTUAL_ENV")  # of this command; nobody else's CI has them


def measure() -> dict:
    """Seconds of `.ci/run` in a clone of the last commit and, without installation, of the tests in it.

    What it prints goes to LOG. Raises WorkflowError where it fails.
    """
    LOG.parent.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    with tempfile.TemporaryDirectory(prefix="icl-") as clone, open(LOG, "wb") as output:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), clone], check=True)
        began = time.perf_counter()
        ended = subprocess.run(
            ["bash", ".ci/run"], cwd=clone, env=environment, stdout=output, stderr=output, check=False
        )
        seconds = time.perf_counter() - began
    tests = _TESTS.search(LOG.read_text(encoding="utf-8", errors="replace"))
    if ended.returncode or not tests:
        raise WorkflowError(f"`.ci/run` failed in a fresh clone; {LOG} says why.")
    return {"ci": round(seconds), "tests": int(tests[1]), "cores": os.cpu_count(), "cpu": processor()}


def save(found: dict) -> Path:
    """Add what `measure` found to the last KEPT runs in `measurements/times.json`."""
    path = MEASUREMENTS / "times.json"
    before = read_sealed(path)["runs"] if path.exists() else []
    return write_atomically(path, sealed({"runs": [*before, found][-KEPT:]}))
