"""What moves when the world does: the book's numbers beside their baselines, in an environment the lock does not pin.

`make newest` runs the book with the newest versions of its dependencies and then asks here. What is measured is written
to `measurements/newest.json`; the page on trust shows it.
"""

import re
from importlib import metadata
from pathlib import Path

from icl.chapters import CHAPTERS
from icl.files import sealed, write_atomically
from icl.parameters import PROFILES
from press.layout import BASELINES, MEASUREMENTS, ROOT, run_folder
from press.regression import compare

_NOT_OURS = {"icl", "pip"}  # neither is in the lock


def measure(profile: str = PROFILES[0]) -> dict:
    """Versions other than the lock's, and how far the last run's numbers are from their baselines, chapter by chapter.

    Raises InputError where the book has not run.
    """
    chapters = {}
    for name in CHAPTERS:
        found = compare(run_folder(profile), BASELINES / profile, name)
        numbers, share, at = found.drift()
        chapters[name] = {"numbers": numbers, "moved": found.count, "share_of_allowed": share, "at": at}
    return {"packages": len(present()), "versions": versions(), "chapters": chapters}


def versions() -> dict[str, list[str | None]]:
    """Package → its version in the lock and here, where the two differ; None where there is none."""
    return differences(pinned((ROOT / "requirements.lock").read_text(encoding="utf-8")), present())


def pinned(lock: str) -> dict[str, str]:
    """Package → version, from the text of a lock whose lines read `name==version`."""
    lines = (line.partition("==") for line in lock.splitlines() if "==" in line and not line.startswith("#"))
    return {_canonical(name): version.strip() for name, _, version in lines}


def present() -> dict[str, str]:
    """Package → version of what is installed here, builds of one version («+cpu») not told apart."""
    found = {_canonical(one.metadata["Name"]): one.version.partition("+")[0] for one in metadata.distributions()}
    return {name: found[name] for name in sorted(found.keys() - _NOT_OURS)}


def differences(lock: dict[str, str], installed: dict[str, str]) -> dict[str, list[str | None]]:
    """Package → [version in the lock, version here], where the two differ, as `versions`."""
    names = sorted(lock.keys() | installed.keys())
    pairs = {name: [lock.get(name), installed.get(name)] for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def save(content: dict) -> Path:
    """Write what `measure` found to `measurements/newest.json`."""
    return write_atomically(MEASUREMENTS / "newest.json", sealed(content))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
