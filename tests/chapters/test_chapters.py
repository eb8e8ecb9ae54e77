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
    assert small.name == "07_small" and small.schema().k == 6
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


@pytest.mark.parametrize("name", ["SIZES", "nowhere.SIZES", "steps.", "steps.1"])
def test_a_horizon_is_a_constant_of_the_folder(tmp_path, name):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "steps.py").touch()
    assert read(tmp_path, WHOLE + '[horizons]\n"steps.MOST" = "k ≤ 10"\n').horizons == {"steps.MOST": "k ≤ 10"}
    with pytest.raises(InputError, match=f"the horizon '{name}' must be MODULE.CONSTANT"):
        read(tmp_path, WHOLE + f'[horizons]\n"{name}" = "k ≤ 10"\n')


GUESS = """
[guess]
question = "How much is $x$?"
claim = "a.b"
formula = "$1 + 1$"
between = [0, 4]
step = 0.5
"""


def test_a_guess_is_found(tmp_path):
    assert read(tmp_path, WHOLE).guess is None
    guess = read(tmp_path, WHOLE + GUESS).guess
    assert (guess.claim, guess.between, guess.step, guess.picture) == ("a.b", [0, 4], 0.5, "")


@pytest.mark.parametrize(
    "old, new, complaint",
    [
        ('claim = "a.b"', 'claim = "a.c"', "asks for 'a.c', which is no claim here .did you mean 'a.b'"),
        ("[0, 4]", "[4, 0]", "no two values"),
        ("[0, 4]", "[0]", "the guess, between: List should have at least 2 items"),
        ("step = 0.5", "step = 0", "the guess, step: Input should be greater than 0"),
        ("step = 0.5", "step = 5", "no two values"),
        ("formula", "formla", "the guess, formula: Field required"),
    ],
)
def test_a_guess_that_is_wrong_is_named(tmp_path, old, new, complaint):
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, WHOLE + GUESS.replace(old, new))


def test_every_chapter_asks_for_something_that_can_be_guessed():
    for chapter in CHAPTERS.values():
        assert chapter.guess and "{glue" not in chapter.guess.formula, chapter.name
        assert chapter.guess.question.rstrip().endswith(("?", ".")) and "?" in chapter.guess.question


def test_numbers_are_the_order_and_ids_are_one_chapter_s():
    numbers = [chapter.number for chapter in CHAPTERS.values()]
    assert numbers == sorted(set(numbers)) and [*CHAPTERS] == sorted(CHAPTERS)
    ids = [id for name in CHAPTERS for id in catalogue(name)]
    assert len(set(ids)) == len(ids)
