"""Side notes: a whole sentence in brackets stands in the margin where there is one, and in the text elsewhere."""

import re

_FENCED = re.compile(r"^(`{3,}|:{3,}).*?^\1[ \t]*$", flags=re.M | re.S)
_ASIDE = re.compile(r"(?<=[.:?!)] )\((?=[A-Z])((?:[^()\n]|\n(?!\n)|\((?:[^()\n]|\n(?!\n))*\)){40,}?\.)\)(?=\s|$)")
_INNER = re.compile(r"[ \t]*([-*>#|]|\d+\.)")  # lists, quotations, headings and tables keep their brackets


def with_asides(source: str) -> str:
    """A markdown cell's source with the bracketed sentences of its paragraphs marked; the style sets their brackets.

    Fenced blocks stay as they are.
    """
    parts, at = [], 0
    for block in _FENCED.finditer(source):
        parts += [_marked(source[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, _marked(source[at:])])


def _marked(text: str) -> str:
    paragraphs = re.split(r"(\n[ \t]*\n)", text)
    return "".join(
        part if _INNER.match(part) else _ASIDE.sub(r'<span class="icl-aside">\1</span>', part) for part in paragraphs
    )
