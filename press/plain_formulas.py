"""A Sphinx extension that gives every formula to readers without JavaScript as well: as MathML, in a `noscript`.

docutils writes it. MathJax leaves `noscript` alone, and a page without scripts hides the TeX beside it.
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
_HIDE_TEX = """<noscript><style>
.math.math { display: inline; font-size: 0; overflow: visible } .math :is(math, .eqno) { font-size: 1rem }
div.math.math { display: flex; margin: 1rem 0 } div.math > noscript { flex-grow: 1; min-width: 0; overflow-x: auto }
</style></noscript>"""


def setup(app) -> ExtensionMetadata:
    """Connect the two steps; Sphinx calls this."""
    app.connect("builder-inited", _add_mathml, priority=900)  # after MyST has put its own in the place of Sphinx's
    app.connect("html-page-context", _hide_tex)
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
        try:
            visit(self, node)
        except nodes.SkipNode:
            written = mathml(node.astext(), block=block)
            end = "</div>" if block else "</span>"
            plain = f"<noscript>{written}</noscript>" if written else ""
            self.body[-1] = self.body[-1].replace(end, f"{plain}{end}")
            raise

    return visited


def _hide_tex(app, page, template, context, doctree) -> None:
    context["metatags"] = context.get("metatags", "") + _HIDE_TEX
