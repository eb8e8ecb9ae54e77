"""Long work shows itself: which chapter runs, for how long, and how long it usually takes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from icl.files import write_atomically
from press.layout import BUILD
from press.regression import committed_provenance

_EVERY = 30.0  # seconds between two signs of life


def usual_seconds(profile: str, chapter: str) -> float | None:
    """How long the chapter took when it last ran here, else when its baselines were made; None where nobody knows."""
    try:
        return float(_last(profile, chapter).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        committed = committed_provenance(profile, chapter)
        return committed and committed["seconds"]


@contextmanager
def shown(chapter: str, profile: str, say: Callable[[str], None], *, remember: bool, every: float = _EVERY) -> Iterator:
    """Say that a chapter starts, that it is still running every `every` seconds, and when it is done.

    With `remember` the time counts as the chapter's usual one; an unfinished run is not remembered.
    """
    usual = usual_seconds(profile, chapter)
    expected = f", usually {usual:.0f} s" if usual else ""
    say(f"{chapter}: running{expected} …")
    started, done = time.monotonic(), threading.Event()

    def signs_of_life():
        while not done.wait(every):
            say(f"{chapter}: still running after {time.monotonic() - started:.0f} s{expected} …")

    watcher = threading.Thread(target=signs_of_life, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    took = time.monotonic() - started
    say(f"{chapter}: done after {took:.0f} s{expected}.")
    if remember:
        write_atomically(_last(profile, chapter), f"{took:.1f}\n")


def _last(profile: str, chapter: str):
    return BUILD / "times" / profile / chapter
