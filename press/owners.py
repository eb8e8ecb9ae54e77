"""Who owns a number: the chapter, the cell that made it, the claim; and how the claim stands to theory."""

import math
from pathlib import Path

import nbformat

from icl.chapters import read_ledger
from icl.claims import NOT_RUN, STANDARD_ERRORS, Claim, excess
from icl.ledger import claims_of


class Owners:
    """The owners of a run's numbers, read from its ledger and its executed notebook."""

    def __init__(self, folder: Path, chapter: str):
        self.chapter = chapter
        ledger = read_ledger(folder, chapter)
        self._claims = {claim.id: claim for claim in claims_of(ledger)}
        self._figures = ledger["figures"]
        path = Path(folder) / f"{chapter}.ipynb"
        cells = nbformat.read(path, as_version=4).cells if path.exists() else []
        self._first_lines = {
            cell.execution_count: next(iter(cell.source.strip().splitlines()), "")
            for cell in cells
            if cell.cell_type == "code" and cell.execution_count
        }

    def of(self, table: str, column: str) -> str:
        """One line on the number in `column` of a figure's table, or of the claims' (a column a claim)."""
        if table == "claims":
            claim = self._claims[column]
            return f"{self.chapter}, {self._cell(claim.cell)}, claim {column}; {against_theory(claim)}"
        return f"{self.chapter}, {self._cell(self._figures[table].get('cell'))}, figure {table}"

    def _cell(self, number: int | None) -> str:
        return f"cell {number} ({self._first_lines.get(number, '?')})" if number else "outside a notebook"


def against_theory(claim: Claim) -> str:
    """How far a claim is off, and how far it may be: its tolerance and five standard errors."""
    if claim.verdict == NOT_RUN:
        return f"against theory: {claim.verdict}"
    slack = claim.tolerance + STANDARD_ERRORS * claim.stderr
    return f"against theory: off by {excess(claim):.3g} (allowed: {slack:.3g}), {claim.verdict}"


def share_of_slack(claim: Claim) -> float:
    """|measured − predicted| as a share of what theory allows; 0 where nothing is off, NaN for a claim not run."""
    if claim.verdict == NOT_RUN:
        return math.nan
    slack = claim.tolerance + STANDARD_ERRORS * claim.stderr
    return max(excess(claim), 0.0) / slack if slack else (0.0 if excess(claim) <= 0 else math.inf)
