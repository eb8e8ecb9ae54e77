"""BibTeX for whatever the book states: a claim, a theorem, a chapter, a paper, or the book itself."""

import codecs
import re
from functools import cache
from pathlib import Path

import latexcodec  # noqa: F401  (registers the codec «ulatex»)
from pybtex.database import BibliographyData, Entry, parse_string

from icl.chapters import CHAPTERS, catalogue
from icl.validation import InputError

_BIBLIOGRAPHY = Path(__file__).resolve().parents[2] / "book" / "references.bib"
_NAME = r"(?:(?:von|van|de) )?[A-ZÀ-Þ][\w’-]+"
_CITATION = re.compile(rf"({_NAME}(?:, {_NAME})*(?: and {_NAME}| et al\.)?) \((\d{{4}})\)")


def cite(key: str) -> str:
    """BibTeX entries for a claim's id, the part of it before the dot ("thm41"), a chapter, or a BibTeX key.

    `cite("book")` is the entry of this book; what the book claims as its own cites the book too. Raises InputError
    for anything else, and where `book/references.bib` is missing, as in an installation without the book.
    """
    entries = bibliography()
    if key in entries:
        return _text([key])
    if key == "book":
        return _text(["companion"])
    sources = [
        entry["source"]
        for chapter in CHAPTERS
        for id, entry in catalogue(chapter).items()
        if key in (id, id.split(".")[0], chapter)
    ]
    if not sources:
        raise InputError(
            f"there is nothing to cite under {key!r}; give a claim's id such as 'thm1.risk', its first part, a chapter "
            f"such as {next(iter(CHAPTERS))!r}, or one of {', '.join(entries)}."
        )
    return _text(dict.fromkeys(name for source in sources for name in papers(source)))


def papers(source: str) -> list[str]:
    """BibTeX keys of the papers that a claim's `source` names, `companion` for what is this book's.

    Raises InputError for a paper that `book/references.bib` does not hold.
    """
    keys = [_key(names, year) for names, year in _CITATION.findall(source)]
    if re.search("this book", source, flags=re.I) or not keys:
        keys.append("companion")
    return list(dict.fromkeys(keys))


def name(key: str) -> str:
    """How the text names a paper: «Fu et al. (2024)», «Zhang, Wu and Bartlett (2024)»; «this book» for the book."""
    if key == "companion":
        return "this book"
    authors, year = _authors(bibliography()[key]), bibliography()[key].fields["year"]
    if len(authors) > 3:
        return f"{authors[0]} et al. ({year})"
    return f"{', '.join(authors[:-1])} and {authors[-1]} ({year})" if authors[1:] else f"{authors[0]} ({year})"


@cache
def bibliography() -> dict[str, Entry]:
    """The entries of `book/references.bib` by key, in its order; raises InputError where it cannot be read."""
    if not _BIBLIOGRAPHY.exists():
        raise InputError(f"{_BIBLIOGRAPHY} is missing; citations need a checkout of the book.")
    # accents as letters: pybtex escapes what it writes, and would escape the backslash of \"o once more
    text = codecs.decode(_BIBLIOGRAPHY.read_text(encoding="utf-8"), "ulatex+utf-8")
    return dict(parse_string(text, "bibtex").entries)


def _key(names: str, year: str) -> str:
    wanted = re.split(r", | and ", names.removesuffix(" et al."))
    for key, entry in bibliography().items():
        authors = _authors(entry)
        found = authors[: len(wanted)] if names.endswith(" et al.") else authors
        if found == wanted and entry.fields.get("year") == year:
            return key
    raise InputError(f"{names} ({year}) is not in {_BIBLIOGRAPHY.name}; add the paper there.")


def _authors(entry: Entry) -> list[str]:
    names = [" ".join([*author.prelast_names, *author.last_names]) for author in entry.persons["author"]]
    return [re.sub("[{}]", "", name) for name in names]


def _text(keys) -> str:
    return BibliographyData({key: bibliography()[key] for key in keys}).to_string("bibtex").strip() + "\n"
