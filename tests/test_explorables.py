"""What every explorable's HTML must have, and the values that sliders can take."""

import importlib
import json
import re

import pytest
from bs4 import BeautifulSoup
from chapter_tests import WITH_EXPLORABLE, offered

from icl.chapters import CHAPTERS, check_parameters
from icl.explorables import Choice, Explorable, Number, Slider
from icl.figures import COLOURS
from icl.validation import InputError
from press.layout import NOTEBOOKS, ROOT

ASSETS = ROOT / "book" / "assets"


def explorable(chapter, **parameters) -> Explorable:
    module = importlib.import_module(f"icl.chapters.{CHAPTERS[chapter].folder.name}.explorable")
    return (offered(chapter, "example_explorable") or module.explorable)(check_parameters(chapter, **parameters))


@pytest.mark.parametrize("chapter", WITH_EXPLORABLE)
def test_it_is_in_its_notebook_and_whole_without_its_script(chapter):
    shown = explorable(chapter)
    soup = BeautifulSoup(shown._repr_html_(), "html.parser")
    assert f"icl.chapters.{CHAPTERS[chapter].folder.name}.explorable import explorable" in (
        (NOTEBOOKS / f"{chapter}.py").read_text(encoding="utf-8")
    )
    for field in soup.select("input, select"):
        assert soup.select_one(f'label[for="{field["id"]}"]').get_text(strip=True)
    assert len(soup.select("svg[viewBox][aria-label]")) + len(soup.select("svg[viewbox][aria-label]")) >= 1
    assert re.search(r"\d", shown.fallback), "the sentence without JavaScript says numbers"
    assert soup.select_one(".live").has_attr("hidden") and soup.select_one("[role=status]")
    config = json.loads(soup.select_one("script[type='application/json']").string)
    for control in config["controls"]:
        assert control["start"] in control["values"] and len(control["values"]) > 1
    script = (CHAPTERS[chapter].folder / "explorable.js").read_text(encoding="utf-8")
    for key in shown.numbers:
        assert f'view.number("{key}"' in script, "a number that is never filled"
    assert set(re.findall(r'view\.number\("(\w+)"', script)) == set(shown.numbers)


@pytest.mark.parametrize("chapter", WITH_EXPLORABLE)
@pytest.mark.parametrize(
    "run",
    [
        dict(d=77, n=2597, sigma2=123.456, beta_norm=1e5, condition=1e6),
        dict(d=1, n=1, sigma2=0.0, beta_norm=0.0, condition=1.0),
    ],
    ids=["far", "edge"],
)
def test_it_starts_at_the_run_s_parameters_and_can_reach_them(chapter, run):
    known = {name: value for name, value in run.items() if name in CHAPTERS[chapter].schema.model_fields}
    shown = explorable(chapter, **known)
    assert "nan" not in shown._repr_html_() and "inf" not in shown.fallback
    for control in shown.controls:
        wanted = known.get(control.name)
        if wanted or (wanted == 0 and not getattr(control, "log", False)):  # no logarithm of an absent mean task
            assert shown.start[control.name] == wanted and wanted in control.values(wanted)


def test_nothing_comes_from_elsewhere():
    scripts = (ROOT / "icl" / "chapters").glob("*/*.js")
    for path in (*ASSETS.glob("*.js"), *ASSETS.glob("*.css"), *scripts):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//cdn|@import|\bfetch\(|XMLHttpRequest|\bimport\b.*\bfrom\b", text), path.name


def test_colours_are_those_of_the_figures():
    css = (ASSETS / "explorable.css").read_text(encoding="utf-8")
    assert dict(re.findall(r"--icl-(\w+): (#[0-9a-f]{6})", css)) == COLOURS
    for name in COLOURS:
        assert f".ink-{name} {{ --icl-colour: var(--icl-{name}); }}" in css


def test_values_of_a_slider():
    assert Slider("d", "d", "", 1, 5).values(3) == [1, 2, 3, 4, 5]
    assert Slider("d", "d", "", 1, 5).values(8) == [1, 2, 3, 4, 5, 6, 7, 8], "a run out of range widens it"
    assert Slider("s", "s", "", 0, 0.3, 0.1).values(0.25) == [0, 0.1, 0.2, 0.25, 0.3]
    grid = Slider("n", "n", "", 1, 1000, log=True).values(237)
    assert grid[0] == 1 and grid[-1] == 1000 and 237 in grid and all(isinstance(v, int) for v in grid)
    assert grid == sorted(set(grid)) and max(b / a for a, b in zip(grid[10:], grid[11:], strict=False)) < 1.2
    fine = Slider("b", "b", "", 0.1, 100.0, step=0.1, log=True).values(3.0)
    assert 3.0 in fine and fine[0] == 0.1 and fine[-1] == 100 and 0.11 in fine


def test_what_cannot_be_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="needs values above 0"):
        Slider("n", "n", "", 0, 10, log=True).values(1)
    with pytest.raises(InputError, match="none of sign, sine"):
        Choice("f", "", "target", {"sign": "s", "sine": "t"}).values("cosine")
    with pytest.raises(InputError, match="there is no colour 'red'"):
        Number("risk", "red")
    with pytest.raises(InputError, match="lacks a start for n"):
        Explorable("x", (Slider("n", "n", "", 1, 2),), (), {}, "1", {})


def test_data_cannot_end_the_script():
    text = Explorable("x", (), (), {}, "1", {}, data={"k": "</script><b>"})._repr_html_()
    assert "</script><b>" not in text and "\\u003c/script>" in text
