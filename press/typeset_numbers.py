"""A Sphinx extension that sets the numbers of the prose as a printer would: −3 × 10⁻⁹, not -3e-09; 5 % on one line."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.typing import ExtensionMetadata

from press.line_breaks import joined

_NUMBER = re.compile(r"(?P<sign>-?)(?P<digits>[\d,.]+)(?:e(?P<power>[+-]\d+))?(?P<percent>%?)")


def setup(app) -> ExtensionMetadata:
    """Register the transform; Sphinx calls this."""
    app.add_post_transform(_Typeset)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def typeset(text: str) -> list[nodes.Node]:
    """A number as Python writes it, as nodes: a minus sign, and a power of ten with its exponent raised."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        return [nodes.Text(text)]
    digits = "−" * bool(number["sign"]) + number["digits"]
    if number["power"] is None:
        return [nodes.Text(digits + "\N{NO-BREAK SPACE}%" * bool(number["percent"]))]
    exponent = str(int(number["power"])).replace("-", "−")
    return [nodes.Text(f"{digits}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10"), nodes.superscript("", exponent)]


_VERBATIM = (nodes.literal, nodes.literal_block, nodes.raw, nodes.math, nodes.math_block)


class _Typeset(SphinxPostTransform):
    default_priority = 500  # after MyST-NB has fetched the numbers that pages take from one another

    def run(self, **_) -> None:
        for pasted in list(self.document.findall(nodes.inline)):
            if "pasted-text" in pasted.get("classes", []):
                pasted[:] = typeset(pasted.astext())
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(text.parent, _VERBATIM) and (together := joined(text)) != text:
                text.parent.replace(text, nodes.Text(together))
