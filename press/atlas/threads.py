"""One thread for what is decided in this process: of two that wait for each other both count as time."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from press.run import ONE_THREAD, environed


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's libraries, which are loaded, and PyTorch, which reads its number when it is."""
    with environed(**ONE_THREAD), threadpool_limits(1):
        yield
