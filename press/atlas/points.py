"""Which problems the atlas asks about: the corners of each chapter's ranges, then a scrambled Sobol sequence.

One CSV holds them all and is the atlas's whole input: a line a point, with its chapter, its number, its seed and the
chapter's parameters. The first lines stay what they are when more are asked for.
"""

import csv
import io
import math
from pathlib import Path

import numpy as np

from icl.chapters import CHAPTERS, check_parameters
from icl.files import write_atomically
from icl.parameters import CLAIMS, Parameters
from icl.randomness import entropy
from icl.validation import InputError, check_count

MOST = {"d": 20, "n": 200}  # as large as the atlas goes: a point is to take seconds
LEAST = 1e-3  # the least that a parameter on a logarithmic scale is, beside the zero that its range may begin with
ZEROS = 0.05  # share of the points at which it is zero
COMMON = ("d", "n", "sigma2")


def limits(chapter: str, name: str) -> tuple[float, float, bool]:
    """Least and most of a parameter in the atlas, and whether it is a whole number."""
    field = CHAPTERS[chapter].schema.model_fields[name]
    bounds = {type(part).__name__: part for part in field.metadata}
    return bounds["Ge"].ge, min(bounds["Le"].le, MOST.get(name, math.inf)), field.annotation is int


def axes(chapter: str) -> list[str]:
    """The parameters that the atlas varies, in the order in which the chapter declares them."""
    return [name for name in CHAPTERS[chapter].schema.model_fields if name not in ("seed", "profile")]


def logarithmic(chapter: str, name: str) -> bool:
    """Whether a range spans so much that its points are spread by magnitude."""
    least, most, whole = limits(chapter, name)
    return most >= 20 * max(least, 1) and not (whole and most <= 20 and name not in MOST)


def at(chapter: str, name: str, share: float) -> int | float:
    """The value of a parameter at this share, in [0, 1), of its range."""
    least, most, whole = limits(chapter, name)
    if not logarithmic(chapter, name):
        return math.floor(least + share * (most - least + 1)) if whole else _short(least + share * (most - least))
    if least == 0:
        if share < ZEROS:
            return 0.0
        least, share = LEAST, (share - ZEROS) / (1 - ZEROS)
    if whole:
        return min(int(most), math.floor(math.exp(math.log(least) + share * math.log((most + 1) / least))))
    return _short(least * (most / least) ** share)


def corners(chapter: str) -> list[dict[str, int | float]]:
    """Parameters that differ from the defaults where ranges end, one by one and in the pairs that matter."""
    ends = {name: limits(chapter, name)[:2] for name in axes(chapter)}
    cases = [{}, {"d": 1}, {"n": 1}, {"d": 1, "n": 1}, {"d": 20, "n": 5}, {"d": 8, "n": 8}, {"d": 20, "n": 200},
             {"sigma2": 0.0}, {"sigma2": 0.0, "d": 20, "n": 5}, {"sigma2": 0.0, "d": 8, "n": 8},
             {"sigma2": 0.0, "d": 1, "n": 1}, {"sigma2": 1e6}]  # fmt: skip
    for name in (name for name in axes(chapter) if name not in COMMON):
        cases += [{name: end} for end in ends[name]]
        cases += [{name: ends[name][1], "sigma2": 0.0}]
    return cases


def points(chapter: str, count: int) -> list[Parameters]:
    """The first `count` points of a chapter: corners, then Sobol's."""
    check_count("points", count)
    cases = corners(chapter)[:count]
    more, names = count - len(cases), axes(chapter)
    if more:
        from scipy.stats import qmc  # takes a second, which the workflow does not need

        sequence = qmc.Sobol(len(names), scramble=True, rng=np.random.default_rng(entropy(chapter, 0, "atlas")))
        shares = sequence.random_base2(math.ceil(math.log2(max(more, 2))))[:more]
        cases += [{name: at(chapter, name, float(u)) for name, u in zip(names, row, strict=True)} for row in shares]
    kinds = {name: int if limits(chapter, name)[2] else float for name in names}
    return [
        check_parameters(chapter, **{name: kinds[name](value) for name, value in case.items()}, seed=number,
                         profile=CLAIMS)
        for number, case in enumerate(cases)
    ]  # fmt: skip


def write(path: Path, chapters: list[str], count: int) -> Path:
    """Write the first `count` points of `chapters` as the CSV that `read` reads."""
    return put(path, {chapter: points(chapter, count) for chapter in chapters})


def put(path: Path, asked: dict[str, list[Parameters]]) -> Path:
    """Write such points, chapter → its own in order, as the CSV that `read` reads."""
    names = list(dict.fromkeys(name for chapter in asked for name in (*axes(chapter), "seed")))
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["chapter", "point", *names])
    for chapter, all_ in asked.items():
        for number, parameters in enumerate(all_):
            values = parameters.model_dump()
            rows.writerow([chapter, number, *(values.get(name, "") for name in names)])
    return write_atomically(path, text.getvalue())


def read(path: Path) -> dict[str, list[Parameters]]:
    """Chapter → its points, in order; raises InputError for a file that `write` could not have written."""
    found: dict[str, list[Parameters]] = {}
    try:
        lines = list(csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8")), strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as points of the atlas ({error}).") from None
    for line in lines:
        chapter, number = line.pop("chapter", None), line.pop("point", None)
        if chapter not in CHAPTERS or number != str(len(found.get(chapter, []))):
            raise InputError(f"{path}: point {number} of {chapter} is out of order, or no chapter's.")
        kinds = {name: field.annotation for name, field in CHAPTERS[chapter].schema.model_fields.items()}
        try:
            values = {name: kinds[name](text) for name, text in line.items() if text}
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{path}: point {number} of {chapter} has a value that is none of its parameters'."
            ) from None
        found.setdefault(chapter, []).append(check_parameters(chapter, **values, profile=CLAIMS))
    return found


def _short(value: float) -> float:
    """Four digits, so that the command that runs the point can be read."""
    return float(f"{value:.4g}")
