"""Fault injection: does the test suite notice small, realistic mistakes? `make mutants`; the faults: faults.toml.

Each fault replaces one piece of text in a copy of the tracked tree. The unit tests that reach the faulted file through
their imports then run there, nearest first, until one fails: the fault is caught. Tests of the sources' looks and of
the built book are left out; a run past its time limit counts as not caught. A killed run goes on where it was. What
the page on trust shows goes to measurements/mutants.json. The status is 0 only when at least 95 % are caught and every
other fault has its reason. Nothing here imports the package that is broken on purpose.
"""

import argparse
import gc
import hashlib
import json
import multiprocessing.connection
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import astuple
from pathlib import Path

from trials.faults import Fault, FaultError, read_faults, tests_for, tracked

ROOT = Path(__file__).resolve().parents[1]
LEAST_SHARE = 0.95
PYTEST = ["-q", "--no-header", "-rfE", "--tb=line", "-p", "no:cacheprovider", "-m", "not book"]
PYTEST += ["-p", "pytest_timeout"]  # pyproject.toml has its options, and plugins do not load themselves here
# One thread; and no .pyc files: two versions of a module of one size and within a second would share theirs.
ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENVIRONMENT |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
# Tests run in forks of a server that has loaded what does not change, without pytest's plugins: that takes longer than
# most faults need to be caught.
ENVIRONMENT |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
SERVER = multiprocessing.get_context("forkserver")
LOADED = ["pytest", "hypothesis.strategies", "torch", "scipy.optimize", "scipy.integrate", "scipy.stats"]
SERVER.set_forkserver_preload([*LOADED, "matplotlib.figure"])
# Starting a process asks all others how they ended: two threads at once would read one answer twice.
ASKING = threading.Lock()


def run_tests(tree: Path, arguments: list[str], limit: float) -> tuple[int | None, str]:
    """Exit status (None past `limit` seconds) and output of pytest in a copy of the tree."""
    process = SERVER.Process(target=_run_tests, args=(tree, arguments))
    with ASKING:
        process.start()
    if late := not multiprocessing.connection.wait([process.sentinel], limit):
        process.kill()
    multiprocessing.connection.wait([process.sentinel])
    with ASKING:
        process.join()
    return None if late else process.exitcode, (tree / "pytest.log").read_text(encoding="utf-8", errors="replace")


def _run_tests(tree: Path, arguments: list[str]) -> None:
    with open(tree / "pytest.log", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(tree)
    os.environ.update(ENVIRONMENT, PYTHONPATH=str(tree))
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(tree))
    for name in [name for name in sys.modules if name.split(".")[0] == "trials"]:
        del sys.modules[name]  # those of the tree that measures: the copy has its own
    gc.freeze()  # pytest collects garbage five times at its end: not what the server loaded
    import pytest

    sys.exit(pytest.main([*PYTEST, *arguments]))


def try_fault(fault: Fault, tree: Path, tests: list[str], limit: float) -> dict:
    """Run `tests` on one fault in a copy of the tree, which is whole again afterwards.

    Raises FaultError where pytest fails without naming a test.
    """
    path, broken, clock = tree / fault.file, fault.applied(tree), time.perf_counter()
    whole = path.read_text(encoding="utf-8")
    path.write_text(broken, encoding="utf-8")
    status, output = 0, ""
    try:
        for batch in (
            tests[:1],
            tests[1:4],
            tests[4:],
        ):  # most faults are caught nearby; importing all tests takes seconds
            if batch and status == 0:
                status, output = run_tests(tree, ["-x", *batch], limit)
    finally:
        path.write_text(whole, encoding="utf-8")
    named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", output, flags=re.M)
    if status and not named:
        raise FaultError(f"{fault.id}: pytest ended with status {status} and named no test: {output[-2000:]}")
    result = {"id": fault.id, "file": fault.file, "imitates": fault.imitates}
    result |= {"caught_by": named[1] if status else None, "seconds": round(time.perf_counter() - clock, 1)}
    return result if status else result | {"reason": fault.reason or ("past its limit" if status is None else "")}


