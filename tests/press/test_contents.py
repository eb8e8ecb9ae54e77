"""A page, a chapter or a baseline without one does not vanish unseen."""

import json

from icl.chapters import CHAPTERS
from icl.files import read_json
from press.contents import codecheck, compare_contents, contents
from press.layout import BASELINES, ROOT


def test_the_committed_lists_are_those_of_the_book():
    assert read_json(BASELINES / "contents.json") == contents()
    assert compare_contents(BASELINES, "quick") == []
    assert (ROOT / "codecheck.yml").read_text(encoding="utf-8") == codecheck()
    assert codecheck().count("file: _build/run/quick/") > 20


def test_what_vanishes_is_missed(tmp_path, monkeypatch):
    committed = tmp_path / "baselines"
    (committed / "quick" / "07_gone").mkdir(parents=True)
    content = contents()
    content["pages"].append("book/gone")
    (committed / "contents.json").write_text(json.dumps(content))
    monkeypatch.setitem(CHAPTERS, "08_new", CHAPTERS["01_one_step_gd"])
    assert compare_contents(committed, "quick") == [
        "page book/gone: vanished",
        "chapter 08_new: is new; `make baselines` takes it into the list",
        "baselines of 07_gone: belong to no chapter; delete them",
    ]
