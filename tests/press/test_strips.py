"""A claim's strip, by hand: what is allowed is 60 pixels to either side of the prediction, at 120."""

import math

import pytest
from bs4 import BeautifulSoup

from icl.claims import NOT_RUN, Claim, verdict
from press.pages.strips import LEGEND, allowed_text, said, strip, strips


def claim(relation="equal", **changes) -> Claim:
    facts = dict(
        id="a.claim", source="A (2024)", statement="a < b", method="exact", relation=relation, predicted=10.0,
        measured=10.0, stderr=0.1, tolerance=0.5, verdict="holds",
    )  # fmt: skip
    decided = Claim(**facts | changes)
    return decided if decided.verdict == NOT_RUN else decided.model_copy(update={"verdict": verdict(decided)})


def drawn(claim):
    return BeautifulSoup(strip(claim), "html.parser").svg


def box(rect):
    return float(rect["x"]), float(rect["x"]) + float(rect["width"])


def test_an_equality_half_way_to_what_is_allowed():
    svg = drawn(claim(measured=10.5, near=11.5))
    assert box(svg.select_one(".allowed")) == (60, 180) and svg.select_one(".open") is None
    assert float(svg.select_one("circle")["cx"]) == 150
    assert svg.select_one(".error")["d"] == "M120.0 10H180.0", "five standard errors are half of what is allowed"
    assert svg.select_one(".near")["d"].startswith("M206.0 6"), "1.5 times what is allowed above the prediction"
    assert svg["aria-label"] == "measured 0.5 times what is allowed above the prediction"


@pytest.mark.parametrize(
    "relation, measured, kept, undecided, at",
    [("at most", 10.75, (0, 150), (150, 180), 165), ("at least", 9.25, (90, 240), (60, 90), 75)],
)
def test_a_bound_keeps_one_side_and_leaves_a_part_undecided(relation, measured, kept, undecided, at):
    svg = drawn(claim(relation, measured=measured))
    assert box(svg.select_one(".allowed")) == kept and box(svg.select_one(".open")) == undecided
    assert float(svg.select_one("circle")["cx"]) == at and "icl-undecided" in svg["class"]


def test_what_lies_beyond_the_edge_is_an_arrowhead_there():
    for measured, tip in ((50.0, 239), (-50.0, 1)):
        svg = drawn(claim(measured=measured))
        assert svg.circle is None and f" {tip} 10 " in svg.select_one(".measured.beyond")["d"]
        assert "icl-fails" in svg["class"]


def test_without_allowance_nothing_but_equality_is_in_the_middle():
    exact = dict(stderr=0.0, tolerance=0.0)
    svg = drawn(claim(near=11.0, **exact))
    assert float(svg.circle["cx"]) == 120 and svg.rect is None and svg.select_one(".near.beyond")
    assert drawn(claim(measured=10.1, **exact)).circle is None
    assert box(drawn(claim("at most", measured=3.0, **exact)).rect) == (0, 120)


def test_what_is_no_number_has_no_mark():
    svg = drawn(claim(measured=math.nan))
    assert svg.circle is None and svg.select_one(".measured") is None and "no number" in svg["aria-label"]


def test_what_is_allowed_in_digits():
    assert allowed_text(claim()) == "10 ± 1" and allowed_text(claim("at most")) == "≤ 10 + 1"
    assert allowed_text(claim("at least", stderr=0.0)) == "≥ 10 − 0.5"
    assert allowed_text(claim(stderr=0.0, tolerance=0.0)) == "no difference"


def test_a_line_names_the_verdict_and_whether_the_number_is_carried():
    gone = dict.fromkeys(("predicted", "measured", "stderr", "tolerance", "near"))
    both = [claim(), claim(id="b.claim", verdict=NOT_RUN, reason="needs <hours>", **gone)]
    lines = BeautifulSoup(strips(both, {"a.claim"}, lambda one: f"<p>{one.id}</p>"), "html.parser").select("details")
    assert [" ".join(line.summary.get_text().split()) for line in lines] == [
        "a.claim10 ± 1holds carried",
        "b.claimneeds <hours>not run at this profile",
    ]
    assert lines[0].p.get_text() == "a.claim" and lines[1].svg is None and "carried" in LEGEND


@pytest.mark.parametrize(
    ("words", "markup"),
    [
        ("W_V is least, 1/λ_max < 2", "W<sub>V</sub> is least, 1/λ<sub>max</sub> &lt; 2"),
        ("W_KᵀW_Q", "W<sub>K</sub>ᵀW<sub>Q</sub>"),
        ("(αλ²)^(2^(k+1)) and H^½", "(αλ²)<sup>2<sup>k+1</sup></sup> and H<sup>½</sup>"),
        ("table1.zero_mean at 5e-05", "table1.zero_mean at 5e−05"),
        ("run `icl train base`", "run <code>icl train base</code>"),
    ],
)
def test_formulas_in_words_are_set(words, markup):
    assert said(words) == markup
