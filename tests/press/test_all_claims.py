"""The front page's picture: a mark for every claim that has a place on it, each a link that says its numbers."""

from bs4 import BeautifulSoup

from icl.claims import Claim
from press.pages import all_claims


def claim(id, **changes) -> Claim:
    numbers = dict(predicted=2.0, measured=2.1, stderr=0.1, tolerance=0.0)
    words = dict(source="s", statement="t", method="exact", relation="equal", verdict="holds")
    return Claim(id=id, **numbers | words | changes)


CLAIMS = [
    claim("a.b"),
    claim("a.fails", method="trained", measured=9.0, verdict="fails"),
    claim("a.<c>", method="monte-carlo", measured=1.9),
    claim("a.bound", relation="at most"),
    claim("a.zero", predicted=0.0),
    claim(
        "a.gone", verdict="not run at this profile", **dict.fromkeys(("predicted", "measured", "stderr", "tolerance"))
    ),
]


def test_each_mark_leads_to_its_card_and_says_its_numbers():
    svg = all_claims.measured_against_predicted(CLAIMS).svg()
    page = BeautifulSoup(all_claims.explorable([svg], CLAIMS), "html.parser")
    links = {link["href"]: link["aria-label"] for link in page.select("a")}
    assert links.keys() == {"claims.html#claim-a.b", "claims.html#claim-a.fails", "claims.html#claim-a.<c>"}
    assert links["claims.html#claim-a.fails"] == "a.fails: predicted 2, measured 9.00 ± 0.10, fails"
    assert sorted(link["tabindex"] for link in page.select("a")) == ["-1", "-1", "0"]
    assert not page.select("[target]") and page.svg["role"] == "group" and 'xlink:href="../' not in str(page)


def test_a_single_claim_is_a_link_too():
    svg = all_claims.measured_against_predicted(CLAIMS[:1]).svg()
    assert len(BeautifulSoup(all_claims.explorable([svg], CLAIMS[:1]), "html.parser").select("a")) == 1
