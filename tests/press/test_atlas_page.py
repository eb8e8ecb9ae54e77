"""The page «The atlas»: its maps, its sentence about errors, and what fails, from an atlas made by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bs4 import BeautifulSoup
from scipy.stats import norm

from icl.chapters import CHAPTERS, catalogue
from press.atlas import points
from press.atlas.edges import BEYOND, TWICE, Edge
from press.atlas.kept import ERRORS, FARTHER, Atlas
from press.atlas.table import BROKEN, Line
from press.pages import atlas as page
from press.pages import atlas_edges, atlas_maps

CHAPTER = "02_preconditioned_gd"
SAMPLED = next(id for id, e in catalogue(CHAPTER).items() if e["method"] == "monte-carlo" and not e["rtol"] + e["atol"])
EXACT = next(id for id, entry in catalogue(CHAPTER).items() if entry["method"] == "exact")


def made(errors, *more: Line) -> Atlas:
    """An atlas of one chapter whose sampled claim is off by `errors`, in standard errors of 0.1, point by point."""
    lines = [Line(k, SAMPLED, 1.0, 1 + 0.1 * z, 0.1, abs(z) / 5, "holds" if abs(z) <= 5 else "fails", "")
             for k, z in enumerate(errors)]  # fmt: skip
    asked = points.points(CHAPTER, max(len(errors), 20))
    entry = {"seconds_median": 1.5, "seconds_most": 9.0}
    return Atlas(
        {CHAPTER: asked}, {CHAPTER: [*lines, *more]}, [], {"chapters": {CHAPTER: entry}}, {SAMPLED: "By <hand>."}
    )


def soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def test_a_map_has_a_mark_for_every_point_and_shows_the_worst_claim():
    drawn = soup(page.maps(made([0.1, 2, 4, 6], Line(0, EXACT, None, None, None, None, BROKEN, "E: x"))))
    circles = drawn.select("circle")
    assert [circle["class"] for circle in circles] == [["beyond"], ["middling"], ["large"], ["beyond"]]
    assert circles[1]["data-command"] == "python -m icl run 2 --profile claims -p d=1 -p seed=1"
    table = json.loads(drawn.select_one("script[type='application/json']").string)
    assert table == {SAMPLED: [0.02, 0.4, 0.8, 1.2], EXACT: [1e9, None, None, None]}
    assert [option.text for option in drawn.select("option")] == ["the worst of all", SAMPLED, EXACT]
    places = {(circle["cx"], circle["cy"]) for circle in circles}
    assert len(places) > 1 and all(0 < float(x) < 420 and 0 < float(y) < 300 for x, y in places)


def test_the_telling_parameters_are_those_that_move_the_margins():
    asked = points.points(CHAPTER, 120)
    worst = {k: float(np.log(one.condition) + 0.3 * np.log(one.n)) for k, one in enumerate(asked)}
    assert atlas_maps.telling(CHAPTER, asked, worst) == ("n", "condition")


@pytest.mark.parametrize("scale, right", [(1.0, True), (1.6, False)])
def test_honest_errors_pass_the_test_and_dishonest_ones_do_not(scale, right):
    z = scale * norm.ppf((np.arange(300) + 0.5) / 300)
    figure, said = page.errors(made(z))
    p = float(said.split("p = ", 1)[1].partition(")")[0])
    assert (p > 0.01) is right and "300 Monte Carlo" in said
    width = figure.columns["middle"][1] - figure.columns["middle"][0]
    assert (figure.columns["density"] * width).sum() == pytest.approx(1)


def test_a_bias_that_no_point_shows_is_seen_in_all_together():
    z = norm.ppf((np.arange(200) + 0.5) / 200)
    calm = page.astray(made(z))
    assert "Of the 1 claims that have 50 such errors or more, 0 have a mean off 0" in calm and "|" not in calm
    *_, row = page.astray(made(z + 0.5)).split("\n| ")
    assert row.strip() == f"2 | `{SAMPLED}` | 200 | 0.50 | 1.24 | Not explained yet. |"
    known = replace(made(1.6 * z), reasons={SAMPLED + ERRORS: "Heavy tails."})
    assert "| 0.00 | 2.54 |" in page.astray(known) and "Heavy tails. |" in page.astray(known)
    assert page.astray(made(z[:40])).strip().count("|") == 0


def test_what_is_named_is_left_out_of_a_second_test_of_the_normal_law():
    z = norm.ppf((np.arange(200) + 0.5) / 200)
    other = next(id for id, e in catalogue("03_nonlinear_targets").items()
                 if (e["method"], e["relation"]) == ("monte-carlo", "equal") and not e["rtol"])  # fmt: skip
    more = [replace(line, claim=other, measured=line.measured + 0.2) for line in made(z).lines[CHAPTER]]
    both = replace(made(z), lines=made(z).lines | {"03_nonlinear_targets": more})
    said = page.errors(both)[1]
    assert "(400 points, p = " in said and "(200 points, p = 1) without the claims that are named below." in said


def test_rounding_of_the_tables_is_no_error():
    (line,) = made([9]).lines[CHAPTER]
    tiny = replace(line, predicted=86041.00034, measured=86041.00033, stderr=6.5e-7, verdict="holds")
    assert page.errors(replace(made([1]), lines={CHAPTER: [tiny]}))[1].startswith("0 Monte Carlo")


def test_what_fails_is_grouped_with_its_reason_and_its_command():
    broken = Line(0, EXACT, None, None, None, None, BROKEN, "ZeroDivisionError: <0>")
    drawn = soup(page.failing(made([0, 9, -7], broken)))
    first, second = drawn.select("details")
    assert first.summary.text == f"{SAMPLED} 2 of 3 points: By <hand>."
    assert [item.code.text.endswith(f"seed={k}") for k, item in zip((1, 2), first.select("li"), strict=True)] == [
        True
    ] * 2
    assert "1.8 of what is allowed" in first.select("li")[0].text
    assert "Not explained yet" in second.summary.text and "ZeroDivisionError: <0>" in second.li.text


def test_of_each_direction_the_first_claim_to_break_is_told():
    ways = [("n", "up", 90, 99, "n > <90>"), ("n", "up", 40, 50, "too | many"), ("n", "up", 1e9, None, ""),
            ("sigma2", "down", 1e-3, 5e-4, "small"), ("sigma2", "down", 1e-5, 5e-6, "tiny"),
            ("d", "up", 64, None, "")]  # fmt: skip
    found = [Edge(CHAPTER, f"claim{k}", *way) for k, way in enumerate(ways)]
    rows = page.breaking(replace(made([0]), edges=found)).splitlines()[2:]
    assert rows == [
        "| 2 | `n` up | 40 | `claim1` | 50 | too &#124; many |",
        "| 2 | `sigma2` down | 0.001 | `claim3` | 0.0005 | small |",
        "",
        "Nothing broke along, by chapters: `d` up (2).",
    ]
    assert page.breaking(made([0])) == "No edges are known yet.\n"
    more = replace(made([0]), lines=made([0]).lines | {"01_one_step_gd": []}, edges=found)
    assert page.breaking(more).endswith("(2).\n\nNot walked yet: chapters 1.\n")


def test_each_claim_s_range_is_told_with_what_ends_it():
    ways = [("a.b", "n", "up", 1000, 1001, BEYOND), ("a.b", "n", "down", 2, 1, "n < <2>"),
            ("a.b", "sigma2", "up", 1e12, None, ""), ("a.b", "sigma2", "down", 1e-3, 1e-4, "fails"),
            ("c", "n", "up", 7, 8, "2 ≤ n ≤ 7"), ("c", "n", "down", 2, 1, "2 ≤ n ≤ 7")]  # fmt: skip
    found = [Edge(CHAPTER, *way) for way in ways]
    table = soup(
        page.claim_by_claim(replace(made([0]), edges=found, reasons={"sigma2 down": "Rounding: of digits."}))
    ).details
    rows = [[cell.get_text(" ") for cell in row.select("th, td")] for row in table.select("tr")]
    assert rows == [
        ["claim", "n", "sigma2"],
        ["a.b", "2 … 1,000 1: n < <2>", "0.001 … 1 × 10 12 0.0001: Rounding"],
        ["c", "2 … 7 1 and 8: 2 ≤ n ≤ 7", ""],
    ]
    assert page.claim_by_claim(made([0])) == ""


def test_what_holds_twice_as_far_is_counted():
    chapter, name = "07_trained_transformers", "solver_comparison.CONJUGATE_STEPS"
    n = CHAPTERS[chapter].schema.model_fields["n"].default
    found = [Edge(chapter, "a", "n", "up", n, 2 * n, "at the edge"), Edge(chapter, "b", "n", "up", 2 * n, 3 * n, "far"),
             *(Edge(chapter, id, name, TWICE, 1, 2, "fails") for id in ("newton.bfgs_is_cg", "c")),
             Edge(chapter, "d", name, TWICE, 2, None, "")]  # fmt: skip
    reasons = {f"newton.bfgs_is_cg{FARTHER}": "Rounding <so>."}
    atlas = replace(made([0]), lines={chapter: []}, edges=found, reasons=reasons)
    words = CHAPTERS[chapter].horizons[name]
    assert page.farther(atlas).splitlines()[2:] == [
        f"| 7 | n = {n} examples | 1 of 2 | `a`: at the edge |",
        f"| 7 | {words} | 1 of 3 | `newton.bfgs_is_cg`: Rounding &lt;so&gt;.; `c`: fails |",
    ]
    none = [replace(edge, broke=2, why="it takes long") for edge in found if edge.parameter == name]
    assert (
        page.farther(replace(atlas, edges=none, reasons={})).splitlines()[2].endswith("| 0 of 3 | all: it takes long |")
    )
    assert page.farther(made([0])) == "No horizon has been doubled yet.\n"


def test_numbers_are_written_out():
    shown = [atlas_edges._number(value) for value in (10001, 0.0005, 2.5e-12, 1.3335e10, 1e12, 1.0)]
    assert shown == ["10,001", "0.0005", "2.5 × 10{sup}`−12`", "1.33 × 10{sup}`10`", "1 × 10{sup}`12`", "1"]


def test_the_summary_counts_verdicts():
    row = page.summary(made([0, 9, 1])).splitlines()[2]
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["3", "3", "2", "0", "1", "0", "1.5 (9)"]
