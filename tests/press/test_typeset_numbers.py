"""Numbers in the prose: a minus sign and raised exponents."""

import pytest
from docutils import nodes

from press.line_breaks import joined
from press.typeset_numbers import typeset


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1.4405", "1.4405"),
        ("-0.0027", "−0.0027"),
        ("200,000", "200,000"),
        ("7e-09", "7 × 10^−9"),
        ("-2.5e+15", "−2.5 × 10^15"),
        ("1e+00", "1 × 10^0"),
        ("24%", "24 %"),
        ("-3,491.5%", "−3,491.5 %"),
        ("zero-mean", "zero-mean"),
        ("e-9", "e-9"),
        ("", ""),
    ],
)
def test_numbers_are_set_in_type(written, read):
    parts = ["^" * isinstance(node, nodes.superscript) + node.astext() for node in typeset(written)]
    assert "".join(parts).replace("\N{NO-BREAK SPACE}", " ") == read


def test_no_line_ends_before_a_per_cent_sign_or_within_what_plus_minus_joins():
    together = joined("0.7 ± 0.2 of it, 5 % more ± 1")
    assert together.replace("\N{NO-BREAK SPACE}", "~") == "0.7~±~0.2 of it, 5~% more~±~1"


def test_no_line_ends_within_a_duration():
    together = joined("2 cores | 14 min 50 s | 9 s faster, 5 sets of 3 minutes")
    assert together.replace("\N{NO-BREAK SPACE}", "~") == "2 cores | 14~min~50~s | 9~s faster, 5 sets of 3 minutes"
