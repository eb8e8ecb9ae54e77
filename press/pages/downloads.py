"""What a reader takes along: notebooks, numbers, pictures, the PDF, citations."""

from icl import cite
from icl.chapters import CHAPTERS, citations
from icl.parameters import Parameters
from press.pages.reading import title

# `make pdf` puts a link in the place of this sentence once the file is there.
PDF_MISSING = 'The PDF of this build was not made; <code class="docutils literal">make pdf</code> makes and links it.'
PDF_LINK = '<a href="../icl.pdf" download>The whole book as a PDF</a>, with contents, page numbers and live links.'
_ELSEWHERE = {
    "launch": "Every notebook also opens on Colab and Binder, from the rocket at the top of its page.",
    "colab": "On Colab the notebook's first cell fetches the package and installs what it imports in the versions of "
    "the lock; Binder builds its environment from the same lock. Elsewhere that cell does nothing.",
}


def notebooks(address: str | None) -> str:
    """A MyST table of what there is of each chapter, and where it runs if the repository has a public address."""
    rows = [["chapter", "notebook, as it ran", "numbers", "run it on"], ["---"] * 4]
    for chapter in CHAPTERS.values():
        path = f"notebooks/{chapter.name}.ipynb"
        row = [
            f"{chapter.number}. {title(chapter.name)}",
            f'<a href="../_sources/{path}" download><code class="docutils literal">{chapter.name}.ipynb</code></a>',
            f'<a href="../data/{chapter.name}/{chapter.name}.json" download>JSON</a>',
        ]
        if address:
            place = address.removeprefix("https://github.com/")
            colab = f"[Colab](https://colab.research.google.com/github/{place}/blob/main/{path})"
            row.append(f"{colab}, [Binder](https://mybinder.org/v2/gh/{place}/main?urlpath=lab/tree/{path})")
        rows.append(row)
    shown = 4 if address else 3
    return "".join(f"| {' | '.join(row[:shown])} |\n" for row in rows)


def sentences(address: str | None) -> dict[str, str]:
    """What pages say in the place of `{{ name }}`; nothing of what would need a public address where there is none."""
    return (_ELSEWHERE if address else dict.fromkeys(_ELSEWHERE, "")) | {"parameters": _own_parameters()}


def _own_parameters() -> str:
    """Which chapters take more than every chapter does: «chapters 2 and 6 also `condition`, chapter 6 `k`»."""
    takers: dict[str, list[str]] = {}
    for chapter in CHAPTERS.values():
        for name in chapter.schema.model_fields.keys() - Parameters.model_fields.keys():
            takers.setdefault(name, []).append(str(chapter.number))
    words = [
        f"chapter{'s' * bool(others)} {' and '.join(filter(None, [', '.join(others), last]))} also `{name}`"
        for name, (*others, last) in sorted(takers.items(), key=lambda item: item[1])
    ]
    return ", ".join(words[:1] + [text.replace(" also ", " ") for text in words[1:]])


def pdf() -> str:
    """The place of the PDF's link, as HTML."""
    return f'<p class="icl-pdf">{PDF_MISSING}</p>'


def bibtex() -> str:
    """BibTeX of the book, and of every paper, in MyST."""
    papers = "\n".join(cite(key) for key in citations.bibliography() if key != "companion")
    return f"The book:\n\n```bibtex\n{cite('book')}```\n\n:::{{dropdown}} The papers\n```bibtex\n{papers}```\n:::\n"
