"""The folder that a run writes into: where it may be, whose it is meanwhile, and which files the run may replace."""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from icl.files import dumps, read_json, write_atomically
from icl.validation import InputError
from press.layout import BUILD, WorkflowError

_SUFFIXES = (".ipynb", ".provenance.json", ".json")  # the ledger last: its presence says that the rest is there


def output_folder(out: Path | str) -> Path:
    """Make the folder if need be and return its real path: symbolic links are followed, `~` is the home folder.

    Raises InputError for one that cannot be written, and for a relative path that climbs out of the current folder;
    an absolute path may lead anywhere.
    """
    shown = ascii(str(out))
    try:
        str(out).encode()  # a name that is no text cannot be written down
        if not str(out).strip() or "\0" in str(out):
            raise InputError(f"{shown} does not name a folder; choose another with --out.")
        given = Path(out).expanduser()
        whole = Path(os.path.normpath(Path.cwd() / given))
        if not given.is_absolute() and not whole.is_relative_to(Path.cwd()):
            raise InputError(f"--out {out} leads out of the current folder; if you mean that, give it whole: {whole}.")
        given.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=given):
            pass
        return given.resolve()
    except UnicodeError:
        raise InputError(f"cannot write to the folder {shown}: its name is no UTF-8; choose another --out.") from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write to the folder {shown}: {reason}; choose another with --out.") from None


@dataclass(frozen=True)
class Workplace:
    """Where one process makes `name` for `folder`, alone: in `scratch`, which is empty at first and gone at the end."""

    folder: Path
    name: str
    scratch: Path
    lock: int

    def check(self) -> None:
        """Raise WorkflowError when the folder was cleared under this process, whose lock then keeps nobody away."""
        path = _lock(self.folder, self.name)
        if not (path.exists() and os.path.samestat(os.fstat(self.lock), path.stat())):
            raise WorkflowError(f"{self.folder} was cleared while {self.name} was made in it; start it again.")


@contextmanager
def workplace(folder: Path, name: str) -> Iterator[Workplace]:
    """A place to make `name` for `folder`, which exists, once whoever makes it now has done; says so when it waits.

    The lock is the system's and dies with its process, however that ends. What a killed one left is swept away: an
    orphan of it may still write there, but nobody reads it.
    """
    prefix = f".{name}.scratch-"
    with open(_lock(folder, name), "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{name}: waiting until another process has made it in {folder} …", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(dir=folder, prefix=prefix))
        mine = Workplace(folder, name, scratch, lock.fileno())
        try:
            yield mine
        except Exception:
            mine.check()  # in a folder that was cleared, whatever failed failed for that
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _lock(folder: Path, name: str) -> Path:
    return folder / f".{name}.lock"


def check_own(out: Path, chapter: str) -> None:
    """Raise InputError where a run of `chapter` into `out` would replace a file that no run made.

    Which ones a run made is noted beside them. The checkout's `_build` holds nothing else.
    """
    if out.is_relative_to(BUILD.resolve()):
        return
    made = set(_made(out, chapter))
    for path in _present(out, chapter):
        if path.is_symlink() or str(path.relative_to(out)) not in made:
            raise InputError(f"{path} was not made by a run of this chapter; move it away or choose another --out.")


def publish(scratch: Path, out: Path, chapter: str) -> None:
    """Move the finished files from `scratch` into place in `out`, replacing an earlier run's."""
    fresh = [f"{chapter}{suffix}" for suffix in _SUFFIXES]
    fresh += [str(path.relative_to(scratch)) for path in sorted((scratch / chapter).rglob("*"))]
    note(out, chapter, fresh)
    figures = out / chapter
    (out / f"{chapter}.json").unlink(missing_ok=True)
    if figures.exists():
        shutil.rmtree(figures)
    if (scratch / chapter).exists():
        os.replace(scratch / chapter, figures)
    for suffix in _SUFFIXES:
        os.replace(scratch / f"{chapter}{suffix}", out / f"{chapter}{suffix}")
    (out / f"{chapter}.failed.ipynb").unlink(missing_ok=True)


def note(out: Path, chapter: str, names: list[str]) -> None:
    """Write down, before they appear, that the files `names` in `out` are a run's own."""
    write_atomically(_notes(out, chapter), dumps({"made": sorted({*_made(out, chapter), *names})}))


def _made(out: Path, chapter: str) -> list[str]:
    path = _notes(out, chapter)
    made = read_json(path).get("made", []) if path.exists() else []
    return [name for name in made if isinstance(name, str)]


def _notes(out: Path, chapter: str) -> Path:
    return out / f".{chapter}.made.json"


def _present(out: Path, chapter: str) -> list[Path]:
    """What lies where a run of `chapter` writes."""
    folder = out / chapter
    files = [out / f"{chapter}{suffix}" for suffix in (*_SUFFIXES, ".failed.ipynb")]
    inside = [folder] if folder.is_symlink() or folder.is_file() else sorted(folder.rglob("*"))
    return [path for path in (*files, *inside) if os.path.lexists(path)]
