"""Whole builds of the book put to the test: twice under other circumstances, and killed at random moments.

Each build takes place in a copy of the checkout under `_build/trials`, from nothing, by the same graph as `make book`.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
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
        _finish(copy, profile, circumstances)
    found = differences(*copies, profile)
    _record("same", {"files": len(_results(copies[0], profile)), "different": len(found)})
    return found


def resumed_bytes(profile: str, kills: int, seed: int) -> list[str]:
    """Build once undisturbed and once killed `kills` times at random moments; returns what differs at the end.

    Three kills of four take everything with them, as a crash does; each fourth one only the workflow itself, whose
    workers live on as orphans while the next start is at work. Raises WorkflowError when a build fails.
    """
    moments, settings = random.Random(seed), CIRCUMSTANCES["a"]
    whole, killed = checkout("undisturbed"), checkout("killed")
    began = time.perf_counter()
    _finish(whole, profile, settings)
    seconds = time.perf_counter() - began
    struck = 0
    for number in range(kills):
        process = _start(killed, profile, settings)
        try:
            process.wait(moments.uniform(0, seconds / 3))
        except subprocess.TimeoutExpired:
            struck += 1
            if number % 4 == 3:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    _finish(killed, profile, settings)
    found = differences(whole, killed, profile)
    record = {"kills": kills, "while_running": struck, "seed": seed, "seconds_undisturbed": round(seconds)}
    _record("resume", record | {"different": len(found)})
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


def differences(left: Path, right: Path, profile: str) -> list[str]:
    """Files of the run and of the site that one of two checkouts lacks, or whose bytes differ."""
    first, second = _results(left, profile), _results(right, profile)
    found = [f"{name} is in one of the builds only" for name in sorted(first.keys() ^ second.keys())]
    return found + [
        f"{name} differs"
        for name in sorted(first.keys() & second.keys())
        if first[name].read_bytes() != second[name].read_bytes()
    ]


def _results(copy: Path, profile: str) -> dict[str, Path]:
    """All that a build makes but its own notes (hidden files) and its times (provenance)."""
    folders = [copy / "_build" / "run" / profile, copy / "_build" / "html"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    names = {str(path.relative_to(copy / "_build")): path for path in files}
    return {
        name: path
        for name, path in names.items()
        if not any(part.startswith(".") for part in Path(name).parts) and not name.endswith(".provenance.json")
    }


def _start(copy: Path, profile: str, circumstances: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, "-m", "snakemake", "--cores", circumstances["CORES"], "--rerun-incomplete", "--nolock"]
    command += ["--quiet", "all", "--config", f"profile={profile}", "--", "book"]
    return subprocess.Popen(
        command,
        cwd=copy,
        env={**os.environ, **circumstances, "PYTHONPATH": str(copy)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _finish(copy: Path, profile: str, circumstances: dict[str, str]) -> None:
    if _start(copy, profile, circumstances).wait():
        raise WorkflowError(f"the build in {copy} failed; `make book` there says why.")


def _record(trial: str, found: dict) -> None:
    path = MEASUREMENTS / "trials.json"
    before = read_json(path) if path.exists() else {}
    write_atomically(path, sealed(before | {trial: found}))
