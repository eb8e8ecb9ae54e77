"""What a reader takes along: notebooks, numbers, pictures, the PDF, citations."""

from icl import cite
from icl.chapters import CHAPTERS, citations
from press.layout import repository
from press.pages.reading import title

# `make pdf` puts a link in the place of this sentence once the file is there.
PDF_MISSING = "The PDF of this build was not made; <code>make pdf</code> makes it and puts its link here."
PDF_LINK = '<a href="../icl.pdf" download>The whole book as a PDF</a>, with contents, page numbers and live links.'


def notebooks() -> str:
    """A MyST table of what there is of each chapter, and where it runs."""
    place = repository().removeprefix("https://github.com/")
    rows = ["| chapter | notebook, as it ran | numbers | run it on |", "|---|---|---|---|"]
    for chapter in CHAPTERS.values():
        path = f"notebooks/{chapter.name}.ipynb"
        colab = f"[Colab](https://colab.research.google.com/github/{place}/blob/main/{path})"
        binder = f"[Binder](https://mybinder.org/v2/gh/{place}/main?urlpath=lab/tree/{path})"
        taken = [
            f'<a href="../_sources/{path}" download>{chapter.name}.ipynb</a>',
            f'<a href="../data/{chapter.name}/{chapter.name}.json" download>JSON</a>',
        ]
        rows.append(f"| {chapter.number}. {title(chapter.name)} | {' | '.join(taken)} | {colab}, {binder} |")
    return "\n".join(rows) + "\n"


def pdf() -> str:
    """The place of the PDF's link, as HTML."""
    return f'<p class="icl-pdf">{PDF_MISSING}</p>'


def bibtex() -> str:
    """BibTeX of the book, and of every paper, in MyST."""
    papers = "\n".join(cite(key) for key in citations.bibliography() if key != "companion")
    return f"The book:\n\n```bibtex\n{cite('book')}```\n\n:::{{dropdown}} The papers\n```bibtex\n{papers}```\n:::\n"
