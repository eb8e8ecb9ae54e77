"""Files are written whole or not at all: to a temporary neighbour first, then moved into place."""

import csv
import io
import os
import tempfile
from pathlib import Path

import numpy as np

from icl.validation import InputError


def write_atomically(path: Path | str, content: bytes | str) -> Path:
    """Write `content` to `path` (text as UTF-8), replacing what was there only once all is on disk.

    Creates missing folders. Raises InputError, with the old file untouched, where the folder cannot be
    written or the disk is full.
    """
    path = Path(path)
    content = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise InputError(f"cannot write {path}: {error.strerror}; choose another folder or free some space.") from error
    return path


def csv_text(columns: dict[str, np.ndarray], index: list | None = None) -> str:
    """1-D columns of numbers as CSV with 17 significant digits; short columns end in empty cells.

    `index` (one label a row) becomes a first column without a name.
    """
    columns = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*([""] if index is not None else []), *columns])
    for row in range(max(map(len, columns.values()))):
        label = [] if index is None else [index[row]]
        writer.writerow(label + [f"{column[row]:.17g}" if row < len(column) else "" for column in columns.values()])
    return text.getvalue()
