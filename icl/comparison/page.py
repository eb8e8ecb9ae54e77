"""The page that `python -m icl compare` writes: one file that opens from the disk, light or dark, on a phone too."""

import html

from icl.comparison.off_law import OffLaw
from icl.comparison.table import Comparison
from icl.comparison.words import markup

_STYLE = """
:root { color-scheme: light dark; --ink: #1d1f21; --paper: #fff; --soft: #6b7280; --line: #d8dce2; --mark: #e6f2ee }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181b; --soft: #9aa2ad; --line: #3a3f46; --mark: #1d332c } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 4rem }
h1 { font-size: 1.7rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem }
.law, figcaption, .read { color: var(--soft) } .verdict { font-size: 1.2rem; margin: 1rem 0 1.5rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem }
th, td { text-align: right; padding: .3rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child { text-align: left; font-weight: normal } thead th { color: var(--soft); font-weight: normal }
.icl-named { background: var(--mark) } .icl-named th { font-weight: 600 }
figure { margin: 1rem 0 } figure svg { width: 100%; max-width: 52rem; height: auto } dt { font-weight: 600 }
a { color: inherit }
"""
_READ = {
    "differs by": "how far the algorithm's answers are from the model's, as a share of the size of these: "
    "F / √(1 − F²), F the mean over prompts of √(m / (m + s)), m the mean squared difference on a prompt and s the "
    "model's mean square there.",
    "risk": "mean squared error against noisy labels, of each algorithm on the same prompts; the exact value of theory "
    "beside it where there is a closed form.",
    "similarity": "the cosine of the vectors of errors of model and algorithm on one prompt, its mean over prompts.",
    "told apart": "whether its distance exceeds the nearest algorithm's by five standard errors over prompts; where it "
    "does not, how many prompts would show it nine times out of ten, if the difference is what it seems to be.",
    "fitted": "step lengths and penalties so marked are those at which the algorithm comes nearest to the model, found "
    "on other prompts than the table's.",
}


def page(found: Comparison, turned: OffLaw | None, texts: dict[str, str]) -> str:
    """One HTML file of a comparison; `texts` are the other files of its folder, with the figures to put in."""
    parts = [
        f"<h1>Which algorithm is {html.escape(found.model)}?</h1>",
        f'<p class="law">{html.escape(found.law)}; {found.prompts:,} prompts, {found.answers} answers each</p>',
        f'<p class="verdict">{markup(found.verdict)}</p>',
        _figure(texts["distances.svg"], "Distance from each algorithm, with five standard errors."),
        f'<div class="wide">{found.table_html()}</div>',
    ]
    if turned:
        caption = (
            "One thing about the prompts is turned at a time; the algorithms keep the numbers they had. Dotted: the law"
            " of the table."
        )
        told = f"<p>{markup(turned.verdict)}</p>"
        parts += ["<h2>Off this law</h2>", told, _figure(texts["off_law.svg"], caption)]
    if found.layers:
        parts += ["<h2>Layer by layer</h2>", f'<div class="wide">{found.layers.table_html()}</div>']
        parts += [f"<p>{html.escape(found.layers.warning)}</p>"]
    parts += ["<h2>How to read this</h2>", '<dl class="read">']
    parts += [f"<dt>{term}</dt><dd>{html.escape(words)}</dd>" for term, words in _READ.items()]
    links = ", ".join(f'<a href="{name}">{name}</a>' for name in texts)
    parts += ["</dl>", f"<p>The numbers: {links}.</p>"]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
    title = f"<title>Which algorithm is {html.escape(found.model)}?</title>"
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}{title}</head><body><main>\n{body}\n</main></body></html>\n'


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>"
