"""Whatever the book claims can be cited, and what cannot is refused in a sentence."""

import pytest
from pybtex.database import parse_string

import icl
from icl.chapters import CHAPTERS, catalogue, citations
from icl.validation import InputError


def keys(text):
    return list(parse_string(text, "bibtex").entries)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_source_names_a_paper_of_the_bibliography_or_the_book(chapter):
    for id, entry in catalogue(chapter).items():
        found = citations.papers(entry["source"])
        assert found and set(found) <= set(citations.bibliography()), id
        assert keys(icl.cite(id)) == found
    if catalogue(chapter):
        assert keys(icl.cite(chapter))


def test_by_hand():
    assert keys(icl.cite("thm1.construction")) == ["mahankali2024", "vonoswald2023"]
    assert keys(icl.cite("thm41")) == ["zhang2024block", "companion"]
    assert keys(icl.cite("zhang2024trained")) == ["zhang2024trained"]
    assert keys(icl.cite("book")) == ["companion"]
    assert citations.papers("Zhang, Frei and Bartlett (2024), Theorem 4.1") == ["zhang2024trained"]


def test_accents_survive_and_names_are_as_in_the_text():
    (entry,) = parse_string(icl.cite("vonoswald2023"), "bibtex").entries.values()
    assert "João" in str(entry.persons["author"][3]).replace("{", "").replace("}", "")
    assert citations.name("vonoswald2023") == "von Oswald et al. (2023)"
    assert citations.name("zhang2024block") == "Zhang, Wu and Bartlett (2024)"
    assert citations.name("debruijn1955") == "de Bruijn (1955)"


def test_what_is_not_there():
    with pytest.raises(InputError, match="nothing to cite under 'thm99'; give a claim's id"):
        icl.cite("thm99")
    with pytest.raises(InputError, match="Euler \\(1768\\) is not in references.bib"):
        citations.papers("Euler (1768), §1")
