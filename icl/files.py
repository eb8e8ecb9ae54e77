"""Files are written whole or not at all: to a temporary neighbour first, then moved into place.

Results are sealed: their JSON ends in the SHA-256 of the rest, so that a flipped bit inside a number is noticed.
"""

import csv
import hashlib
import io
import json
import math
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
    """1-D columns of numbers as CSV with 17 significant digits.

    Columns of one length are a series and share rows; columns of another length have rows of their own below, for what
    stands in one row is read as belonging together. `index` (one label a row) becomes a first column without a name.
    """
    columns = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    first, rows = {}, 0  # length of a series → its first row
    for length in dict.fromkeys(map(len, columns.values())):
        first[length], rows = rows, rows + length
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*([""] if index is not None else []), *columns])
    for row in range(rows):
        places = [(column, row - first[len(column)]) for column in columns.values()]
        cells = [f"{column[k]:.17g}" if 0 <= k < len(column) else "" for column, k in places]
        writer.writerow(cells if index is None else [index[row], *cells])
    return text.getvalue()


def read_csv(path: Path | str) -> dict[str, np.ndarray]:
    """Columns of a CSV that `csv_text` wrote, without its index; raises InputError for anything else."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}).") from None
    return parse_csv(text, str(path))


def parse_csv(text: str, name: str) -> dict[str, np.ndarray]:
    """As `read_csv`, from the text; `name` says in an InputError which table it was."""
    try:
        header, *rows = csv.reader(io.StringIO(text), strict=True)
        if len(set(header)) < len(header) or not rows or any(len(row) != len(header) for row in rows):
            raise ValueError("its rows do not have one cell a column")
        return {title: _column([row[k] for row in rows]) for k, title in enumerate(header) if title}
    except (ValueError, csv.Error) as error:
        raise InputError(f"{name} cannot be read as a table of numbers ({error}).") from None


def _column(cells: list[str]) -> np.ndarray:
    """A column's numbers, empty cells above and below left out; one between two numbers would be a lost number."""
    filled = [k for k, cell in enumerate(cells) if cell]
    own = cells[filled[0] : filled[-1] + 1] if filled else []
    if len(own) > len(filled):
        raise ValueError("a cell in the middle is empty")
    return np.array([float(cell) for cell in own])


def dumps(content: dict) -> str:
    """JSON with every float's shortest exact form: the same content gives the same bytes.

    Raises InputError for NaN and infinity, which are no JSON.
    """
    try:
        return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    except ValueError as error:
        raise InputError(
            f"this cannot be written as JSON ({error}); write numbers that are not finite as text."
        ) from None


def json_number(value):
    """`value`, but NaN and ±infinity as texts, which JSON has no numbers for."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def sha256(content: bytes | str) -> str:
    """Hexadecimal SHA-256 of bytes, or of a text as UTF-8."""
    return hashlib.sha256(content.encode(errors="surrogatepass") if isinstance(content, str) else content).hexdigest()


def sealed(content: dict) -> str:
    """`content` as JSON whose last entry, `sha256`, is the digest of all before it; an older seal is replaced."""
    content = {key: value for key, value in content.items() if key != "sha256"}
    return dumps(content | {"sha256": sha256(dumps(content))})


def read_json(path: Path | str) -> dict:
    """The JSON object in a file; raises InputError, with the file and the reason, where there is none."""
    try:
        content = json.loads(Path(path).read_bytes().decode("utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged (it holds no JSON object).")
    return content


def read_sealed(path: Path | str) -> dict:
    """The content of a file that `sealed` made, without its seal.

    Raises InputError, with the file and the reason, for one that is missing, unreadable, no JSON, without a seal, or
    different in a single byte from what was written.
    """
    content = read_json(path)
    if "sha256" not in content:
        raise InputError(f"{path} is damaged (it carries no SHA-256 of its content).")
    if sealed(content).encode(errors="surrogatepass") != Path(path).read_bytes():
        raise InputError(f"{path} was altered after it was written: its SHA-256 differs.")
    return {key: value for key, value in content.items() if key != "sha256"}


def _refuse(constant: str):
    raise ValueError(f"{constant} is no JSON")
