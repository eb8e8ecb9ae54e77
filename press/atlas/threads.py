"""One thread for what is decided in this process: of two that wait for each other both count as time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from press.run import ONE_THREAD


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's libraries, which are loaded, and PyTorch, which reads its number when it is."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
