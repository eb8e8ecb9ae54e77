"""Formulas as MathML, for the first look and for readers without JavaScript."""

import re

import jupytext
import pytest

from icl.chapters import CHAPTERS
from press.layout import NOTEBOOKS
from press.plain_formulas import mathml, with_mathml


def test_by_hand():
    assert mathml("x", block=False) == '<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>x</mi></math>'
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in mathml(r"\frac12", block=False)
    assert 'display="block"' in mathml("x", block=True) and "<mtable" in mathml(r"a &= b \\\\ &= c", block=True)


def test_what_docutils_cannot_write_stays_as_it_is():
    assert mathml(r"\unheardof{x}", block=False) == ""


def test_it_stands_beside_the_tex_and_numbers_stay_outside():
    both = '<span class="icl-tex">{}</span><span class="icl-plain"><math/></span>'
    inline, block = r"<span>{}</span>", '<div><span class="eqno">(1)</span>{}</div>' + "\n"
    for formula, tex in ((inline, r"\(x\)"), (block, "\\[\na\n\\]")):
        assert with_mathml(formula.format(tex), "<math/>") == formula.format(both.format(tex))
        assert with_mathml(formula.format(tex), "") == formula.format(tex)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_formula_of_a_chapter_is_written(chapter):
    cells = jupytext.read(NOTEBOOKS / f"{chapter}.py").cells
    prose = re.sub(r"`[^`$]*`", "", "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown"))
    blocks = re.findall(r"\$\$(.+?)\$\$", prose, flags=re.S)
    inline = re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.+?\$\$", "", prose, flags=re.S))
    assert len(inline) > 20
    assert [tex for tex in inline if not mathml(tex, block=False)] == []
    assert [tex for tex in blocks if not mathml(tex, block=True)] == []
