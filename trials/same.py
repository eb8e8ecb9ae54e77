"""`make same`: two builds of the book from nothing, under other circumstances, compared byte for byte.

Each takes place in a copy of the checkout under `_build/trials`, by the same graph as `make book`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from icl.files import read_json, sealed, write_atomically
from press.layout import BUILD, MEASUREMENTS, ROOT, WorkflowError

TRIALS = BUILD / "trials"
# Two places, times, languages, hash seeds and numbers of workers.
CIRCUMSTANCES = {
    "a": {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "CORES": "2"},
    "an other place": {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kolkata", "LC_ALL": "C", "CORES": "1"},
}


def same_bytes(profile: str) -> list[str]:
    """Build the book under both CIRCUMSTANCES; returns what differs between ledgers, figures, notebooks and pages.

    Raises WorkflowError when a build fails.
    """
    copies = [checkout(name) for name in CIRCUMSTANCES]  # both now: whoever works here meanwhile changes neither
    for copy, circumstances in zip(copies, CIRCUMSTANCES.values(), strict=True):
        finish(copy, profile, circumstances)
    found = differences(*copies, profile)
    record("same", {"files": len(_results(copies[0], profile)), "different": len(found)})
    return found


def checkout(name: str) -> Path:
    """A fresh copy of this checkout's tracked files under `_build/trials/<name>`."""
    target = TRIALS / name
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in filter(None, listed.split("\0")):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, target / file)
    return target


def start(copy: Path, profile: str, circumstances: dict[str, str]) -> subprocess.Popen:
    """Start the build of the book in a checkout, in a process group of its own."""
    command = [sys.executable, "-m", "snakemake", "--cores", circumstances["CORES"], "--rerun-incomplete", "--nolock"]
    command += ["--quiet", "all", "--config", f"profile={profile}", "--", "book"]
    environment = {**os.environ, **circumstances, "PYTHONPATH": str(copy)}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=copy, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)


def finish(copy: Path, profile: str, circumstances: dict[str, str]) -> None:
    """Build the book in a checkout to the end. Raises WorkflowError when that fails."""
    if start(copy, profile, circumstances).wait():
        raise WorkflowError(f"the build in {copy} failed; `make book` there says why.")


def differences(left: Path, right: Path, profile: str) -> list[str]:
    """Files of the run and of the site that one of two checkouts lacks, or whose bytes differ."""
    first, second = _results(left, profile), _results(right, profile)
    found = [f"{name} is in one of the builds only" for name in sorted(first.keys() ^ second.keys())]
    return found + [
        f"{name} differs"
        for name in sorted(first.keys() & second.keys())
        if first[name].read_bytes() != second[name].read_bytes()
    ]


def record(trial: str, found: dict) -> None:
    """Write what a trial found to `measurements/trials.json`, beside the other's."""
    path = MEASUREMENTS / "trials.json"
    before = read_json(path) if path.exists() else {}
    write_atomically(path, sealed(before | {trial: found}))


def _results(copy: Path, profile: str) -> dict[str, Path]:
    """All that a build makes but its own notes (hidden files) and its times (provenance)."""
    build = copy / "_build"
    files = [path for folder in (build / "run" / profile, build / "html") for path in folder.rglob("*")]
    named = {path.relative_to(build): path for path in files if path.is_file()}
    hidden = lambda name: any(part.startswith(".") for part in name.parts)
    return {
        str(name): path
        for name, path in named.items()
        if not hidden(name) and not name.name.endswith(".provenance.json")
    }
