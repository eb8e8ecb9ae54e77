"""The kernel of a chapter: ended when its run was overtaken, left alone otherwise."""

import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from press import kernels


@pytest.fixture
def watch(monkeypatch):
    """A function that watches a process of so many seconds, with the answers a turn will give; returns its end."""
    monkeypatch.setattr(kernels, "_EVERY", 0.01)

    def watched(seconds, answers):
        process = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])
        turn = SimpleNamespace(lost=lambda: answers.pop(0) if len(answers) > 1 else answers[0])
        kernels.ChapterKernel(turn=turn)._end_when_lost(process)
        return process.wait(timeout=10)

    return watched


def test_the_kernel_of_an_overtaken_run_is_ended(watch):
    assert watch(8, [False, False, True]) == -signal.SIGKILL


def test_a_kernel_that_ends_by_itself_is_left_alone(watch):
    assert watch(0.2, [False]) == 0
