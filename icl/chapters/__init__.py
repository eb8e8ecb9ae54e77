"""The chapters, found and not listed: every folder here with a `chapter.toml`, in the order of their numbers.

It says what the map shows, the chapter's own parameters and all its claims; CONTRIBUTING.md tells how to add one.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from icl import ledger, parameters
from icl.claims import Method, Relation, Strict
from icl.ledger import Ledger
from icl.parameters import Parameters
from icl.randomness import Streams
from icl.validation import InputError, nearest, short

_OPTIONAL = {"reads": [], "carried": [], "parameters": {}, "guess": None, "horizons": {}}  # of a chapter


class _Entry(Strict):
    """A claim as chapter.toml fixes it before it is measured."""

    source: str
    statement: str
    method: Method
    relation: Relation = "equal"
    rtol: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    atol: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    headline: str = ""
    fails: str = ""
    near_miss: str = ""
    cannot_tell: str = ""


class Guess(Strict):
    """What a chapter's page asks before it tells: `[guess]` of chapter.toml.

    question, formula : as MyST, like the prose of the notebook; claim : of this chapter, whose numbers are the answer;
    between : where the reader's slider begins and ends; step : its steps; picture : the figure that stands below it on
    a page without an explorable.
    """

    question: str
    claim: str
    formula: str
    between: Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=2, max_length=2)]
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    picture: str = ""


@dataclass(frozen=True)
class Chapter:
    """One chapter as its `chapter.toml` tells it.

    name : of its notebook, NN_folder; node, place : its lines on the map and where they stand, (column, row); needs :
    folders of the chapters it rests on, with words; schema : its parameters; claims : id → what is fixed before it is
    measured; reads : files of `results/checkpoints`, patterns;
    carried : claims, patterns, which if trained were trained for that file and not in the run; guess : with which its
    page opens, or None; horizons : MODULE.CONSTANT of the folder → what it bounds, in words, for the atlas to double.
    """

    name: str
    number: int
    folder: Path
    summary: str
    node: list[str]
    place: tuple[float, float]
    needs: dict[str, str]
    schema: type[Parameters]
    claims: dict[str, dict]
    reads: list[str]
    carried: list[str]
    guess: Guess | None
    horizons: dict[str, str]


def _read(path: Path) -> Chapter:
    try:
        table = _OPTIONAL | tomllib.loads(path.read_text(encoding="utf-8"))
        return Chapter(
            name=f"{table['number']:02d}_{path.parent.name}",
            number=table["number"],
            folder=path.parent,
            summary=" ".join(table["summary"].split()),
            node=table["node"],
            place=tuple(table["place"]),
            needs=table["needs"],
            schema=parameters.extended(table["parameters"]),
            claims={id: _entry(id, entry) for id, entry in table["claims"].items()},
            reads=table["reads"],
            carried=table["carried"],
            guess=_guess(table["guess"], table["claims"]),
            horizons=_horizons(path.parent, table["horizons"]),
        )
    except KeyError as error:
        raise InputError(f"{path} does not say {error}; trials/tiny_chapter has an example.") from None
    except (tomllib.TOMLDecodeError, InputError, OSError, ValueError) as error:
        raise InputError(f"{path} is no description of a chapter: {error}") from None


def _entry(id: str, entry: dict) -> dict:
    return _checked(_Entry, f"the claim {id!r}", entry).model_dump()


def _guess(table: dict | None, claims: dict) -> Guess | None:
    if table is None:
        return None
    guess = _checked(Guess, "the guess", table)
    if guess.claim not in claims:
        raise InputError(f"the guess asks for {guess.claim!r}, which is no claim here{nearest(guess.claim, claims)}.")
    if not guess.step < guess.between[1] - guess.between[0]:
        raise InputError("the guess has no two values: `between` is to hold the least and the most of several steps.")
    return guess


def _horizons(folder: Path, table: dict) -> dict[str, str]:
    for name in table:
        module, _, constant = name.partition(".")
        if not (constant.isidentifier() and (folder / f"{module}.py").is_file()):
            raise InputError(f"the horizon {name!r} must be MODULE.CONSTANT, a constant of a module of this folder.")
    return table


def _checked(kind: type[Strict], name: str, table: dict):
    try:
        return kind(**table)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{name}, {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def _find() -> dict[str, Chapter]:
    found = sorted(map(_read, Path(__file__).parent.glob("*/chapter.toml")), key=lambda chapter: chapter.number)
    folders = {chapter.folder.name for chapter in found}
    for chapter in found:
        if unknown := chapter.needs.keys() - folders:
            raise InputError(f"{chapter.folder}/chapter.toml needs {', '.join(sorted(unknown))}, which is no chapter.")
    return {chapter.name: chapter for chapter in found}


CHAPTERS = _find()


def check_chapter(name: str) -> str:
    """The chapter that `name` names or numbers (3 or 03); raises InputError with the nearest name otherwise."""
    if name.isascii() and name.isdigit():
        name = next((chapter.name for chapter in CHAPTERS.values() if chapter.number == int(name)), name)
    if name not in CHAPTERS:
        raise InputError(
            f"there is no chapter {short(name)}{nearest(name, CHAPTERS)}; chapters: {', '.join(CHAPTERS)}."
        )
    return name


def catalogue(name: str) -> dict[str, dict]:
    """The claims of a chapter by id, in the order of the page. Raises InputError for an unknown chapter.

    A claim with a `headline`, the theorem in words, stands in the table of theorems on the front page. One with `fails`
    is published as failing, with these words. `near_miss` is the most natural wrong formula, in words; the notebook
    gives its number. Where none would fail, `cannot_tell` says what the claim cannot tell apart.
    """
    return CHAPTERS[check_chapter(name)].claims


def check_parameters(chapter: str, **values) -> Parameters:
    """Validate a chapter's parameters; missing ones take their defaults. Raises InputError as `parameters.checked`."""
    return parameters.checked(CHAPTERS[check_chapter(chapter)].schema, chapter, values)


def parse_assignments(chapter: str, texts: Iterable[str]) -> dict[str, object]:
    """`name=value` texts of a command line as typed values; raises InputError as `parameters.parsed`."""
    return parameters.parsed(CHAPTERS[check_chapter(chapter)].schema, chapter, texts)


def begin(chapter: str, **values) -> tuple[Parameters, Ledger, Streams]:
    """A chapter's checked parameters, its empty ledger and its random streams: how every notebook begins.

    Errors as `check_parameters`.
    """
    checked = check_parameters(chapter, **values)
    stream = Streams(chapter, checked.seed)
    return checked, Ledger(chapter, checked, catalogue(chapter), stream), stream


def read_ledger(folder: Path, chapter: str) -> dict:
    """The content of a chapter's ledger in the folder of a run. Raises InputError as `ledger.read`."""
    return ledger.read(folder, chapter, CHAPTERS[check_chapter(chapter)].schema)


def read_all(folder: Path) -> list[dict]:
    """Every chapter's ledger, in the order of the book; raises InputError when one is missing."""
    return [read_ledger(folder, chapter) for chapter in CHAPTERS]
