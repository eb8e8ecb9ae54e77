"""Independent computations side by side give what a loop gives, and leave no process behind."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from tqdm import tqdm

from icl import parallel
from icl.validation import InputError
from press.layout import ROOT


# What the workers import with this file is little, for each of them does it anew.
def drawn(k: int, rng: np.random.Generator) -> tuple:
    return k, rng.standard_normal(3).tolist()


def threads(k: int) -> int:
    import torch

    return torch.get_num_threads()


def refused(k: int) -> int:
    if k == 2:
        raise InputError("two is too many.")
    return k


def ended(k: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def slow_first(k: int) -> int:
    time.sleep(0.5 * (k == 0))
    return k


def whereabouts(k: int) -> int:
    return os.getpid()


def barred(k: int) -> bool:
    return tqdm([k]).disable


def nested(k: int) -> tuple:
    return os.getpid(), parallel.each(whereabouts, [(1,), (2,)], label="nested")


@pytest.fixture(scope="module")
def pool():
    """One for all tests, as for all calls of a program."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    yield
    get_reusable_executor().shutdown(kill_workers=True)
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def two_cores(pool, monkeypatch):
    monkeypatch.setenv("ICL_CORES", "2")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def jobs() -> list:
    return [(k, np.random.default_rng([5, k])) for k in range(7)]


def test_the_number_of_processes_changes_nothing(two_cores, monkeypatch):
    both = parallel.each(drawn, jobs(), label="both")
    monkeypatch.setenv("ICL_CORES", "1")
    alone = parallel.each(drawn, jobs(), label="alone")
    assert both == alone == [drawn(*job) for job in jobs()]


def test_results_come_in_the_order_of_the_arguments(two_cores):
    assert parallel.each(slow_first, [(k,) for k in range(4)]) == [0, 1, 2, 3]


def test_other_processes_do_the_work_on_one_thread(two_cores):
    found = parallel.each(whereabouts, [(k,) for k in range(8)], label="where")
    assert os.getpid() not in found and len(set(found)) <= 2
    assert set(parallel.each(threads, [(k,) for k in range(4)], label="threads")) == {1}
    assert parallel.each(whereabouts, [(1,)], label="one alone") == [os.getpid()]
    assert all(parallel.each(barred, [(1,), (2,)], label="bars")), "two bars at once would write over each other"
    worker, inner = parallel.each(nested, [(1,), (2,)], label="nested")[0]
    assert inner == [worker, worker]


def test_errors_come_through(two_cores):
    with pytest.raises(InputError, match="two is too many"):
        parallel.each(refused, [(k,) for k in range(5)], label="refused")
    with pytest.raises(InputError, match=r"ended: the system ended one of its processes.*memory.*ICL_CORES=1"):
        parallel.each(ended, [(1,), (2,)])
    assert parallel.each(refused, [(0,), (1,)], label="again") == [0, 1], "a new pool follows a broken one"


def test_the_environment_says_how_many(monkeypatch):
    monkeypatch.setenv("ICL_CORES", "3")
    assert parallel.cores() == 3
    for wrong in ("0", "-1", "two", "1.5", "²"):
        monkeypatch.setenv("ICL_CORES", wrong)
        with pytest.raises(InputError, match="ICL_CORES = .* whole number, 1 or more"):
            parallel.cores()
    monkeypatch.setenv("ICL_CORES", "")
    assert parallel.cores() == len(os.sched_getaffinity(0))


def test_an_interrupt_is_the_parent_s_to_answer(two_cores):
    """Jupyter interrupts all processes of a kernel that it is about to end: workers would print their tracebacks."""
    from support import ends

    jobs = [(k,) for k in range(8)]
    workers = set(parallel.each(whereabouts, jobs))
    for worker in workers:
        os.kill(worker, signal.SIGINT)
    assert len(parallel.each(whereabouts, jobs)) == 8 and not any(ends(worker, 0.1) for worker in workers)


def test_workers_end_with_a_killed_parent(tmp_path):
    """Nobody would stop them otherwise: they would wait for work until the machine is switched off."""
    from support import ends

    program = (
        "import time; from icl import parallel; from test_parallel import whereabouts\n"
        "print(*parallel.each(whereabouts, [(k,) for k in range(8)], label='x'), flush=True)\n"
        "parallel.each(time.sleep, [(600,), (600,)], label='long')\n"
    )
    (tmp_path / "program.py").write_text(program)
    settings = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "ICL_CORES": "2"}
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    workers = {int(word) for word in parent.stdout.readline().split()}
    assert workers and not any(ends(worker, 0.1) for worker in workers)
    with parent:
        parent.kill()
    assert all(ends(worker) for worker in workers)
