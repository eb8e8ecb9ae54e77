"""The benchmarks are run by hand, months apart: every table of theirs begins with the code that stands here."""

import importlib.util
import inspect
from itertools import islice

import numpy as np
import pytest

from press.layout import ROOT

FOLDER = ROOT / "trials" / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
COMMANDS = {"one_step_gd.commands", "newton_memory.chapter"}  # whole commands, a minute; other tests know them
SMALLER = {"table1_on_cuda": {"STEPS": {"cpu": 1, "cuda": 1}}, "newton": {"NEWTON": range(1, 4), "GD": range(1, 10)}}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_table_has_a_first_row(name, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    timing = importlib.import_module("timing")
    monkeypatch.setattr(timing, "in_turn", lambda *actions, **_: np.array([[timing.once(one)[1] for one in actions]]))
    script = load(name, monkeypatch)
    tables = [part for _, part in inspect.getmembers(script, inspect.isfunction) if is_table(part, script)]
    assert tables
    for table in tables:
        if f"{name}.{table.__name__}" not in COMMANDS:
            rows = list(islice(table(), 3))
            assert len({row.count("|") for row in rows}) == 1 or rows == ["They were not installed."], table.__name__


def is_table(part, script) -> bool:
    """Whether it is what `write_tables` takes: the script's own, a docstring, and rows without being told anything."""
    own = part.__module__ == script.__name__ and part.__doc__ is not None
    return own and inspect.isgeneratorfunction(part) and not inspect.signature(part).parameters


def load(name, monkeypatch):
    """The script as a module, by its path: `search` is another module's name too."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for constant, value in SMALLER.get(name, {}).items():
        monkeypatch.setattr(script, constant, value)
    return script
