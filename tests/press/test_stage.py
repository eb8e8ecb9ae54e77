"""The staged tree: what the prose pastes is what the ledgers hold, and no failed notebook gets in."""

import fake_run
import nbformat
import pytest
from nbformat.v4 import new_output

from icl.chapters import CHAPTERS, catalogue
from icl.validation import InputError
from press.stage import stage

CHAPTER = next(iter(CHAPTERS))


@pytest.fixture
def run(tmp_path):
    fake_run.write(tmp_path / "run")
    return tmp_path / "run"


def glued(tree, chapter) -> dict[str, dict]:
    """What the staged notebook's first cell offers to the prose: data by name, without myst-nb's prefix."""
    cell = nbformat.read(tree / "notebooks" / f"{chapter}.ipynb", as_version=4).cells[0]
    assert cell.metadata["tags"] == ["remove-cell"]
    strip = lambda kind: kind.removeprefix("application/papermill.record/")
    return {
        out.metadata["scrapbook"]["name"]: {strip(kind): value for kind, value in out.data.items()}
        for out in cell.outputs
    }


def test_prose_gets_the_ledger_s_numbers(run, tmp_path):
    stage(run, tmp_path / "src")
    for chapter in CHAPTERS:
        shown, claim = glued(tmp_path / "src", chapter), next(iter(catalogue(chapter)))
        numbers = {name: float(data["text/plain"]) for name, data in shown.items() if "text/html" not in data}
        assert numbers[f"{claim}.predicted"] == 1.5
        assert numbers[f"{claim}.measured"] == 1.25
        assert numbers[f"{claim}.stderr"] == 0.1
        assert (numbers["d"], numbers["n"], numbers["size"]) == (5, 20, 7)
        assert "<svg></svg>" in shown["fig-f"]["text/html"] and shown["fig-f"]["text/plain"] == "a <line>"
        assert (tmp_path / "src" / "extra" / "data" / chapter / "f.csv").read_text() == "x\n1\n2\n"


def test_pages_and_claims(run, tmp_path):
    pages = stage(run, tmp_path / "src")
    assert all(f"notebooks/{chapter}" in pages for chapter in CHAPTERS)
    claims = (tmp_path / "src" / "generated" / "claims.md").read_text()
    assert all(f"<code>{next(iter(catalogue(chapter)))}</code>" in claims for chapter in CHAPTERS)
    assert "5 standard errors" in claims


def test_a_failed_notebook_does_not_get_in(run, tmp_path):
    stage(run, tmp_path / "src")
    before = sorted(tmp_path.joinpath("src").rglob("*"))
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    fake_run.write(run, outputs=[error])
    with pytest.raises(InputError, match=f"{CHAPTER}.ipynb .* holds an error; run the chapter again"):
        stage(run, tmp_path / "src")
    assert sorted(tmp_path.joinpath("src").rglob("*")) == before
