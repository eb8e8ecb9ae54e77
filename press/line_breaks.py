"""Where lines must not end."""

import re

_JOINED = re.compile(r" (?=[%±=])|(?<=[±=]) |(?<=\d) (?=(?:min|s)\b)|(?<=\d min) (?=\d)")


def joined(text: str) -> str:
    """A text whose lines do not end before a per cent sign, nor beside a ± or an equals sign, nor in a duration."""
    return _JOINED.sub("\N{NO-BREAK SPACE}", text)
