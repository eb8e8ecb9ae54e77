"""Independent computations side by side on the machine's cores, with the results of a plain loop."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partialmethod

from icl.validation import InputError


def each(function: Callable, arguments: Sequence[tuple], *, label: str | None = None) -> list:
    """[function(*a) for a in arguments], computed in as many processes as there are cores; a bar if there is a `label`.

    What is computed does not depend on how many there are, as long as `function` draws only from generators among its
    arguments. Raises what `function` raises, and InputError when the system kills one of the processes.
    """
    try:
        from joblib import Parallel, delayed, parallel_config
        from tqdm import tqdm
    except ModuleNotFoundError:  # the library alone: one after the other, with the same results
        return [function(*values) for values in arguments]
    jobs = (delayed(function)(*values) for values in arguments)
    processes = cores() if len(arguments) > 1 else 1
    threads = None if "OMP_NUM_THREADS" in os.environ else 1
    bar = dict(total=len(arguments), desc=label, file=sys.stderr, mininterval=0.5, disable=label is None)
    with (
        warnings.catch_warnings(),
        parallel_config("loky", inner_max_num_threads=threads, initializer=_begin, initargs=(os.getpid(),)),
    ):
        # loky replaces a worker that has grown, and says so on stderr; nothing is lost by it.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        try:
            return list(tqdm(Parallel(processes, return_as="generator", max_nbytes=None)(jobs), **bar))
        except BrokenProcessPool:
            reason = "the system ended one of its processes, most likely for lack of memory"
            raise InputError(f"{label or function.__name__}: {reason}; set ICL_CORES=1 to use one process.") from None


def cores() -> int:
    """How many processes work at once: the environment's ICL_CORES, otherwise the cores that this process may use.

    Raises InputError for an ICL_CORES that is no whole number, 1 or more.
    """
    wanted = os.environ.get("ICL_CORES", "")
    if wanted:
        if not (wanted.isascii() and wanted.isdigit() and int(wanted)):
            raise InputError(f"ICL_CORES = {wanted!r} must be a whole number, 1 or more; change it or leave it out.")
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin(parent: int) -> None:
    """Of a worker: no bars and no workers of its own, interrupts left to its parent, and an end with it."""
    os.environ["ICL_CORES"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Jupyter sends it to all processes when a kernel ends
    from tqdm import tqdm

    tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # loky's workers outlive a killed parent by minutes
        time.sleep(1.0)
    os._exit(1)
