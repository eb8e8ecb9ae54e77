"""No pickle is loaded, no shell string is built from a parameter, no page takes markup from a ledger."""

import ast
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from icl.claims import Claim, claims_table
from press.finished import FinishedChapter, FinishedRun
from press.layout import ROOT
from press.pages import claim_cards

TRACKED = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
SOURCES = [
    name
    for name in TRACKED.split("\0")
    if name.endswith(".py") and name.startswith(("icl/", "press/", "trials/", "notebooks/"))
]
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"}
UNSAFE_CALLS |= {"torch.load", "torch.jit.load", "pd.read_pickle", "pandas.read_pickle"}
# A copy of one's own object, as matplotlib's figures are copied: nothing from outside is loaded.
COPY = re.compile(r"pickle\.loads\(pickle\.dumps\([\w.]+\)\)")
PICKLED = {"load", "dump", "Memory"}  # of joblib, whose processes send each other what they compute
# The book's own notebooks, statement by statement, as a kernel would run them.
NOTEBOOKS = {"press/atlas/edges.py": ["exec"], "press/atlas/needed.py": ["compile"], "press/atlas/point.py": ["exec"]}
UNSAFE_OPTIONS = {"shell": True, "allow_pickle": True, "weights_only": False}


def dangers(source: str) -> list[str]:
    """What in a Python file could load a pickle, evaluate text or start a shell."""
    found = []
    unsafe = (UNSAFE_MODULES | {"joblib"}) - ({"pickle"} if "pickle." not in COPY.sub("", source) else set())
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.split(".")[0] in unsafe]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in UNSAFE_MODULES:
            found.append(node.module)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "joblib":
            found += [name.name for name in node.names if name.name in PICKLED]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            found += [called] if called in UNSAFE_CALLS else []
            for option in node.keywords:
                wrong = UNSAFE_OPTIONS.get(option.arg)
                if wrong is not None and getattr(option.value, "value", None) is wrong:
                    found.append(f"{called}({option.arg}={wrong})")
            if called in ("np.load", "numpy.load"):
                found.append(called)
    return found


def test_no_pickle_no_shell_no_eval():
    found = {name: dangers((ROOT / name).read_text(encoding="utf-8")) for name in SOURCES}
    assert len(found) > 100 and {name: wrong for name, wrong in found.items() if wrong} == NOTEBOOKS


def test_a_copy_is_no_danger_and_a_file_is():
    copy = "import pickle\npickle.loads(pickle.dumps(a.b))\n"
    assert dangers(copy) == [] and dangers(copy + "pickle.load(file)") == ["pickle"]
    assert dangers("from pickle import loads") == ["pickle"] and dangers("import dill") == ["dill"]


def test_the_workflow_quotes_what_it_pastes():
    """Every {field} of a shell line in the Snakefile is quoted for the shell."""
    text = (ROOT / "Snakefile").read_text(encoding="utf-8")
    commands = re.findall(r'shell:\s+"([^"\n]+)"', text)
    assert len(commands) == text.count("shell:") >= 2
    fields = [field for command in commands for field in re.findall(r"\{[^}]+\}", command)]
    assert fields and all(field.endswith(":q}") for field in fields)


def test_the_makefile_passes_values_through_the_environment():
    recipes = [line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if line.startswith("\t")]
    pasted = {name for line in recipes for name in re.findall(r"(?<!\$)\$\((\w+)\)", line)}
    assert pasted <= {"BIN", "SNAKEMAKE"}


@pytest.fixture
def checkout(tmp_path):
    """A checkout in a folder with a space and a quote in its name, with the environment of this one."""
    copy = tmp_path / "it's a checkout"
    copy.mkdir()
    for name in ("Makefile", "Snakefile", "icl", "press", "notebooks", "requirements.lock", "_toc.yml"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    (copy / "press" / "setup").write_text("#!/bin/sh\n")
    environment = copy / ".venv" / "bin"
    environment.mkdir(parents=True)
    for name in ("python", "snakemake"):
        (environment / name).write_text(
            f'#!/bin/sh\nexec "{sys.executable}" {"-m snakemake" * (name[0] == "s")} "$@"\n'
        )
        (environment / name).chmod(0o755)
    return copy


@pytest.mark.parametrize(
    "value", ["quick; touch x", "$(touch x)", "`touch x`", "quick' && touch x '", "$(shell touch x)"]
)
def test_a_profile_never_reaches_a_shell(checkout, value):
    """`make check` is the cheapest target; it ends in one sentence, and nothing was run."""
    command = ["make", "check", f"PROFILE={value}"]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=environment)
    assert result.returncode and "there is no profile" in result.stderr, result.stderr
    assert not list(checkout.rglob("x"))


def test_snakemake_refuses_a_profile_that_is_none(checkout):
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "all"]
    command += ["--config", "profile=quick; touch x"]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=environment)
    assert result.returncode and "there is no profile 'quick; touch x'" in result.stderr + result.stdout
    assert not list(checkout.rglob("x"))


MARKUP = "<script>alert('x')</script>"


def test_pages_escape_what_a_ledger_and_parameters_hold():
    claim = dict(
        id=MARKUP, source=MARKUP, statement=MARKUP, method="exact", relation="equal", predicted=None,
        measured=None, stderr=None, tolerance=None, verdict="not run at this profile", reason=MARKUP,
    )  # fmt: skip
    fields = dict(
        near=2.0, near_miss=MARKUP, cannot_tell=MARKUP, predicted=1.0, measured=1.0, stderr=0.0, tolerance=0.0
    )
    claims = [Claim(**claim), Claim(**claim | fields | {"verdict": "fails"})]
    ledger = {"parameters": {"d": MARKUP}}
    chapter = FinishedChapter("01_one_step_gd", ledger, claims, nbformat.v4.new_notebook(), {}, 1)
    page = claim_cards.claims_page(FinishedRun("quick", ROOT, (chapter,)))
    assert MARKUP not in page and page.count("&lt;script") >= 11
    assert "<script" not in claims_table([])
