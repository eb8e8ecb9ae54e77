"""A bar with the remaining time on stderr: tqdm's where it is installed, a plain one where only the library is."""

import sys
import time

_EVERY = 0.5  # seconds between two states of a bar


def bar(total: int, label: str, *, initial: int = 0, wanted: bool = True, unit: str = "it"):
    """A context with `update(done=1)` and `set_postfix_str(text)`; it shows nothing unless `wanted`."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return Plain(total, label, initial=initial, wanted=wanted)
    return tqdm(
        total=total, initial=initial, desc=label, unit=unit, file=sys.stderr, mininterval=_EVERY, disable=not wanted
    )


class Plain:
    """Percent and the seconds that are left, on one line that is written again twice a second."""

    def __init__(self, total: int, label: str, *, initial: int = 0, wanted: bool = True):
        self.total, self.label, self.done, self.first, self.wanted = total, label, initial, initial, wanted
        self.began, self.shown, self.after = time.monotonic(), -_EVERY, ""

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_):
        if self.wanted:
            self._write("\n")

    def update(self, done: int = 1) -> None:
        """So many more are done."""
        self.done += done
        if self.wanted and time.monotonic() - self.shown >= _EVERY:
            self._write("")

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        """What stands behind the time."""
        self.after = text and f", {text}"

    def _write(self, end: str) -> None:
        self.shown = time.monotonic()
        passed, share = self.shown - self.began, self.done / max(self.total, 1)
        left = passed * (self.total - self.done) / max(self.done - self.first, 1)
        text = f"{self.label}: {share:.0%}, {passed:.0f} s, {left:.0f} s left{self.after}"
        print(f"\r{text:<79}", end=end, file=sys.stderr, flush=True)
