"""The folder that a run writes into: where it may be, and which of the files there are the run's own to replace."""

import os
import shutil
import tempfile
from pathlib import Path

from icl.files import dumps, read_json, write_atomically
from icl.validation import InputError
from press.layout import BUILD

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
