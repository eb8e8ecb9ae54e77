"""A chapter's table: one line for each point and claim, with numbers of ten digits."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from icl.claims import FAILS, NOT_RUN
from icl.files import write_atomically
from icl.validation import InputError

BROKEN = "broken"  # the verdict where an error kept a claim from being decided
_HEADER = ["point", "claim", "predicted", "measured", "stderr", "margin", "verdict", "reason"]


@dataclass(frozen=True)
class Line:
    """A claim at a point. margin : excess in units of what is allowed; above 1 the claim fails, None if not decided."""

    point: int
    claim: str
    predicted: float | None
    measured: float | None
    stderr: float | None
    margin: float | None
    verdict: str
    reason: str

    @property
    def wrong(self) -> bool:
        """Whether the claim fails here, or could not be decided for an error."""
        return self.verdict in (FAILS, BROKEN)


def write(path: Path, found: dict[int, dict]) -> Path:
    """Write points, number → content of its file, as a table."""
    return write_atomically(path, _text(found))


def lines(found: dict[int, dict]) -> list[Line]:
    """The lines that `write` writes, as `read` reads them."""
    return _parsed(_text(found))


def _text(found: dict[int, dict]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_HEADER)
    for number, content in found.items():
        for id, (*numbers, verdict, reason) in content["claims"].items():
            rows.writerow([number, id, *map(_digits, numbers), verdict, reason])
        for id, reason in content["broken"].items():
            rows.writerow([number, id, "", "", "", "", BROKEN, reason])
    return text.getvalue()


def read(path: Path) -> list[Line]:
    """The lines of a table; raises InputError for a file that is none."""
    try:
        return _parsed(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a table of the atlas ({error}).") from None


def _parsed(text: str) -> list[Line]:
    rows = csv.DictReader(io.StringIO(text), strict=True)
    if rows.fieldnames != _HEADER:
        raise ValueError("its columns are others")
    return [
        Line(
            int(row["point"]),
            row["claim"],
            *(float(row[name]) if row[name] else None for name in _HEADER[2:6]),
            row["verdict"],
            row["reason"],
        )
        for row in rows
    ]


def decided(lines: list[Line]) -> list[Line]:
    """Those with numbers."""
    return [line for line in lines if line.verdict not in (NOT_RUN, BROKEN)]


def _digits(value) -> str:
    return "" if value is None else f"{float(value):.10g}"
