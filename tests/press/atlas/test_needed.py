"""What claims need of a notebook, on notebooks of a few lines."""

import pytest

from press.atlas.needed import needed

BEGIN = "ledger, stream = begin()"


def kept(*cells: str, claims=("a", "b", "t.x", "t.y"), left_out=("t.x", "t.y")) -> list[str]:
    """The first lines of the statements that are kept of `cells`, after BEGIN."""
    import ast

    return [ast.unparse(one.node).splitlines()[0] for one in needed([BEGIN, *cells], claims, left_out)][1:]


def test_figures_numbers_prints_and_what_they_alone_need_go():
    cell = "x = 1\nshown = slow()\nledger.figure(draw(shown))\nledger.number('n', shown)\nprint(shown)\nassert shown"
    assert kept(cell, "ledger.claims({'a': (0, x)})") == ["x = 1", "ledger.claims({'a': (0, x)})"]


def test_a_trained_claim_goes_and_its_training_with_it():
    cell = "run = train()\nx = 1\nledger.claims({'a': (0, x), 't.x': (0, run)})"
    assert kept(cell) == ["x = 1", "ledger.claims({'a': (0, x)})"]


def test_trained_claims_with_computed_names_go_together():
    every = "run = train()\nledger.claims({f't.{k}': (0, run[k]) for k in run})"
    assert kept(every) == []
    assert kept(every, left_out=("t.x",)) == every.splitlines(), "one of the two is wanted"


def test_what_is_made_after_its_last_reader_is_not_kept():
    cell = "x = 2\ny = x\nx = slow()\nledger.claims({'a': (0, y)})"
    assert kept(cell) == ["x = 2", "y = x", "ledger.claims({'a': (0, y)})"]


def test_what_a_function_looks_up_is_looked_up_where_it_is_used():
    cell = "def f():\n    return x\nx = 1\ny = f()\nledger.claims({'a': (0, y)})"
    assert kept(cell) == ["def f():", "x = 1", "y = f()", "ledger.claims({'a': (0, y)})"]


@pytest.mark.parametrize(
    "change",
    ["x.append(1)", "x[0] = 1", "x.part = 1", "x += 1", "fill(x)", "for y in (x, z):", "if z:", "del x[0]"],
)
def test_what_changes_a_value_in_place_is_kept(change):
    body = {"for": "\n    y.append(1)", "if ": "\n    x = 2"}.get(change[:3], "")
    cell = f"x, z = [], []\n{change}{body}\nledger.claims({{'a': (0, x)}})"
    assert kept(cell) == ["x, z = ([], [])", change, "ledger.claims({'a': (0, x)})"]


def test_a_generator_is_drawn_from_as_in_the_notebook():
    cell = "rng = stream('r')\nfirst = rng.random()\nx = rng.random()\nledger.claims({'a': (0, x)})"
    assert kept(cell) == cell.splitlines(), "without the first draw x would be another number"


def test_a_training_beside_which_nothing_is_drawn_does_not_come_along():
    cell = "run = train(stream('t'))\nx = measure(stream('m'))\nledger.claims({'a': (0, x), 't.x': (0, run)})"
    assert kept(cell)[0] == "x = measure(stream('m'))"


def test_imports_come_where_they_are_used():
    assert kept("import numpy as np\nimport torch", "ledger.claims({'a': (0, np.pi)})")[0] == "import numpy as np"
