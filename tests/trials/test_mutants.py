"""The fault injection itself: faults that fit the tree; in a toy tree the caught, the harmless and the wrong ones."""

import json
import subprocess
from pathlib import Path

import pytest

from trials import faults, mutants

ROOT = Path(__file__).resolve().parents[2]

MODULE = "def double(x):\n    size = 2\n    return size * x\n"
TEST = "from icl.{name} import double\n\ndef test_double():\n    assert double(3) == 6\n"
CAUGHT = '[three]\nfile = "icl/toy.py"\nfind = "2"\nreplace = "3"\nimitates = "a wrong factor"\n'
HARMLESS = '[renamed]\nfile = "icl/toy.py"\nfind = "size * x"\nreplace = "x * size"\nimitates = "nothing"\n'


@pytest.fixture
def toy(tmp_path):
    """A tracked tree with one module, another that passes it on, and a test of each; returns a function for faults."""
    tree = tmp_path / "tree"
    for name, text in {
        "icl/__init__.py": "",
        "icl/toy.py": MODULE,
        "icl/far.py": "from icl.toy import double\n",
        "icl/alone.py": "x = 1\n",
        "tests/test_a_far.py": TEST.format(name="far"),
        "tests/test_near.py": TEST.format(name="toy"),
        "tests/test_house.py": "import icl.toy\n\ndef test_looks():\n    assert '2' in open('icl/toy.py').read()\n",
        "trials/faults.toml": CAUGHT,
        "trials/__init__.py": "",
        "trials/toy.py": MODULE,
        "tests/test_trial.py": TEST.format(name="toy").replace("icl", "trials"),
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tree, check=True)

    def write(text):
        (tree / "trials" / "faults.toml").write_text(text)
        return tree

    write.tree = tree
    return write


def measurement(tree) -> dict:
    return json.loads((tree / "results" / "measurements" / "mutants.json").read_text())


def test_every_fault_fits_the_tree_and_some_test_could_see_it():
    listed = faults.read_faults(ROOT)
    assert len(listed) >= 60 and len({fault.file for fault in listed}) >= 40
    assert all(faults.tests_for(ROOT, file) for file in sorted({fault.file for fault in listed}))
    script = "chapters/gd_beta_gradient_flow/{}explorable.{}".format
    assert faults.tests_for(ROOT, f"icl/{script('', 'js')}")[0] == f"tests/{script('test_', 'py')}"


def test_tests_are_chosen_by_imports_nearest_first(toy):
    assert faults.tests_for(toy.tree, "icl/toy.py") == ["tests/test_near.py", "tests/test_a_far.py"]
    assert faults.tests_for(toy.tree, "icl/far.py") == ["tests/test_a_far.py"]
    assert faults.tests_for(toy.tree, "icl/alone.py") == []


def test_a_caught_fault_names_its_test_and_leaves_no_trace(toy, capsys):
    tree = toy(CAUGHT)
    assert mutants.main(["--workers", "1"], tree) == 0
    found = measurement(tree)
    assert (found["faults"], found["caught"], found["share"]) == (1, 1, 1.0)
    assert (found["files"], found["survivors"]) == (1, [])
    assert (tree / "icl" / "toy.py").read_text() == MODULE
    said = capsys.readouterr().out
    assert "1 of 1 faults caught, 100.0 %" in said and "tests/test_near.py::test_double" in said


def test_a_fault_of_the_trials_themselves_is_looked_for_in_the_copy(toy, capsys):
    tree = toy(CAUGHT.replace("icl/toy.py", "trials/toy.py"))
    assert mutants.main(["--workers", "1"], tree) == 0
    assert "tests/test_trial.py::test_double" in capsys.readouterr().out


def test_a_harmless_fault_survives_and_asks_for_a_reason(toy, capsys):
    tree = toy(HARMLESS)
    assert mutants.main(["--workers", "1"], tree) == 1
    assert measurement(tree)["survivors"] == [{"id": "renamed", "file": "icl/toy.py", "reason": ""}]
    assert "not caught: renamed (icl/toy.py): no reason given" in capsys.readouterr().out
    many = "".join(CAUGHT.replace("[three]", f"[three-{k}]").replace('"3"', f'"{k}"') for k in range(3, 22))
    assert mutants.main(["--workers", "2"], toy(many + HARMLESS)) == 1, "95 %, but no reason"
    assert mutants.main(["--workers", "2"], toy(many + HARMLESS + 'reason = "It commutes."\n')) == 0
    assert measurement(tree)["share"] == 0.95
    assert measurement(tree)["survivors"][0]["reason"] == "It commutes."


def test_a_second_run_on_the_same_tree_measures_nothing_again(toy, monkeypatch):
    tree = toy(CAUGHT)
    mutants.main(["--workers", "1"], tree)
    before = measurement(tree)
    monkeypatch.setattr(mutants, "run_tests", lambda *_: pytest.fail("measured again"))
    assert mutants.main(["--workers", "1"], tree) == 0 and measurement(tree) == before
    (tree / "icl" / "toy.py").write_text(MODULE + "\n# another tree\n")
    monkeypatch.setattr(mutants, "run_tests", lambda *_: (1, "FAILED tests/test_near.py::test_double - boom"))
    assert mutants.main(["--workers", "1"], tree) == 2, "the tests fail without any fault"


def test_a_run_past_its_limit_is_not_caught(toy, capsys):
    tree = toy(CAUGHT.replace('find = "2"', 'find = "size = 2"').replace('"3"', '"import time; time.sleep(60)"'))
    assert mutants.main(["--workers", "1", "--limit", "5"], tree) == 1
    assert "not caught: three (icl/toy.py): past its limit" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, sentence",
    [
        (CAUGHT.replace('"2"', '"4"'), "three: its text stands 0 times in icl/toy.py, not once"),
        (CAUGHT.replace('"2"', '"x"'), "three: its text stands 2 times"),
        (CAUGHT.replace('"3"', '"("'), "three: icl/toy.py would not compile"),
        (CAUGHT.replace('"3"', '"2 "'), "three: the replacement changes nothing"),
        (CAUGHT.replace("imitates", "imitate"), "unexpected keyword argument 'imitate'"),
    ],
)
def test_faults_that_do_not_fit_are_refused(toy, capsys, text, sentence):
    tree = toy(text)
    assert mutants.main([], tree) == 2
    assert sentence in capsys.readouterr().err and not (tree / "results" / "measurements").exists()
