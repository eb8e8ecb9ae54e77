"""The pairs are in step, and an executed notebook keeps nothing that differs between runs."""

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from icl.parameters import CHAPTERS
from icl.validation import InputError
from icl.workflow import notebooks
from icl.workflow.layout import NOTEBOOKS
from icl.workflow.notebooks import check_pair, synchronise, tidy


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_committed_pairs_are_in_step(chapter):
    assert check_pair(chapter).exists()


def test_every_notebook_is_a_chapter():
    assert {path.stem for path in NOTEBOOKS.glob("*.py")} == set(CHAPTERS)
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(CHAPTERS)


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    notebook = new_notebook(cells=[new_markdown_cell("# Title"), new_code_cell("x = 1")])
    jupytext.write(notebook, tmp_path / "nb.py", fmt="py:percent")
    synchronise("nb")
    return tmp_path


def test_synchronising_keeps_ids_and_is_stable(pair):
    before = (pair / "nb.ipynb").read_bytes()
    ids = [cell.id for cell in nbformat.read(pair / "nb.ipynb", 4).cells]
    synchronise("nb")
    assert (pair / "nb.ipynb").read_bytes() == before
    source = (pair / "nb.py").read_text()
    (pair / "nb.py").write_text(source + "\n# %%\ny = 2\n")
    synchronise("nb")
    assert [cell.id for cell in nbformat.read(pair / "nb.ipynb", 4).cells][:2] == ids


def test_differences_outputs_and_missing_files_are_refused(pair):
    check_pair("nb")
    source = (pair / "nb.py").read_text()
    (pair / "nb.py").write_text(source.replace("x = 1", "x = 2"))
    with pytest.raises(InputError, match="differ; run `make sync`"):
        check_pair("nb")
    (pair / "nb.py").write_text(source)
    notebook = nbformat.read(pair / "nb.ipynb", 4)
    notebook.cells[1].outputs = [new_output("stream", text="1")]
    nbformat.write(notebook, pair / "nb.ipynb")
    with pytest.raises(InputError, match="holds outputs"):
        check_pair("nb")
    (pair / "nb.ipynb").unlink()
    with pytest.raises(InputError, match="is missing"):
        check_pair("nb")


def test_tidying():
    bar = (
        "\rtrain:  50%|█████     | 5/10 [00:01<00:01,  5.0it/s, loss 0.5]"
        "\rtrain: 100%|██████████| 10/10 [00:02<00:00]\n"
    )
    cell = new_code_cell("train()", outputs=[new_output("stream", name="stderr", text=bar + "Warning: careful\n")])
    cell.metadata.update(papermill={"duration": 1}, execution={"start": "now"})
    injected = new_code_cell("d = 7")
    injected.metadata["tags"] = ["injected-parameters"]
    notebook = new_notebook(cells=[cell, injected], metadata={"papermill": {"x": 1}})
    assert tidy(notebook) == ["Warning: careful"]
    assert cell.outputs == [] and not cell.metadata and not notebook.metadata
    assert injected.id == "injected-parameters" and "remove-cell" in injected.metadata["tags"]
