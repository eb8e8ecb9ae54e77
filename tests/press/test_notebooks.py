"""The pairs are in step, and an executed notebook keeps nothing that differs between runs."""

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from icl.chapters import CHAPTERS
from icl.validation import InputError
from press import notebooks
from press.layout import NOTEBOOKS
from press.notebooks import check_pair, synchronise, tidy


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_committed_pairs_are_in_step(chapter):
    assert check_pair(chapter).exists()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_code_of_a_text_is_what_jupytext_finds(chapter):
    text = notebooks.source_of(chapter).read_text(encoding="utf-8")
    told = notebooks.code_of(text)
    assert told == notebooks.code(jupytext.reads(text, fmt="py")) and sum(holds for _, holds in told) == 1


def test_the_code_of_a_text_knows_every_mark():
    text = '# ---\n# a: b\n# ---\n\n# %% [markdown]\n# x = 0\n\n#%% tags=["parameters"]\nx = 1\n\n\n# %%\n\ny = 2\n'
    assert notebooks.code_of(text) == [("x = 1", True), ("\ny = 2", False)]
    assert notebooks.code_of(text) == notebooks.code(jupytext.reads(text, fmt="py"))


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
    assert [cell.id for cell in nbformat.read(pair / "nb.ipynb", 4).cells][: len(ids)] == ids


def test_differences_outputs_and_missing_files_are_refused(pair):
    check_pair("nb")
    source = (pair / "nb.py").read_text()
    (pair / "nb.py").write_text(source.replace("x = 1", "x = 2"))
    with pytest.raises(InputError, match="differ; run `make sync`"):
        check_pair("nb")
    (pair / "nb.py").write_text(source)
    notebook = nbformat.read(pair / "nb.ipynb", 4)
    notebook.cells[-1].outputs = [new_output("stream", text="1")]
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


def executed_and_edited():
    """A notebook that ran, and the same notebook with other prose, one more page of it, and another tag."""
    parameters = new_code_cell("d = 5", metadata={"tags": ["parameters"]})
    source = [new_markdown_cell("old prose"), parameters, new_code_cell("d + 2")]
    injected = new_code_cell("d = 7", metadata={"tags": ["injected-parameters", "remove-cell"]}, execution_count=2)
    outputs = [new_output("execute_result", data={"text/plain": "9"}, execution_count=3)]
    ran = new_notebook(cells=[*source[:2], injected, new_code_cell("d + 2", outputs=outputs, execution_count=3)])
    ran.cells[1] = new_code_cell("d = 5", metadata={"tags": ["parameters"]}, execution_count=1)
    tagged = new_code_cell("d + 2", metadata={"tags": ["hide-input"]})
    edited = new_notebook(cells=[new_markdown_cell("new prose"), parameters, new_markdown_cell("more"), tagged])
    return new_notebook(cells=source), ran, edited


def test_new_prose_meets_old_outputs():
    _, ran, edited = executed_and_edited()
    merged = notebooks.with_outputs(edited, ran, "x")
    assert [cell.source for cell in merged.cells] == ["new prose", "d = 5", "d = 7", "more", "d + 2"]
    assert [cell.get("execution_count") for cell in merged.cells] == [None, 1, 2, None, 3]
    assert merged.cells[-1].outputs[0].data["text/plain"] == "9" and merged.cells[-1].metadata["tags"] == ["hide-input"]
    nbformat.validate(merged)


def test_the_code_that_ran_is_all_that_counts():
    source, ran, edited = executed_and_edited()
    assert notebooks.code(source) == notebooks.code(ran) == notebooks.code(edited)
    edited.cells[-1].source = "d + 3"
    with pytest.raises(InputError, match="the code of x is not what ran last; `make book` runs it again"):
        notebooks.with_outputs(edited, ran, "x")
