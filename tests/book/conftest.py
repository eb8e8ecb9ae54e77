"""The built book, and a browser on it."""

import os
from collections.abc import Mapping

import pytest
from browser import DEVICES, HOW_TO_GET_ONE, alone, chromium, ready
from bs4 import BeautifulSoup
from chapter_tests import WITH_EXPLORABLE
from lasting import staying

from icl.chapters import CHAPTERS
from press.layout import HTML, pages


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """What takes longest first, for last it would leave the other cores idle; then what reads parsed pages, together.

    Then one device after the other, so that its windows stay open: in a new one the first page takes twice as long.
    """
    devices, long = list(DEVICES), ["test_pdf.py", "test_same.py"]

    def place(item):
        if item.path.name in long:
            return 0, long.index(item.path.name)
        device = item.callspec.params.get("device") if hasattr(item, "callspec") else None
        if device in devices:
            return 2, devices.index(device)
        return (1 if "soups" in item.fixturenames else 3), 0

    items.sort(key=place)


@pytest.fixture(scope="session")
def soups():
    """Every page of the table of contents, by name; parsed when it is asked for."""
    return _Soups()


class _Soups(Mapping):
    def __init__(self):
        self.parsed = {}

    def __getitem__(self, page):
        if page not in self.parsed:
            with staying():  # its hundred thousand nodes
                self.parsed[page] = BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        return self.parsed[page]

    def __iter__(self):
        return iter(pages())

    def __len__(self):
        return len(pages())


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
    return request.param


@pytest.fixture(scope="session")
def visitor(browser, device):
    """A page of one device, for the tests to open what they share."""
    with alone(browser, device) as page:
        yield page


# Those with an explorable first, for pytest puts tests together whose parameters stand at the same place.
@pytest.fixture(scope="session", params=[*WITH_EXPLORABLE, *(name for name in CHAPTERS if name not in WITH_EXPLORABLE)])
def opened(visitor, request):
    """A chapter's page, opened once for all tests that leave it as good as new: the chapter, and the page."""
    visitor.wrong.clear()
    visitor.goto((HTML / "notebooks" / f"{request.param}.html").as_uri())
    visitor.locator(".icl-guess[data-asks]").wait_for()
    return request.param, visitor


@pytest.fixture(scope="session")
def _sheet(browser, device):
    with alone(browser, device) as page:
        yield page


@pytest.fixture
def sheet(_sheet):
    """An empty page: the same for all tests, for a page's first address takes twice as long to load as the next."""
    _sheet.goto("about:blank")
    _sheet.wrong.clear()
    return _sheet
