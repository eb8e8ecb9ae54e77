"""How long continuous integration takes, as it works: in a fresh clone of the last commit, with its own environment."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from icl.files import read_sealed, sealed, write_atomically
from press.layout import MEASUREMENTS, ROOT, WorkflowError
from press.run import processor

KEPT = 5  # the same run takes up to half as long again on a machine that others use too: one alone says little
_TESTS = re.compile(r"^make test: everything passed, in (\d+) s\.$", flags=re.M)
_OURS = ("MAKE", "MFLAGS", "PYTHON", "VIRTUAL_ENV")  # of this command; nobody else's CI has them


def measure() -> dict:
    """Seconds of `.ci/run` in a clone and, without installation, of the tests in it. WorkflowError where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    with tempfile.TemporaryDirectory(prefix="icl-") as clone:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), clone], check=True)
        began, both = time.perf_counter(), subprocess.STDOUT
        done = subprocess.run(["bash", ".ci/run"], cwd=clone, env=environment, stdout=subprocess.PIPE, stderr=both)
        seconds = time.perf_counter() - began
    said = done.stdout.decode(errors="replace")
    if done.returncode or not (tests := _TESTS.search(said)):
        raise WorkflowError(f"`.ci/run` failed in a fresh clone; it ended with\n{said[-2000:]}")
    return {"ci": round(seconds), "tests": int(tests[1]), "cores": os.cpu_count(), "cpu": processor()}


def save(found: dict) -> Path:
    """Add what `measure` found to the last KEPT runs in `measurements/times.json`; the page on trust shows them."""
    path = MEASUREMENTS / "times.json"
    before = read_sealed(path)["runs"] if path.exists() else []
    return write_atomically(path, sealed({"runs": [*before, found][-KEPT:]}))
