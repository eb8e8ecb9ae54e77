"""Symbols that say what they are."""

from press.layout import ROOT
from press.symbols import meanings


def test_symbols_are_named_in_the_words_of_the_page_of_notation():
    found = meanings((ROOT / "book" / "notation.md").read_text(encoding="utf-8"))
    assert found["n"] == "number of examples in the context" and found[r"\Psi"] == "covariance of the task vector"
    assert found[r"\Gamma"] == "preconditioner" and found[r"\eta"] == "step size of gradient descent"
    assert found[r"\Phi"] == "covariance of the task vector once the covariates are whitened" and r"\Omega" in found
    assert r"\kappa" not in found and r"\tau" not in found, "two meanings"
    assert found[r"\mathcal R"] == "risk, the mean squared error at the query" and found[r"\hat w"]
    assert not any("$" in words or words.endswith((" of", ",")) for words in found.values())
