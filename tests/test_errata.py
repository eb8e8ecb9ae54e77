"""The errata page: every number it pastes is one that a chapter makes."""

import re

import pytest
import yaml

from icl.chapters import catalogue
from press.layout import ROOT

PAGE = (ROOT / "book" / "errata.md").read_text(encoding="utf-8")
PASTED = re.findall(r"\{glue:text\}`\.\./notebooks/(\w+)\.ipynb::([^:`]+)(?::[^`]*)?`", PAGE)


def test_the_page_pastes_all_its_numbers():
    assert len(PASTED) == PAGE.count("{glue:text}") > 30
    assert "book/errata" in (ROOT / "_toc.yml").read_text() and yaml.safe_load((ROOT / "_toc.yml").read_text())


@pytest.mark.parametrize("chapter, name", sorted(set(PASTED)))
def test_every_pasted_number_is_made_by_its_chapter(chapter, name):
    claims = catalogue(chapter)
    claim, _, part = name.rpartition(".")
    if part in ("predicted", "measured", "stderr"):
        assert claim in claims
    else:
        story = (ROOT / "notebooks" / f"{chapter}.py").read_text(encoding="utf-8")
        assert f'"{name}"' in story or re.search(r'f"n_eta_\{', story) and name.startswith("n_eta_")


def test_every_erratum_shows_a_number():
    entries = [block for block in PAGE.split("\n\n") if block.startswith("**")]
    assert len(entries) >= 20
    for entry in entries:
        assert "*Read:*" in entry and "*Shown by*" in entry and "{glue:text}" in entry, entry[:60]
