"""What staging writes around the chapters, from ledgers and catalogues alone."""

import re

from bs4 import BeautifulSoup
from nbformat.v4 import new_markdown_cell, new_notebook

from icl.chapters import CHAPTERS
from icl.claims import Claim
from press.finished import FinishedChapter, FinishedRun
from press.pages import chapter_map, claim_cards, downloads, front, moved, reading


def run(*names, **changes) -> FinishedRun:
    """Chapters with one claim each and nothing else, chapter 1 where none is named."""
    return FinishedRun("quick", None, tuple(chapter(name, **changes) for name in names or ["01_one_step_gd"]))


def chapter(name, **changes) -> FinishedChapter:
    claim = dict(
        id="thm1.risk", source="Mahankali et al. (2024), Theorem 1", statement="1 < 2.", method="exact",
        relation="equal", predicted=1.0, measured=2.0, stderr=0.0, tolerance=0.5, verdict="fails", reason="", cell=7,
    )  # fmt: skip
    return FinishedChapter(name, {"parameters": {"d": 5}}, [Claim(**claim | changes)], new_notebook(), {}, 5)


def soup(text):
    return BeautifulSoup(text, "html.parser")


def test_a_failing_claim_is_shown_as_failing():
    card = soup(claim_cards.claims_page(run())).select_one("#claim-thm1\\.risk")
    assert card["data-verdict"] == "fails" and card["data-paper"] == "mahankali2024" and "1 < 2." in card.get_text()
    row = soup(front.theorems(run())).select_one("tbody tr").get_text(" ")
    assert "fails" in row and "one step of gradient descent" in row


def test_the_front_page_says_what_fails_and_why():
    (line,) = soup(front.failing(run(reason="too <few> steps").claims)).select("li")
    assert line.a["href"] == "claims.html#claim-thm1.risk" and line.a.get_text() == "thm1.risk"
    assert line.get_text() == "thm1.risk too <few> steps"
    assert soup(front.failing(run().claims)).li.get_text() == "thm1.risk", "a reason that nobody knows is not made up"
    assert front.failing(run(verdict="holds").claims) == ""


def test_an_arrow_leads_to_the_claim_whose_number_stands_before_it():
    pasted = "Shown by {glue:text}`../notebooks/01_one_step_gd.ipynb::thm1.risk.measured:.6f`\n"
    arrow = "ends. → {doc}`/notebooks/01_one_step_gd`"
    led = claim_cards.lead_to_claims(f"{pasted}{arrow}\n\nOther\n{arrow}\n")
    cell, card = "../notebooks/01_one_step_gd.html#cell-thm1.risk", "claims.html#claim-thm1.risk"
    links = f': <a href="{cell}">the cell</a>, <a href="{card}">the claim</a>'
    assert led == f"{pasted}{arrow}{links}\n\nOther\n{arrow}\n"
    assert claim_cards.lead_to_claims(f"In words\n{arrow} `thm1.risk`\n") == f"In words\n{arrow}{links}\n"
    assert claim_cards.lead_to_claims(f"Of none\n{arrow} `thm1.rusk`\n") == f"Of none\n{arrow} `thm1.rusk`\n"


def test_a_claim_that_was_not_run_says_why():
    gone = dict(predicted=None, measured=None, stderr=None, tolerance=None)
    left_out = run(verdict="not run at this profile", reason="needs <hours>", **gone)
    assert "needs <hours>" in soup(claim_cards.claims_page(left_out)).select_one(".icl-card").get_text()
    assert "needs <hours>" in soup(front.theorems(left_out)).get_text()


def test_a_chapter_without_a_headline_shows_its_first_claim():
    text = front.theorems(run(id="thm1.step_size", statement="The first statement."))
    assert "The first statement." in soup(text).get_text()


def test_a_claim_decided_outside_a_notebook_links_to_its_chapter():
    (claim,) = run(cell=None).claims
    assert claim_cards.cell_address("01_one_step_gd", claim) == "../notebooks/01_one_step_gd.html"


def test_the_map_has_every_chapter_and_every_arrow_between_neighbours():
    drawing = soup(chapter_map.drawing(run(*CHAPTERS)))
    assert [a["href"] for a in drawing.select("a")] == [f"../notebooks/{name}.html" for name in CHAPTERS]
    rows = {chapter.folder.name: chapter.place[1] for chapter in CHAPTERS.values()}
    steps = [chapter.place[1] - rows[name] for chapter in CHAPTERS.values() for name in chapter.needs]
    assert len(drawing.select("path.edge")) == steps.count(1) >= 7, "a longer arrow would cross a box"
    described = chapter_map.in_words()
    assert all(words in described for chapter in CHAPTERS.values() for words in chapter.needs.values())


def test_nodes_of_the_map_do_not_overlap_and_rest_on_earlier_rows():
    all_chapters = {chapter.folder.name: chapter for chapter in CHAPTERS.values()}
    places = [chapter.place for chapter in all_chapters.values()]
    assert len(set(places)) == len(places)
    for chapter in all_chapters.values():
        assert all(all_chapters[name].place[1] < chapter.place[1] for name in chapter.needs)


def test_reading_time_grows_with_the_text():
    short, long = (new_notebook(cells=[new_markdown_cell("word " * words)]) for words in (700, 2900))
    assert (reading.reading_minutes(short), reading.reading_minutes(long)) == (5, 20)


def test_parameters_beyond_those_of_every_chapter_are_told():
    words = downloads.sentences(None)["parameters"]
    assert "chapters 2, 6, 7 and 11 `condition`" in words and "chapter 6 `k`" in words and "`sigma2`" not in words


def test_the_list_of_chapters_counts():
    text = front.contents(run(*CHAPTERS))
    assert len(re.findall(r"^\d+\. ", text, flags=re.M)) == len(CHAPTERS) and "1 claims" in text


def test_old_addresses_lead_to_the_new_page():
    spans = soup(moved.anchors()).select("span")
    assert len({span["id"] for span in spans}) == len(spans) > 50
    assert {span["data-moved"].split("#")[0] for span in spans} == {"07_trained_transformers.html"}
    assert moved.ANCHORS["fig-matched-steps"] == "fig-matched-steps" and moved.ANCHORS["fig-newton-solvers"]
    claims = {id for id in moved.ANCHORS if id.startswith("cell-")}
    assert claims <= {f"cell-{id}" for id in CHAPTERS["07_trained_transformers"].claims}
