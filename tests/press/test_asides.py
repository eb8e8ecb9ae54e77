"""Side notes: which sentences in brackets become one."""

import pytest

from press.pages.asides import with_asides

SENTENCE = "Without the $\\tfrac12$ the same step has\nhalf the size, or a (nested) word more."


def test_a_sentence_in_brackets_is_a_side_note_without_them():
    noted = with_asides(f"A claim. ({SENTENCE}) And on.\n\nMore.")
    assert noted == f'A claim. <span class="icl-aside">{SENTENCE}</span> And on.\n\nMore.'


@pytest.mark.parametrize(
    "source",
    [
        f"- A list. ({SENTENCE})",
        f"1. A list. ({SENTENCE})",
        f"| A table. ({SENTENCE}) |",
        f"```{{prf:proof}}\nA proof. ({SENTENCE})\n```",
        f":::{{admonition}} Answer\nA box. ({SENTENCE})\n:::",
        "A claim (with words in brackets that belong to the very sentence that they stand in).",
        "A claim. (Short.) And on.",
        "A claim. (A bracket that a blank line\n\nends without a sentence of its own.)",
    ],
)
def test_what_is_none_stays_as_it_is(source):
    assert with_asides(source) == source
