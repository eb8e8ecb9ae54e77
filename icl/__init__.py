"""The executable companion to the theory of in-context learning.

Imports run one way: `validation` and `prompts` on the ground, `theory` (NumPy only) on them, then
`models`, `solvers` and `constructions`, then `training`, then the ledger (`claims`, `figures`) and
last `workflow`, the only part that knows papermill and Jupyter Book.
"""

__version__ = "0.1.0"


def cite(key: str) -> str:
    """BibTeX for a claim's id or the part before its dot ("thm41"), a chapter, a paper's key, or "book".

    Raises InputError for a key that names none of these.
    """
    from icl.chapters import citations  # not before it is asked for: reading BibTeX takes a while to import

    return citations.cite(key)
