"""The staged tree: what the prose pastes is what the ledgers hold, no failed run gets in, no link leads nowhere."""

import re

import fake_run
import nbformat
import pytest
import yaml
from nbformat.v4 import new_output

from icl.chapters import CHAPTERS, catalogue
from icl.validation import InputError
from press import notebooks
from press import stage as staging
from press.finished import read_run
from press.layout import ROOT, pages, repository
from press.stage import stage

ADDRESS = "https://example.org/someone/book"
CHAPTER = next(iter(CHAPTERS))


@pytest.fixture
def run(tmp_path):
    fake_run.write(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The tree of such a run, for tests that only read it."""
    folder = tmp_path_factory.mktemp("staged")
    fake_run.write(folder / "run")
    return stage(read_run("quick", folder / "run"), folder / "src")


def glued(tree, chapter) -> dict[str, dict]:
    """What the staged notebook's first cell offers to the prose: data by name, without myst-nb's prefix."""
    cell = nbformat.read(tree / "notebooks" / f"{chapter}.ipynb", as_version=4).cells[0]
    assert cell.metadata["tags"] == ["remove-cell"]
    strip = lambda kind: kind.removeprefix("application/papermill.record/")
    return {
        out.metadata["scrapbook"]["name"]: {strip(kind): value for kind, value in out.data.items()}
        for out in cell.outputs
    }


def test_prose_gets_the_ledger_s_numbers(staged):
    for chapter in CHAPTERS:
        shown, claim = glued(staged, chapter), next(iter(catalogue(chapter)))
        numbers = {name: float(data["text/plain"]) for name, data in shown.items() if "text/html" not in data}
        assert numbers[f"{claim}.predicted"] == 1.5
        assert numbers[f"{claim}.measured"] == 1.25
        assert numbers[f"{claim}.stderr"] == 0.1
        assert (numbers["d"], numbers["n"], numbers["size"]) == (5, 20, 7)
        assert "<svg></svg><svg></svg>" in shown["fig-f"]["text/html"] and shown["fig-f"]["text/plain"] == "a <line>"
        assert (staged / "extra" / "data" / chapter / "f.csv").read_text() == "x\n1\n2\n"


def test_claims_and_what_is_downloaded(staged):
    assert all((staged / f"{page}.md").exists() or (staged / f"{page}.ipynb").exists() for page in pages())
    claims = (staged / "generated" / "claims.md").read_text()
    assert all(f'id="claim-{next(iter(catalogue(chapter)))}"' in claims for chapter in CHAPTERS)
    assert "5 standard errors" in claims
    downloaded = nbformat.read(staged / "extra" / "_sources" / "notebooks" / f"{CHAPTER}.ipynb", as_version=4)
    assert downloaded.cells[0].id != "glue" and "icl-anchors" not in str(downloaded)


def test_a_failed_notebook_does_not_get_in(run):
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    fake_run.write(run, outputs=[error])
    with pytest.raises(InputError, match=f"{CHAPTER}.ipynb .* holds an error; run the chapter again"):
        read_run("quick", run)


@pytest.mark.parametrize("address", [None, ADDRESS])
def test_an_address_turns_on_all_that_needs_one_and_nothing_leads_nowhere(staged, tmp_path, monkeypatch, address):
    tree = staged
    if address != repository():
        monkeypatch.setattr(staging, "repository", lambda: address)
        tree = stage(read_run("quick", staged.parent / "run"), tmp_path / "src")
    config = yaml.safe_load((tree / "_config.yml").read_text())
    texts = {path.name: path.read_text() for path in tree.rglob("*") if path.suffix in (".md", ".cff", ".yml")}
    everything = "".join(texts.values()) + "".join(config["parse"]["myst_substitutions"].values())
    on = address is not None
    assert ("launch_buttons" in config, "repository" in config, config["html"]["use_repository_button"]) == (on,) * 3
    for word in ("mybinder.org", "colab.research.google.com", "Every notebook also opens", "repository-code", ADDRESS):
        assert (word in everything) == on, word
    assert "(repo:" not in everything
    shown = f"[test]({ADDRESS}/blob/main/tests/test_house.py)" if on else "`tests/test_house.py`"
    assert shown in texts["trust.md"]


@pytest.mark.parametrize("address", [None, ADDRESS])
def test_the_address_is_no_part_of_what_ran(tmp_path, monkeypatch, address):
    """A run made without the address serves with it, and the other way round."""
    monkeypatch.setattr(notebooks, "repository", lambda: None if address else ADDRESS)
    old = _synchronised(tmp_path, monkeypatch)
    monkeypatch.setattr(notebooks, "repository", lambda: address)
    merged = notebooks.with_outputs(_synchronised(tmp_path, monkeypatch), old, "x")
    assert [cell.source for cell in merged.cells][-1] == "x = 1"
    assert ("colab" in merged.cells[0].metadata.get("tags", [])) == (address is not None)


def _synchronised(folder, monkeypatch):
    monkeypatch.setattr(notebooks, "NOTEBOOKS", folder)
    (folder / "nb.py").write_text("# %% [markdown]\n# # Title\n\n# %%\nx = 1\n")
    return nbformat.read(notebooks.synchronise("nb"), as_version=4)


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("*.md")), ids=lambda path: path.stem)
def test_what_the_pages_name_is_there(path):
    text = path.read_text(encoding="utf-8")
    assert [file for file in re.findall(r"\]\(repo:([^)]+)\)", text) if not (ROOT / file).exists()] == []
    targets = re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    assert set(re.findall(r"`make ([\w-]+)", text)) <= set(targets)
