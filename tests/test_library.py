"""The library by itself: what `icl` hands over, how soon, and a wheel that installs without the book's tools."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module

import pytest

import icl
from icl.progress import Plain, bar
from press.layout import ROOT

LIBRARY = {"numpy", "scipy", "torch", "matplotlib", "safetensors"}
TOOLS = ("pydantic", "joblib", "tqdm", "click", "papermill", "jupytext", "grimp", "snakemake", "pybtex", "latexcodec")
ALONE = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {TOOLS + ("press", "trials", "ipykernel", "yaml")}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
MODEL = (
    "def predict(X, y, x_query):\n    return 0.04 * ((X.transpose(0, 2, 1) @ y[..., None])[..., 0] * x_query).sum(1)\n"
)


def python(code: str, path, folder=ROOT) -> str:
    """What a fresh Python prints that finds `icl` under `path`."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_ten_names_come_from_icl_itself():
    assert len(icl.NAMES) == 10
    for name, module in icl.NAMES.items():
        assert getattr(icl, name) is getattr(import_module(f"icl.{module}"), name) and name in dir(icl)
    with pytest.raises(AttributeError, match="no attribute 'comparee'"):
        icl.comparee  # noqa: B018


def test_nothing_is_imported_before_it_is_asked_for():
    code = "import sys, icl; print(sorted({'torch', 'numpy', 'scipy', 'matplotlib'} & {*sys.modules}))"
    assert python(code, ROOT) == "[]"
    code = "import sys; from icl import compare, off_law, PromptLaw, TargetLaw, lsa_minimum, decompose; "
    assert python(code + "print({'torch', 'matplotlib', 'pydantic'} & {*sys.modules})", ROOT) == "set()"


def test_a_training_with_adam_does_not_wait_for_the_compiler():
    """PyTorch's own class of Adam loads it, which takes a process longer than many of the book's trainings."""
    code = (
        "import sys, torch; from icl.optimisers import Schedule; from icl.training import train\n"
        "model = torch.nn.Linear(2, 1)\n"
        "train(model, lambda step: model(torch.ones(2)).square().sum(), Schedule(2, 0.1, clip=1.0))\n"
        "print('torch._dynamo' in sys.modules)"
    )
    assert python(code, ROOT) == "False"


def test_icl_is_there_long_before_numpy():
    """Under half a second on any machine that imports NumPy in less than ten times as long."""
    code = "import time; a = time.perf_counter(); import {}; print(time.perf_counter() - a)"
    icl, numpy = (min(float(python(code.format(name), ROOT)) for _ in range(3)) for name in ("icl", "numpy"))
    assert icl < 0.5 * numpy


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The library's wheel, built from a copy of the tree and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    for room in ("icl", "press", "trials"):
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder]
    subprocess.run([*pip, tree], check=True, capture_output=True)
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(unpacked)
    return unpacked


def test_the_wheel_asks_for_the_librarys_five_packages(wheel):
    metadata = next(wheel.glob("*.dist-info/METADATA")).read_text(encoding="utf-8")
    wanted = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert {re.match(r"Requires-Dist: ([\w-]+)", line).group(1) for line in wanted} == LIBRARY


def test_the_wheel_holds_the_library_alone(wheel):
    assert {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"} == {"icl"}
    assert not (wheel / "icl" / "chapters").exists() and list((wheel / "icl" / "fonts").glob("*.ttf"))


def test_the_wheel_works_without_the_books_tools(wheel, tmp_path):
    (tmp_path / "mine.py").write_text(MODEL)
    typed = "compare mine.py:predict -p d=3 -p n=12 --prompts 100 --out o"
    said = python(f"{ALONE}sys.argv[1:] = '{typed}'.split()\nfrom icl.__main__ import main\nmain()", wheel, tmp_path)
    assert "one GD step, eta = 0.04 (fitted)" in said and (tmp_path / "o" / "index.html").exists()
    code = f"""{ALONE}
import icl, numpy as np
print(icl.__file__)
law = icl.PromptLaw.isotropic(2, 5, 0.1)
model = icl.LinearSelfAttention(2, rng=np.random.default_rng(0), init="label_path")
print(abs(icl.minimise_exactly(model, law).loss - icl.lsa_minimum(law).risk) < 1e-9)
try:
    icl.cite("book")
except ValueError as error:
    print(error)
"""
    lines = python(code, wheel, tmp_path).splitlines()
    assert lines[0].startswith(str(wheel)) and lines[1] == "True" and "comes with a checkout" in lines[2]


def test_a_plain_bar_says_how_long_it_takes(capsys, monkeypatch):
    moments = iter([0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    monkeypatch.setattr("icl.progress.time.monotonic", lambda: next(moments))
    with Plain(100, "model") as plain:
        plain.update(10)
        plain.set_postfix_str("loss 1")
        plain.update(65)
    said = capsys.readouterr().err
    assert "model: 75%, 9 s, 3 s left, loss 1" in said and said.endswith("\n")
    with bar(3, "quiet", wanted=False) as quiet, Plain(3, "quiet", wanted=False) as plain:
        quiet.update(), plain.update()
    assert "quiet" not in capsys.readouterr().err
