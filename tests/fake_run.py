"""A run of every chapter made up for tests: one claim, one number and one figure each, and an executed notebook."""

import nbformat

from icl.chapters import CHAPTERS, catalogue, check_parameters
from icl.files import dumps, sealed, sha256, write_atomically
from press.notebooks import check_pair
from press.sources import digests


def ledger(chapter, **changes) -> dict:
    """The ledger of a chapter whose first claim was predicted 1.5 and measured 1.25 ± 0.1."""
    id, entry = next(iter(catalogue(chapter).items()))
    described = {key: entry[key] for key in ("source", "statement", "method", "relation")}
    claim = dict(
        id=id, **described, predicted=1.5, measured=1.25, stderr=0.1, tolerance=0.0, verdict="holds", reason=""
    )
    figure = dict(alt="a <line>", columns=["x"], rows=2, rtol=1e-9)
    return dict(
        chapter=chapter, parameters=check_parameters(chapter).model_dump(), claims=[claim | changes],
        numbers={"size": 7.0}, figures={"f": figure},
    )  # fmt: skip


def write(folder, outputs=(), **changes) -> None:
    """Such a run of every chapter in `folder`, sealed; `changes` go into the first chapter's claim.

    Its notebook's first cell shows `outputs`.
    """
    for k, chapter in enumerate(CHAPTERS):
        content = ledger(chapter, **(changes if k == 0 else {}))
        seals = {}
        for suffix, text in (("csv", "x\n1\n2\n"), ("svg", "<svg></svg>"), ("narrow.svg", "<svg></svg>")):
            seals[suffix] = sha256(write_atomically(folder / chapter / f"f.{suffix}", text).read_bytes())
        content["figures"]["f"]["sha256"] = seals
        path = write_atomically(folder / f"{chapter}.ipynb", _notebook(chapter, outputs if k == 0 else ()))
        content["notebook"] = sha256(path.read_bytes())
        write_atomically(folder / f"{chapter}.provenance.json", dumps({"sources": digests(chapter)}))
        write_atomically(folder / f"{chapter}.json", sealed(content))


def _notebook(chapter, outputs) -> str:
    """The chapter's notebook as if it had run and shown nothing, but for `outputs` of its first code cell."""
    notebook = nbformat.read(check_pair(chapter), as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.outputs = [*outputs]
    return nbformat.writes(notebook)
