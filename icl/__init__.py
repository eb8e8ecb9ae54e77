"""The executable companion to the theory of in-context learning.

Imports run one way: `validation` and `prompts` on the ground, `theory` (NumPy only) on them, then `models`, `solvers`
and `constructions`, then `training`, `figures`, `search` and `comparison`, and the chapters last. The names that most
people need stand here, and each is imported when it is asked for.
"""

from importlib import import_module

__version__ = "0.1.0"

NAMES = {
    "compare": "comparison.compare",
    "off_law": "comparison.off_law",
    "PromptLaw": "prompts",
    "TargetLaw": "targets",
    "reader_family": "targets",
    "LinearSelfAttention": "models.linear_attention",
    "ExactRisk": "models.exact_risk",
    "minimise_exactly": "descent",
    "lsa_minimum": "theory.mlp_benefit",
    "decompose": "solvers.queries",
}


def cite(key: str) -> str:
    """BibTeX for a claim's id or the part before its dot ("thm41"), a chapter, a paper's key, or "book".

    Raises InputError for a key that names none of these, and where the library is installed without the book.
    """
    try:
        from icl.chapters import citations  # not before it is asked for: reading BibTeX takes a while to import
    except ModuleNotFoundError as error:
        from icl.validation import InputError

        raise InputError("the bibliography comes with a checkout of the book, not with the library.") from error
    return citations.cite(key)


def __getattr__(name: str):
    if name in NAMES:
        return getattr(import_module(f"icl.{NAMES[name]}"), name)
    raise AttributeError(f"module 'icl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *NAMES])
