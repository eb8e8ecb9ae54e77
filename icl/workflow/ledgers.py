"""Reading ledgers back: all chapters of one run, their verdicts, a summary for the terminal."""

import json
from pathlib import Path

from icl.claims import FAILS, HOLDS, NOT_RUN, Claim
from icl.parameters import CHAPTERS
from icl.validation import InputError


def read_ledger(folder: Path, chapter: str) -> dict:
    """The content of `<folder>/<chapter>.json`; raises InputError when it is missing or damaged."""
    path = Path(folder) / f"{chapter}.json"
    try:
        ledger = json.loads(path.read_text(encoding="utf-8"))
        [Claim(**claim) for claim in ledger["claims"]]
        ledger["numbers"], ledger["figures"], ledger["parameters"]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; run `make book`, or `python -m icl run {chapter}`.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}); delete it and run the chapter again.") from None
    return ledger


def read_all(folder: Path) -> list[dict]:
    """Every chapter's ledger, in the order of the book; raises InputError when one is missing."""
    return [read_ledger(folder, chapter) for chapter in CHAPTERS]


def claims_of(ledger: dict) -> list[Claim]:
    """The claims of one ledger."""
    return [Claim(**claim) for claim in ledger["claims"]]


def table(ledger: dict) -> str:
    """The chapter's claims as lines of text, one a claim."""
    return "\n".join(f"  {claim}" for claim in claims_of(ledger))


def summary(ledgers: list[dict]) -> str:
    """One line: how many claims hold, fail, or were not run."""
    verdicts = [claim.verdict for ledger in ledgers for claim in claims_of(ledger)]
    plural = {HOLDS: "hold", FAILS: "fail", NOT_RUN: "were not run at this profile"}
    counts = [f"{verdicts.count(verdict)} {words}" for verdict, words in plural.items() if verdict in verdicts]
    return f"{len(verdicts)} claims: {', '.join(counts)}."


def failures(ledgers: list[dict]) -> list[Claim]:
    """The claims whose verdict is «fails»."""
    return [claim for ledger in ledgers for claim in claims_of(ledger) if claim.verdict == FAILS]
