"""The reference: every module of the library stands in it, and docstrings mean what they say to Sphinx."""

import re

import pytest
from docutils.core import publish_doctree
from docutils.nodes import literal, literal_block

import icl
from press.docstrings import as_rst, readable
from press.layout import ROOT
from press.pages import reference


def test_every_module_is_in_one_room():
    named = [module for modules in reference.rooms().values() for module in modules]
    there = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "icl").rglob("*.py")
        if path.stem not in ("__init__", "__main__") and "chapters" not in path.parts
    }
    assert len(named) == len(set(named)) and set(named) == there


def test_a_module_without_a_room_is_refused(monkeypatch):
    monkeypatch.delitem(reference._ROOMS, "Solvers")
    with pytest.raises(LookupError, match="differ in solvers"):
        reference.rooms()


def test_the_ten_names_lead_to_the_reference():
    wanted = {f"icl.{module}.{name}" for name, module in icl.NAMES.items()}
    assert set(re.findall(r"~([\w.]+)", reference.names())) == wanted
    assert {name.rpartition(".")[0] for name in wanted} <= set(
        re.findall(r"automodule:: ([\w.]+)", reference.reference())
    )


@pytest.mark.parametrize(
    "words",
    ["|b|² and x_t' with X* and a_", "- (a) is no list", "1. is one neither", "C:\\ stays", ":field: no", "(v, c) = 3"],
)
def test_plain_words_stay_what_they_are(words):
    tree = publish_doctree("\n".join(as_rst([words])), settings_overrides={"report_level": 1, "halt_level": 1})
    assert tree.astext() == words


def test_code_and_formulas():
    lines = ["Of `x_query` and |y|.", "", "    M_0 = alpha S*", "", "Raises `InputError`."]
    tree = publish_doctree("\n".join(as_rst(lines)), settings_overrides={"report_level": 1, "halt_level": 1})
    assert [node.astext() for node in tree.findall(literal)] == ["x_query", "InputError"]
    assert [node.astext() for node in tree.findall(literal_block)] == ["M_0 = alpha S*"]


def test_the_five_lines_run(capsys):
    page = (ROOT / "book" / "package.md").read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", page, flags=re.S).group(1).replace("law))", "law, prompts=200))"), {})
    said = capsys.readouterr().out
    first, second = map(float, said.splitlines()[0].split())
    assert first == pytest.approx(second) and "It is one GD step" in said


def test_signatures_have_no_addresses():
    assert readable("(f = <function gauss at 0x7f3a>, g=<function h>, x: int = 3)") == "(f = gauss, g=h, x: int = 3)"
