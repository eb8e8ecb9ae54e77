"""Independent computations side by side on the machine's cores, with the results of a plain loop."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial, partialmethod

from tqdm import tqdm

from icl.validation import InputError

_is_worker = False


def each(function: Callable, arguments: Sequence[tuple], *, label: str | None = None) -> list:
    """[function(*a) for a in arguments], computed in as many processes as there are cores; a bar if there is a `label`.

    What is computed does not depend on how many there are, as long as `function` draws only from generators among its
    arguments; it must be importable by name. Raises what `function` raises, and InputError when the system kills one of
    the processes.
    """
    alone = len(arguments) < 2 or cores() < 2 or _is_worker
    start = partial(_at_once, function) if alone else partial(_pool().submit, function)
    with tqdm(total=len(arguments), desc=label, file=sys.stderr, mininterval=0.5, disable=label is None) as bar:
        futures = []
        try:
            for values in arguments:
                futures.append(start(*values))
                futures[-1].add_done_callback(lambda _: bar.update())
            return [future.result() for future in futures]
        except BrokenProcessPool:
            _pool.cache_clear()
            reason = "the system ended one of its processes, most likely for lack of memory"
            raise InputError(f"{label or function.__name__}: {reason}; set ICL_CORES=1 to use one process.") from None
        finally:
            for future in futures:
                future.cancel()


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


def _at_once(function: Callable, *values) -> Future:
    future = Future()
    future.set_result(function(*values))
    return future


@cache
def _pool() -> ProcessPoolExecutor:
    # Fresh processes: forks of one that has run torch's threads hang.
    return ProcessPoolExecutor(cores(), mp_context=multiprocessing.get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """Of a worker: no bars of its own, one thread unless the environment says otherwise, and an end with its parent."""
    global _is_worker
    _is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to answer; Jupyter sends it to all when a kernel ends
    tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)
    if "OMP_NUM_THREADS" not in os.environ:
        import torch  # here, not above: whoever only asks how many cores there are would wait seconds for it

        torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)  # whoever waited for the result is gone
