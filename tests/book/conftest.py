"""The built book, and a browser on it."""

import os

import pytest
from browser import DEVICES, HOW_TO_GET_ONE, alone, chromium, ready
from bs4 import BeautifulSoup

from press.layout import HTML
from press.stage import pages


def pytest_collection_modifyitems(items):
    """The PDF first: its one fixture takes a minute of one core, and last it would leave the other idle."""
    items.sort(key=lambda item: item.path.name != "test_pdf.py")


@pytest.fixture(scope="session")
def soups():
    """Every page of the table of contents, parsed, by name."""
    return {page: BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser") for page in pages()}


@pytest.fixture(scope="session")
def browser(request):
    """Headless Chromium. Without one the browser tests are left out, and said to be; in CI that is a failure."""
    if not ready():
        if os.environ.get("CI") == "true":
            pytest.fail(f"no browser in CI: {HOW_TO_GET_ONE}")
        pytest.skip(f"the browser tests did not run: {HOW_TO_GET_ONE}")
    with chromium() as running:
        yield running


@pytest.fixture(scope="session", params=DEVICES)
def device(request):
    """Of the whole session, so that all tests of one device follow each other, with its windows open."""
    return request.param


@pytest.fixture(scope="module")
def visitor(browser, device):
    """A page of one device, for a module to open what its tests share."""
    with alone(browser, device) as page:
        yield page


@pytest.fixture(scope="module")
def _sheet(browser, device):
    with alone(browser, device) as page:
        yield page


@pytest.fixture
def sheet(_sheet):
    """An empty page: the same for all tests, for a page's first address takes twice as long to load as the next."""
    _sheet.goto("about:blank")
    _sheet.wrong.clear()
    return _sheet
