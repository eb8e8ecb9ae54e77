"""What each ingredient of the training is worth: a small file of known curves, and the file that the book carries."""

import numpy as np
import pytest

from icl.chapters.mlp_benefit import ingredient_pictures as pictures
from icl.files import read_sealed, sealed


@pytest.fixture
def path(tmp_path):
    """One size, two rungs and one recipe but one ingredient, that went astray with one of its seeds."""
    run = lambda seconds, errors: {"rate": 0.01, "steps": [10, 20, 30], "seconds": seconds, "errors": errors}
    found = {
        "all but one": {"sweep": {}, "runs": {"0": run([1, 2, 3], [1, 0.5, 0.1]), "1": run([1], [1, None])}},
        "old": {"sweep": {}, "runs": {str(k): run([1, 2, 3], [1, 0.9, 0.8]) for k in range(3)}},
        "new": {
            "sweep": {},
            "runs": {str(k): run([1 + k, 2 + k, 3 + k], [0.9, 0.02, 0.004]) for k in range(3)},
        },
    }
    told = {"old": ("Adam", True), "new": ("Muon", True), "all but one": ("Muon", False), "later": ("Muon", False)}
    recipes = {name: {"rung": rung, "optimiser": optimiser} for name, (optimiser, rung) in told.items()}
    path = tmp_path / "ladder.json"
    sizes = {"d2": {"d": 2, "n": 4}}
    path.write_text(sealed({"settings": {"recipes": recipes, "sizes": sizes}, "sizes": {"d2": found}}))
    return path


def test_recipes_stand_in_the_order_of_the_ladder(path):
    found = pictures.recipes(path)["d2"]
    assert [recipe.name for recipe in found] == ["old", "new", "all but one"], "none of what is not trained yet"
    assert [recipe.rung for recipe in found] == [True, True, False]
    assert pictures.recipes(path.parent / "none.json") == {}


def test_seconds_to_a_level_are_medians_over_seeds(path):
    old, new, astray = pictures.recipes(path)["d2"]
    assert new.reached(0.02) == 3 and new.reached(0.005) == 4 and new.reached(0.001) == np.inf
    assert old.reached(0.02) == np.inf and np.isnan(astray.errors[1, 1:]).all()


def test_seconds_of_the_longer_trainings_are_the_whole_recipe_s(path):
    """They ran elsewhere; a step is the same."""
    content = read_sealed(path)
    recipes, found = content["settings"]["recipes"], content["sizes"]["d2"]
    recipes |= {pictures.WHOLE: recipes["new"], pictures.LONGER: recipes["all but one"]}
    longer = {"rate": 0.01, "steps": [60, 120], "seconds": [400, 800], "errors": [0.01, 0.0009]}
    found |= {pictures.WHOLE: found["new"], pictures.LONGER: {"sweep": {}, "runs": {"0": longer}}}
    path.write_text(sealed({name: content[name] for name in ("settings", "sizes")}))
    (recipe,) = [recipe for recipe in pictures.recipes(path)["d2"] if recipe.name == pictures.LONGER]
    assert recipe.seconds.tolist() == [[8, 16]], "the whole recipe's 30 steps took 4 seconds, the median of 3, 4, 5"
    assert recipe.times() == ["8", "16", "16"]


def test_the_table_and_the_figure_show_every_recipe(path):
    table = pictures.table(path)
    assert table.head == ("recipe", "d = 2: error, 10⁻³", "d = 2: s to .02, .005, .001")
    assert [row[0] for row in table.rows] == ["old", "new", "all but one"]
    assert table.rows[1][1:] == ("4 (4 to 4)", "3, 4, –")
    columns = pictures.ladder(path).columns
    np.testing.assert_array_equal(columns["d2_new_seconds"], [2, 3, 4])
    np.testing.assert_array_equal(columns["d2_old_2"], [1, 0.9, 0.8])


def test_ends_are_medians_over_seeds_at_each_size(path):
    found = pictures.ends(path)
    assert {name: errors.tolist() for name, errors in found.items() if name != "all but one"} == {
        "old": [0.8],
        "new": [0.004],
    }
    assert pictures.sizes(path) == {"d2": {"d": 2, "n": 4}}


def test_seconds_at_table_1_are_of_a_core_and_by_the_dimension(monkeypatch):
    d = pictures.table1.SIZES["d"]
    run = {"steps": [10, 20, 30, 40], "core_seconds": 80, "curve": [d, 0.02 * d, 0.005 * d, 0.004 * d], "shorter": []}
    monkeypatch.setattr(pictures.table1, "runs", lambda path: {"entry": {0: run}})
    assert pictures.seconds_at_table1("entry") == [40, 60, np.inf]
    old = {"steps": 30, "loss": 0.001, "stderr": 0.0}  # of those no curve was kept
    run["shorter"] = [old, {"steps": 20, "core_seconds": 30, "curve": [d, 0.004 * d]}]
    assert pictures.seconds_at_table1("entry") == [30, 30, np.inf], "its rates fell sooner"


def test_the_book_s_ladder_is_whole():
    for found in pictures.recipes().values():
        assert all(
            len(recipe.errors) == pictures.SEEDS and recipe.errors.shape == recipe.seconds.shape for recipe in found
        )
        assert sum(recipe.rung for recipe in found) == 8
    assert [len(found) for found in pictures.recipes().values()] == [15, 14], "the longer trainings are of one size"
