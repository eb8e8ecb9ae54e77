"""Where lines must not end."""

import re

_JOINED = re.compile(r" (?=[%±=])|(?<=[±=]) ")


def joined(text: str) -> str:
    """A text whose lines do not end before a per cent sign, nor beside a ± or an equals sign."""
    return _JOINED.sub("\N{NO-BREAK SPACE}", text)
