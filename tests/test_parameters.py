"""The parameter schema: sentences, nearest names, and agreement with the notebooks."""

import jupytext
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icl.chapters import CHAPTERS, check_chapter, check_parameters, parse_assignments
from icl.validation import InputError
from press.layout import NOTEBOOKS

CHAPTER = "01_one_step_gd"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_defaults_are_those_of_the_notebook(chapter):
    notebook = jupytext.read(NOTEBOOKS / f"{chapter}.py")
    cells = [cell.source for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(cells) == 1, "a notebook has one cell tagged «parameters»"
    defaults = {}
    exec(cells[0], defaults)
    defaults.pop("__builtins__")
    assert defaults == check_parameters(chapter).model_dump()


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("sigma=1", "no parameter 'sigma' \\(did you mean 'sigma2'\\?\\)"),
        ("d=five", "d must be a whole number, not 'five'"),
        ("d=2.5", "d must be a whole number"),
        ("sigma2=much", "sigma2 must be a number"),
        ("d", "name=value"),
        ("", "name=value"),
    ],
)
def test_assignments_that_do_not_parse(text, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_assignments(CHAPTER, [text])


@pytest.mark.parametrize(
    "values, complaint",
    [
        (dict(d=0), "d = 0 does not fit"),
        (dict(n=-3), "n = -3"),
        (dict(sigma2=-0.1), "sigma2 = -0.1"),
        (dict(sigma2=float("nan")), "sigma2 = nan"),
        (dict(sigma2=float("inf")), "sigma2 = inf"),
        (dict(sigma2=1e7), "sigma2 = 10000000.0"),
        (dict(d="5"), "d = '5'"),
        (dict(profile="quik"), "'quick', 'standard', 'paper' or 'claims'"),
        (dict(sed=1), "did you mean 'seed'"),
    ],
)
def test_values_out_of_range(values, complaint):
    with pytest.raises(InputError, match=complaint):
        check_parameters(CHAPTER, **values)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_interactions_are_checked_beforehand(chapter):
    assert check_parameters(chapter, d=200, n=1000).n == 1000
    with pytest.raises(InputError, match="d = 200, n = 1001 do not fit together: n · d must be at most 200000, .* GB"):
        check_parameters(chapter, d=200, n=1001)


def test_unknown_chapter_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean '01_one_step_gd'"):
        check_chapter("one_step_gd")


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_gives_a_traceback(name, value):
    """Whatever is typed after -p either parses into a valid set of parameters or gets an InputError."""
    try:
        parsed = parse_assignments(CHAPTER, [f"{name}={value}"])
        check_parameters(CHAPTER, **parsed)
    except InputError as error:
        assert str(error).endswith((".", "?"))


@given(
    st.dictionaries(st.sampled_from(["d", "n", "sigma2", "seed", "profile", "x"]), st.none() | st.floats() | st.text())
)
def test_no_value_gives_a_traceback(values):
    try:
        check_parameters(CHAPTER, **values)
    except InputError as error:
        assert str(error).endswith(".")
