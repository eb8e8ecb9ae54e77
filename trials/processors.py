"""The unit tests on other processors than this one, as far as the libraries' switches can play them.

What is measured is written to `results/measurements/processors.json`; the page on trust shows it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from icl.files import sealed, write_atomically
from press.layout import MEASUREMENTS, ROOT
from press.run import processor

SETTINGS = {
    "as it is": {},
    "OpenBLAS without AVX-512": {"OPENBLAS_CORETYPE": "Haswell"},
    "PyTorch without vector instructions": {"ATEN_CPU_CAPABILITY": "default"},
}
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


def measure() -> dict:
    """Run the unit tests under each of SETTINGS: what passed and failed, by name of the setting, and the processor."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-m", "not book", "--no-header"]
    found = {}
    switched = {name for switches in SETTINGS.values() for name in switches}
    usual = {name: value for name, value in os.environ.items() if name not in switched}
    for name, switches in SETTINGS.items():
        done = subprocess.run(command, cwd=ROOT, env=usual | switches, capture_output=True, text=True, check=False)
        counts = {word: int(count) for count, word in _COUNT.findall(done.stdout.splitlines()[-1])}
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.M)
        found[name] = {"switches": switches, "passed": counts.get("passed", 0), "failed": failed}
    return {"processor": processor(), "settings": found}


def save(found: dict) -> Path:
    """Write what `measure` found to `results/measurements/processors.json`."""
    return write_atomically(MEASUREMENTS / "processors.json", sealed(found))
