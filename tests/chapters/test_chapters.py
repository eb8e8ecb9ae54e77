"""Chapters are found by their chapter.toml; one that is wrong is named in one sentence."""

import pytest

from icl import chapters
from icl.chapters import CHAPTERS, catalogue
from icl.validation import InputError

WHOLE = """
number = 7
summary = "s"
node = ["a"]
place = [0, 1]
needs = {}
[parameters.k]
meaning = "steps"
default = 6
least = 0
most = 12
[claims."a.b"]
source = "This book"
statement = "x."
method = "exact"
"""


def read(tmp_path, text):
    (tmp_path / "small").mkdir(exist_ok=True)
    (tmp_path / "small" / "chapter.toml").write_text(text)
    return chapters._read(tmp_path / "small" / "chapter.toml")


def test_a_folder_makes_a_chapter(tmp_path):
    small = read(tmp_path, WHOLE)
    assert small.name == "07_small" and small.schema().k == 6 and not small.all_cores
    assert small.claims["a.b"]["relation"] == "equal" and small.claims["a.b"]["atol"] == 0
    with pytest.raises(ValueError, match="k"):
        small.schema(k=13)


@pytest.mark.parametrize(
    "old, new, complaint",
    [
        ('"exact"', '"montecarlo"', "the claim 'a.b', method: Input should be 'exact', 'monte-carlo' or 'trained'"),
        ("statement", "statment", "the claim 'a.b', statement: Field required"),
        ("number = 7", "", "does not say 'number'"),
        ("number = 7", "number = ", "is no description of a chapter"),
        ("least = 0", "", "does not say 'least'"),
        ('method = "exact"', 'method = "exact"\nrtol = -1.0', "rtol: Input should be greater than or equal to 0"),
    ],
)
def test_a_description_that_is_wrong_is_named(tmp_path, old, new, complaint):
    with pytest.raises(InputError, match=complaint) as raised:
        read(tmp_path, WHOLE.replace(old, new))
    assert "chapter.toml" in str(raised.value) and "\n" not in str(raised.value)


def test_numbers_are_the_order_and_ids_are_one_chapter_s():
    numbers = [chapter.number for chapter in CHAPTERS.values()]
    assert numbers == sorted(set(numbers)) and [*CHAPTERS] == sorted(CHAPTERS)
    ids = [id for name in CHAPTERS for id in catalogue(name)]
    assert len(set(ids)) == len(ids)
