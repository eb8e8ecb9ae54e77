"""The executable companion to the theory of in-context learning.

Imports run one way: `validation` and `prompts` on the ground, `theory` (NumPy only) on them, then
`models`, `solvers` and `constructions`, then `training`, then the ledger (`claims`, `figures`) and
last `workflow`, the only part that knows papermill and Jupyter Book.
"""

from importlib import import_module

__version__ = "0.1.0"

# Names that readers need most, from `icl` itself; each module is imported when its name is asked for.
_HANDY = {
    "PromptLaw": "prompts",
    "TargetLaw": "targets",
    "reader_family": "targets",
    "compare": "comparison.compare",
    "off_law": "comparison.off_law",
}


def cite(key: str) -> str:
    """BibTeX for a claim's id or the part before its dot ("thm41"), a chapter, a paper's key, or "book".

    Raises InputError for a key that names none of these.
    """
    from icl.chapters import citations  # not before it is asked for: reading BibTeX takes a while to import

    return citations.cite(key)


def __getattr__(name: str):
    if name in _HANDY:
        return getattr(import_module(f"icl.{_HANDY[name]}"), name)
    raise AttributeError(f"module 'icl' has no attribute {name!r}")
