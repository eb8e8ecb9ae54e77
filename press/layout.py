"""Where things lie in a checkout, and the error that running and building raise."""

import shlex
import tomllib
from pathlib import Path

import yaml

from icl.parameters import PROFILES

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
BASELINES = ROOT / "results" / "baselines"
MEASUREMENTS = ROOT / "results" / "measurements"
ATLAS = ROOT / "results" / "atlas"
CHECKPOINTS = ROOT / "results" / "checkpoints"
BUILD = ROOT / "_build"
HTML = BUILD / "html"


class WorkflowError(RuntimeError):
    """A chapter or the book failed: which cell or page, which error, what was kept."""


def run_folder(profile: str) -> Path:
    """Where `make book` leaves a profile's executed notebooks and ledgers."""
    return BUILD / "run" / profile


def pages() -> list[str]:
    """Every page of the table of contents, without suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [page["file"] for part in toc.get("parts", [toc]) for page in part["chapters"]]
    return [toc["root"], *chapters]


def remedy(folder: Path, chapter: str, changed: dict[str, object] | None = None) -> str:
    """The whole command that runs a chapter anew into `folder`, with the parameters that are not the usual ones."""
    for profile in PROFILES:
        if Path(folder).resolve() == run_folder(profile):
            return "make book" + f" PROFILE={profile}" * (profile != PROFILES[0])
    return run_command(folder, chapter, changed or {})


def run_command(folder: Path, chapter: str, changed: dict[str, object]) -> str:
    """`python -m icl run`, for a shell, with the parameters that are not the usual ones."""
    chosen = [part for name, value in changed.items() for part in ("-p", f"{name}={value}")]
    return shlex.join(["python", "-m", "icl", "run", chapter, *chosen, "--out", str(folder)])


def repository() -> str | None:
    """The public address, from pyproject.toml, the one place that may know it; None while it is not decided."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"].get("urls", {}).get("Repository")
