"""The README's numbers are those of the run."""

import pytest

from icl.ledger import failures
from press.finished import read_run
from press.layout import ROOT

pytestmark = pytest.mark.book
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


@pytest.fixture(scope="module")
def run():
    return read_run("quick")


def test_what_to_expect_is_what_make_book_prints(run):
    assert f"`{run.summary}`" in README
    failing = len(failures([chapter.ledger for chapter in run.chapters], explained=True))
    assert f"The {WORDS[failing]} claims that fail are published as failing" in README


def test_chapter_1_ends_at_the_numbers_it_names(run):
    claims = {claim.id: claim for claim in run.claims}
    risk, step, sampled = (claims[f"thm1.{name}"] for name in ("risk", "step_size", "sampled_risk"))
    assert f"a risk of {risk.predicted:.10f} and a step of {step.predicted:.10f};" in README
    for claim, allowed, said in ((risk, 1e-9, "9 digits"), (step, 1e-9, "9 digits"), (sampled, 1e-3, "within 0.1 %")):
        assert said in README and abs(claim.measured / claim.predicted - 1) < allowed, claim.id
