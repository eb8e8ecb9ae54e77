"""A Sphinx extension that gives formulas as MathML besides: for the first look, and for readers without JavaScript.

docutils writes it. The style shows one of the two, the TeX once MathJax, which leaves MathML alone, sets it (page.js).
"""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.typing import ExtensionMetadata

# What docutils does not know, in words that it does.
_KNOWN = {
    r"\\([bB])ig(?![a-zA-Z])": r"\\\1igl",
    r"\\dots(?![a-zA-Z])": r"\\ldots",
    r"\{\\rm ([^}]*)\}": r"\\mathrm{\1}",
    r"\\([td]?frac)(\d)(\d)": r"\\\1{\2}{\3}",
    r"(begin|end)\{(?:split|gathered)\}": r"\1{aligned}",
}
_TEX = re.compile(r"\\(?:\(.*\\\)|\[.*\\\])(?=</(?:span|div)>\s*$)", flags=re.S)


def setup(app) -> ExtensionMetadata:
    """Connect to the writer of formulas; Sphinx calls this."""
    app.connect("builder-inited", _add_mathml, priority=900)  # after MyST has put its own in the place of Sphinx's
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_mathml(app) -> None:
    renderers = (app.registry.html_inline_math_renderers, app.registry.html_block_math_renderers)
    for block, by_name in enumerate(renderers):
        visit, depart = by_name["mathjax"]
        by_name["mathjax"] = (_with_mathml(visit, block=bool(block)), depart)


def mathml(tex: str, *, block: bool) -> str:
    """A formula as MathML, or nothing where docutils cannot write it."""
    for ours, known in _KNOWN.items():
        tex = re.sub(ours, known, tex)
    if block and r"\\" in tex and not tex.lstrip().startswith(r"\begin"):
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        return re.sub(r">\s+<", "><", tex2mathml(tex, as_block=block))
    except MathError:
        return ""


def _with_mathml(visit, *, block: bool):
    def visited(self, node) -> None:
        start = len(self.body)
        try:
            visit(self, node)
        except nodes.SkipNode:
            self.body[start:] = [with_mathml("".join(self.body[start:]), mathml(node.astext(), block=block))]
            raise

    return visited


def with_mathml(formula: str, written: str) -> str:
    """A formula as Sphinx writes it for MathJax, and the same as MathML beside its TeX, where there is any."""
    both = lambda tex: f'<span class="icl-tex">{tex[0]}</span><span class="icl-plain">{written}</span>'
    return _TEX.sub(both, formula) if written else formula
