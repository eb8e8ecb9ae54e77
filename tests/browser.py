"""Headless Chromium under the name by which the tests know it, and what they measure in it."""

import re
from contextlib import closing, contextmanager

from press.chromium import HOW_TO_GET_ONE, chromium, ready

__all__ = ["DEVICES", "HOW_TO_GET_ONE", "LIGHT", "alone", "chromium", "contrast", "listen", "ready", "window"]
DEVICES = {
    "desktop": dict(viewport={"width": 1280, "height": 900}),
    "phone": dict(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True),
}

LIGHT = "css:light="  # before a selector: playwright does not ask each of a page's 50,000 nodes for a shadow root


@contextmanager
def window(browser, **settings):
    """A page in a context of its own, and so in front: behind another one a page is drawn once a second."""
    with closing(browser.new_context(**settings)) as context:
        context.set_default_timeout(120_000)  # of a busy machine
        context.on("page", listen)
        yield context.new_page()


@contextmanager
def alone(browser, device):
    """Such a page of one device, without equations: they are test_browser's business, and a page is there at once."""
    with window(browser, **DEVICES[device]) as page:
        page.context.route("**/tex-svg-full.js*", lambda route: route.fulfill(content_type="text/javascript", body=""))
        yield page


def listen(page):
    """Keep in `page.wrong` its exceptions, its console's errors and warnings, and what it asks for off the disk."""
    page.wrong = wrong = []
    # The theme preloads its icon font in a way that browsers refuse for files, then loads it by its style sheet; and
    # it declares one variable twice. Neither is ours, and nothing is missing from the page.
    keep = lambda text, *theme: None if any(known in text for known in theme) else wrong.append(text)
    complaint = lambda m: keep(f"{m.text} {m.location.get('url', '')}", "webfonts/fa-", "THEBE_JS_URL")
    page.on("pageerror", lambda error: keep(str(error), "THEBE_JS_URL"))
    page.on("console", lambda m: complaint(m) if m.type in ("error", "warning") else None)
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else wrong.append(r.url))


def contrast(first: str, second: str) -> float:
    """The WCAG contrast ratio of two CSS colours, rgb(…) or color(srgb …)."""

    def luminance(colour):
        numbers = [float(part) for part in re.findall(r"[\d.]+(?:e-?\d+)?", colour.partition("(")[2])[:3]]
        channels = numbers if colour.startswith("color(") else [number / 255 for number in numbers]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)
