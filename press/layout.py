"""Where things lie in a checkout, and the error that running and building raise."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
BASELINES = ROOT / "results" / "baselines"
MEASUREMENTS = ROOT / "results" / "measurements"
CHECKPOINTS = ROOT / "results" / "checkpoints"
BUILD = ROOT / "_build"
HTML = BUILD / "html"


class WorkflowError(RuntimeError):
    """A chapter or the book failed: which cell or page, which error, what was kept."""


def run_folder(profile: str) -> Path:
    """Where `make book` leaves a profile's executed notebooks and ledgers."""
    return BUILD / "run" / profile


def repository() -> str:
    """The public address, from pyproject.toml, the one place that knows it."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["urls"]["Repository"]
