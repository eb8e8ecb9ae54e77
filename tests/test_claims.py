"""A claim: its verdict at the very boundaries, what the page says of it, and its digits."""

import math

import pytest

from icl.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Claims, claims_table, explanation, off, verdict


def claim(relation="equal", **numbers):
    """A claim with tolerance 0.5 whose prediction is 10; `verdict` is what its numbers say."""
    fields = dict(
        id="a.claim", source="s", statement="x < y & z", method="exact", relation=relation, predicted=10.0,
        measured=10.0, stderr=0.0, tolerance=0.5, verdict=FAILS,
    )  # fmt: skip
    made = Claim(**fields | numbers)
    return made if "verdict" in numbers else made.model_copy(update={"verdict": verdict(made)})


@pytest.mark.parametrize(
    "relation, measured, stderr, said",
    [
        ("equal", 10.5, 0, HOLDS),  # the tolerance is just enough
        ("equal", 9.5, 0, HOLDS),
        ("equal", 10.5001, 0, FAILS),
        ("equal", 11.5, 0.2, HOLDS),  # five standard errors on top
        ("equal", 11.5001, 0.2, FAILS),
        ("equal", math.nan, 0.2, FAILS),
        ("equal", math.inf, 0.2, FAILS),
        ("at most", -5, 0.2, HOLDS),
        ("at most", 10.5, 0.2, HOLDS),  # up to the tolerance a bound is kept
        ("at most", 10.5001, 0.2, UNDECIDED),
        ("at most", 11.5, 0.2, UNDECIDED),
        ("at most", 11.5001, 0.2, FAILS),
        ("at most", 10.5001, 0, FAILS),  # an exact number leaves nothing open
        ("at most", math.nan, 0.2, FAILS),
        ("at least", 50, 0.2, HOLDS),
        ("at least", 9.5, 0.2, HOLDS),
        ("at least", 9.4999, 0.2, UNDECIDED),
        ("at least", 8.5, 0.2, UNDECIDED),
        ("at least", 8.4999, 0.2, FAILS),
        ("at least", math.inf, 0.2, HOLDS),
        ("at least", math.nan, 0.2, FAILS),
    ],
)
def test_verdicts_at_their_boundaries(relation, measured, stderr, said):
    assert verdict(claim(relation, measured=float(measured), stderr=float(stderr))) == said


def test_an_undecided_claim_says_by_how_much_it_misses():
    open_claim = claim("at least", measured=9.1, stderr=0.2)
    assert explanation(open_claim) == (
        "why it is undecided",
        "the bound is missed by 2 standard errors; it fails from five on.",
    )
    page = open_claim._repr_html_()
    assert "Why it is undecided: the bound is missed by 2 standard errors" in page
    assert '<span class="icl-undecided">undecided</span>' in page
    assert str(open_claim) == "a.claim: undecided; ≥ 10 predicted, 9.1 ± 0.2 measured"


def test_a_failing_claim_says_why_and_a_holding_one_does_not():
    failing = claim("at least", measured=0.0, reason="too <small>.")
    assert str(failing).endswith("(too <small>.)")
    assert "Why it fails: too &lt;small&gt;." in failing._repr_html_()
    assert explanation(claim()) is None and "Why" not in claim()._repr_html_()


def test_html_escapes_what_a_ledger_holds():
    gone = dict.fromkeys(("predicted", "measured", "stderr", "tolerance"))
    page = claims_table([claim(verdict=NOT_RUN, reason="<script>alert(1)</script>", **gone)])
    assert "<script>" not in page and "x &lt; y &amp; z" in page


def test_several_claims_are_one_table_and_a_line_each():
    several = Claims([claim(), claim("at most")])
    assert several._repr_html_().count("<tr>") == 3 and several._repr_html_().count("<table") == 1
    assert repr(several) == f"{several[0]}\n{several[1]}"


@pytest.mark.parametrize(
    "measured, stderr, shown",
    [
        (1.4416249, 8.2e-5, "1.441625 ± 0.000082"),
        (523.59032, 1.12, "523.6 ± 1.1"),
        (-0.4749, 0.0395, "−0.475 ± 0.040"),
        (3.0e-12, 1e-12, "3e−12 ± 1e−12"),
        (123456.0, 250.0, "123460 ± 250"),
        (-51890.34, 392.6, "−51890 ± 390"),
        (9.4066e15, 7.6e13, "9.4066e+15 ± 7.6e+13"),
        (1.44047619, 0.0, "1.440476"),
    ],
)
def test_digits_follow_the_standard_error(measured, stderr, shown):
    assert f">{shown}</td>" in claim(measured=measured, stderr=stderr)._repr_html_()


@pytest.mark.parametrize(
    "relation, near, stderr, far",
    [
        ("equal", 12.0, 0.0, 4.0),  # the measured 10 is 2 away, and 0.5 is allowed
        ("equal", 12.0, 0.1, 2.0),
        ("equal", 8.0, 0.0, 4.0),
        ("equal", 10.25, 0.0, 0.5),
        ("at most", 8.0, 0.0, 4.0),  # as a bound of 8, a measured 10 fails
        ("at most", 12.0, 0.0, -4.0),  # as one of 12 it holds: not told apart
        ("at least", 12.0, 0.0, 4.0),
    ],
)
def test_how_far_off_a_near_miss_is(relation, near, stderr, far):
    assert off(claim(relation, near=near, stderr=stderr)) == pytest.approx(far)


@pytest.mark.parametrize("near, far", [(10.0, 0.0), (11.0, math.inf)])
def test_where_nothing_is_allowed_any_difference_is_too_far(near, far):
    assert off(claim(near=near, tolerance=0.0)) == far
