"""Old addresses: what stood on chapter 6's page and stands on chapter 7's now is still found under its old address.

An anchor without content takes each old id's place; `book/assets/page.js` goes on to where it leads, and without a
script the reader lands at the sentence that links there. Figures' numbers and pictures are served under both names.
"""

OLD, NEW = "06_newton_transformers", "07_trained_transformers"
PLACE = "## What trained transformers do"  # the section of the old page before which the anchors stand
FIGURES = (
    "ill_conditioned", "layer_errors", "lstm", "matched_steps", "noisy", "nonlinear", "probe_warning", "quasi_newton",
    "similarity_maps", "similarity_parts", "similarity_steps", "solvers", "training_transformers", "widths",
)  # fmt: skip
_CLAIMS = (
    "all_prefixes", "bfgs_is_cg", "checkpoint_replay", "hidden_size", "hidden_size_order", "ill_conditioned",
    "layers_vs_gd", "layers_vs_gd_not_linear", "layers_vs_newton_linear", "lstm", "lstm_vs_transformer", "noisy",
    "nonlinear_targets", "probe_warning", "published_size", "quasi_newton", "similarity", "similarity_level",
    "similarity_queries", "similarity_queries_level", "transformer_vs_lstm",
)  # fmt: skip
_SECTIONS = (
    "a-probe-can-know-more-than-the-algorithm", "a-probe-in-every-layer", "an-lstm", "at-the-published-size",
    "how-many-steps-is-a-layer-worth", "ill-conditioned-covariates", "networks-as-targets", "newton-other-claims",
    "newton-similarity", "newton-trained", "noise", "other-settings", "rivals", "similar-errors",
    "what-the-similarity-looks-at", "width",
)  # fmt: skip
# Old id → new id, on the new page.
ANCHORS = {id: id for id in (*_SECTIONS, "equation-eq-similarity", *(f"cell-newton.{name}" for name in _CLAIMS))}
ANCHORS |= {id: id for id in (f"fig-{name.replace('_', '-')}" for name in FIGURES if name != "solvers")}
ANCHORS |= {"fig-newton-solvers": "fig-newton-solvers", "every-solver-every-prefix-every-step": "rivals"}


def anchors() -> str:
    """The old ids as empty elements, HTML."""
    spans = "".join(f'<span id="{old}" data-moved="{NEW}.html#{new}"></span>' for old, new in ANCHORS.items())
    return f'<div class="icl-anchors">{spans}</div>'
