"""What must turn a build red does: a warning of Sphinx, a page that is missing, a dead link."""

import shutil

import pytest
import yaml

from icl.files import write_atomically
from press.book import render
from press.layout import WorkflowError

CONFIG = {"title": "t", "execute": {"execute_notebooks": "off"}}


@pytest.fixture
def tree(tmp_path):
    """A staged book of two pages."""
    write_atomically(tmp_path / "src" / "_config.yml", yaml.safe_dump(CONFIG))
    write_atomically(tmp_path / "src" / "_toc.yml", "format: jb-book\nroot: index\nchapters:\n- file: second\n")
    write_atomically(tmp_path / "src" / "index.md", "# One\n\n[two](second.md)\n")
    write_atomically(tmp_path / "src" / "second.md", "# Two\n\nNothing.\n")
    return tmp_path


def test_a_missing_page_is_named(tree):
    assert (render(tree / "src", tree / "out", ["index", "second"]) / "second.html").exists()
    shutil.rmtree(tree / "out")
    with pytest.raises(WorkflowError, match="the book was built without book/gone"):
        render(tree / "src", tree / "out", ["index", "book/gone"])


def test_a_warning_of_sphinx_is_an_error(tree):
    write_atomically(tree / "src" / "second.md", "# Two\n\n{ref}`no-such-label` and {doc}`no_such_page`\n")
    with pytest.raises(WorkflowError, match="the book was not built:(.|\\n)*no-such-label"):
        render(tree / "src", tree / "out", ["index"])