def measure(root: Path, faults: list[Fault], workers: int, limit: float) -> tuple[list[dict], float]:
    """Try every fault that was not tried on this tree before: results in the order of `faults`, and seconds in all.

    Raises FaultError when the tests fail without any fault.
    """
    files = [
        name
        for name in tracked(root)
        if name != "trials/faults.toml" and re.match(r"(icl|press|trials|tests|book/assets)/", name)
    ]
    parts = ((name + "\0").encode() + hashlib.sha256((root / name).read_bytes()).digest() for name in files)
    tree = hashlib.sha256(b"".join(parts)).hexdigest()
    memory = root / "_build" / "mutants.json"
    known = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else {}
    known = known if known.get("tree") == tree else {"tree": tree, "seconds": 0.0}
    keys = [hashlib.sha256(repr(astuple(fault)).encode()).hexdigest() for fault in faults]
    selected, free, clock = {f.file: tests_for(root, f.file) for f in faults}, queue.SimpleQueue(), time.perf_counter()

    def keep(key, value):
        nonlocal clock
        known[key], known["seconds"] = value, round(known["seconds"] + time.perf_counter() - clock, 1)
        write(memory, known)
        clock = time.perf_counter()

    def one(key, fault):
        copy = free.get()
        try:
            return key, try_fault(fault, copy, selected[fault.file], limit)
        finally:
            free.put(copy)

    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch, ThreadPoolExecutor(workers) as pool:
        for copy in (Path(scratch, str(k)) for k in range(workers)):
            for name in tracked(root):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, copy / name)
            name = ["-c", "user.name=mutants", "-c", "user.email=mutants@localhost"]
            # tests ask git which files are tracked, and clone what is committed
            for command in (["init", "-q"], ["add", "-A"], [*name, "commit", "-q", "--no-verify", "-m", "the tree"]):
                subprocess.run(["git", *command], cwd=copy, check=True)
            free.put(copy)
        if "clean" not in known:
            tests = sorted({test for tests in selected.values() for test in tests})
            status, output = run_tests(copy, tests, 4 * limit)
            if status != 0:
                raise FaultError(f"the tests fail without any fault, so nothing can be measured: {output[-2000:]}")
            keep("clean", output.strip().splitlines()[-1])
            print(f"without any fault: {known['clean']}", flush=True)
        jobs = [pool.submit(one, key, fault) for key, fault in zip(keys, faults, strict=True) if key not in known]
        try:
            for job in as_completed(jobs):
                key, result = job.result()
                keep(key, result)
                verdict = result["caught_by"] or f"NOT CAUGHT {result['reason']}"
                print(f"{result['seconds']:6.1f} s  {result['id']:30} {result['file']:34} {verdict}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    return [known[key] for key in keys], known["seconds"]


def write(path: Path, content: dict) -> None:
    """JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(path.with_suffix(".new"), path)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="faults whose «id file» matches; no measurement is written")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds for the tests of one fault")
    options = parser.parse_args(arguments)
    os.environ.update(ENVIRONMENT)  # for the server, which starts on the first use
    try:
        faults = [fault for fault in read_faults(root) if re.search(options.only, f"{fault.id} {fault.file}")]
        results, seconds = measure(root, faults, options.workers, options.limit)
    except FaultError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    survivors = [result for result in results if not result["caught_by"]]
    caught = len(results) - len(survivors)
    share = round(caught / max(1, len(results)), 4)
    print(f"{caught} of {len(results)} faults caught, {100 * share:.1f} %, in {seconds:.0f} s.")
    for result in survivors:
        print(f"  not caught: {result['id']} ({result['file']}): {result['reason'] or 'no reason given'}")
    if not options.only:
        content = {"faults": len(results), "caught": caught, "share": share, "seconds": seconds}
        content |= {"workers": options.workers, "files": len({result["file"] for result in results})}
        content["survivors"] = [{key: result[key] for key in ("id", "file", "reason")} for result in survivors]
        write(root / "results" / "measurements" / "mutants.json", content)
    return int(share < LEAST_SHARE or any(not result["reason"] for result in survivors))


if __name__ == "__main__":
    sys.exit(main())
