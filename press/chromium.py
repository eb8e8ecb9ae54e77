"""Headless Chromium, for the PDF and for the tests: where it is, and how to start it."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
]
HOW_TO_GET_ONE = (
    "sudo apt-get install chromium libatomic1 (or .venv/bin/python -m playwright install --with-deps chromium)"
)


def find() -> str | None:
    """The path of a Chromium: the system's, or the one playwright installed; None where there is neither."""
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    return next((str(path) for path in sorted(cache.glob("chromium-*/chrome-linux*/chrome"))), None)


def ready() -> bool:
    """Whether a Chromium is there and playwright's driver starts (on a minimal Debian it lacks libatomic1)."""
    command = [sys.executable, "-m", "playwright", "--version"]
    return find() is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def chromium():
    """A running headless Chromium (playwright's Browser)."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()
