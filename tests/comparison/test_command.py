"""`python -m icl compare`: a stranger's ten lines give the page; what is wrong with them is one sentence."""

import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner

from icl.comparison.command import load, parameters
from icl.files import read_csv
from icl.validation import InputError
from press.cli import commands

MODEL = """
import numpy as np

def predict(X, y, x_query):
    S = X.transpose(0, 2, 1) @ X + 0.25 * np.eye(X.shape[2])
    w = np.linalg.solve(S, X.transpose(0, 2, 1) @ y[..., None])[..., 0]
    return (w * x_query).sum(1)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_model.py"
    path.write_text(MODEL)
    return path


def invoke(*arguments):
    return CliRunner().invoke(commands, ["compare", *map(str, arguments)])


def test_a_strangers_file_gives_the_page(file, tmp_path):
    sizes = ("-p", "d=3", "-p", "n=10", "-p", "sigma2=0.25", "--prompts", 120, "--queries", 3)
    result = invoke(f"{file}:predict", *sizes, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "It is ridge, penalty 0.25 (Bayes)" in result.output and "Off its law: It stays" in result.output
    page = BeautifulSoup((tmp_path / "out" / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert page.h1.text == "Which algorithm is predict?" and len(page.select("figure svg")) == 2
    assert page.select_one(".icl-named th").text.startswith("ridge, penalty 0.25 (Bayes)")
    for link in page.select("a"):
        assert (tmp_path / "out" / link["href"]).exists()
    assert not page.select("script, link[href^=http], img[src^=http]")
    assert "distance" in read_csv(tmp_path / "out" / "comparison.csv")
    assert read_csv(tmp_path / "out" / "off_law.csv")["scale_x"].tolist() == [0.25, 0.5, 1, 2, 4]


def test_nonlinear_targets(file, tmp_path):
    sizes = ("-p", "d=2", "-p", "n=6", "--family", "sine", "--prompts", 100, "--on-law-only")
    result = invoke(f"{file}:predict", *sizes, "--out", tmp_path / "out")
    assert result.exit_code == 0 and "kernel ridge, the covariance of sine" in result.output
    assert not (tmp_path / "out" / "off_law.csv").exists()
    assert "did you mean 'sine'" in str(invoke(f"{file}:predict", "--family", "sin").exception)


def test_what_is_wrong_with_the_file_is_said(file, tmp_path):
    assert callable(load(f"{file}:predict"))
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    for text, words in (
        ("predict", "FILE.py:NAME"),
        (f"{tmp_path}/none.py:predict", "there is no file"),
        (f"{file}:predit", "did you mean 'predict'"),
        (f"{broken}:predict", "ZeroDivisionError"),
    ):
        with pytest.raises(InputError, match=words):
            load(text)


@pytest.mark.parametrize(
    "text, words",
    [
        ("d", "not of the form name=value"),
        ("m=3", "it takes d, n, sigma2, seed"),
        ("sigma=3", "did you mean 'sigma2'"),
        ("d=2.5", "d must be a whole number"),
        ("sigma2=much", "sigma2 must be a number"),
        ("seed=-1", "seed must be a whole number of at least 0"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_said(text, words):
    with pytest.raises(InputError, match=words):
        parameters([text])


def test_parameters_take_the_place_of_defaults():
    assert parameters(["d=3", "sigma2=1"]) == {"d": 3, "n": 20, "sigma2": 1.0, "seed": 0}


def test_help_names_every_option():
    assert "compare" in CliRunner().invoke(commands, ["--help"]).output
    said = invoke("--help").output
    assert all(option in said for option in ("FILE.py:NAME", "--family", "--prompts", "--on-law-only", "(0.25)"))
