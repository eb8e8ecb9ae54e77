"""Who may write: a scratch folder for each process, and only the latest start publishes what it made.

After `kill -9` the children of a run live on as orphans. They work in a scratch folder that nobody reads, and what they
would publish is dropped once a later start has taken the turn; a chapter's kernel is ended then. Locks are the
system's and die with their owner, so none is ever left behind.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from icl.files import write_atomically
from press.layout import WorkflowError


@dataclass(frozen=True)
class Turn:
    """One process's turn at making `name` in `folder`: `scratch` is its own, empty at first, gone at the end."""

    folder: Path
    name: str
    scratch: Path
    token: str

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Nobody else publishes `name` meanwhile. Raises WorkflowError when the turn is lost, as `check`."""
        self.check()
        with _locked(self.folder, self.name):
            self.check()
            yield

    def check(self) -> None:
        """Raise WorkflowError when the turn is lost: a later start has taken it, or the folder was cleared."""
        owner = self._owner()
        if owner is None:
            raise WorkflowError(f"{self.folder} was cleared while {self.name} was made in it; start it again.")
        if owner != self.token:
            raise WorkflowError(f"a later start makes {self.name} in {self.folder}; this one's work is dropped.")

    def lost(self) -> bool:
        """Whether what is made now will never be published: see `check`."""
        return self._owner() != self.token

    def _owner(self) -> str | None:
        """Whose turn it is; None where the folder was cleared under this one."""
        try:
            owner = _owner(self.folder, self.name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return owner if owner != self.token or self.scratch.exists() else None


@contextmanager
def turn(folder: Path, name: str) -> Iterator[Turn]:
    """Take the turn at making `name` in `folder`, which exists; sweeps away the scratch folders of dead processes."""
    prefix, token = f".{name}.scratch-", secrets.token_hex(8)
    with _locked(folder, name):
        for left in folder.glob(f"{prefix}*"):
            if not _alive(left):
                shutil.rmtree(left, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(dir=folder, prefix=prefix))
        alive = os.open(scratch / ".alive", os.O_CREAT | os.O_RDWR)
        fcntl.flock(alive, fcntl.LOCK_EX)
        write_atomically(_owner(folder, name), token)
    try:
        yield Turn(folder, name, scratch, token)
    finally:
        os.close(alive)
        shutil.rmtree(scratch, ignore_errors=True)


def _owner(folder: Path, name: str) -> Path:
    return folder / f".{name}.owner"


def _alive(scratch: Path) -> bool:
    """Whether the process that made `scratch` still holds its lock."""
    try:
        handle = os.open(scratch / ".alive", os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(handle)


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    with open(folder / f".{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
