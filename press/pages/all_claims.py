"""The front page's picture: every claim of the book, measured against predicted; a mark is a link to its card."""

import html
import re
from collections.abc import Iterable

import numpy as np

from icl.claims import FAILS, NOT_RUN, Claim, measured_text, predicted_text
from icl.figures import COLOURS, INK, Figure, canvas, style

_GROUPS = {
    "exact": ("computed exactly", COLOURS["bayes"], "o"),
    "monte-carlo": ("measured on random prompts", COLOURS["trained_exact"], "s"),
    "trained": ("trained on random prompts", COLOURS["trained_sampled"], "D"),
}
_CARDS = "../../book/claims.html"  # seen from the picture's own file, in data/book/
_FRAME = 1e6  # a mean risk of 10¹⁶ (chapter 6) would squeeze all others into a corner


def measured_against_predicted(claims: Iterable[Claim]) -> Figure:
    """A dot for every decided equality whose prediction is not 0, by size; failing ones are crossed out."""
    claims = list(claims)
    shown = [c for c in claims if c.verdict != NOT_RUN and c.relation == "equal" and c.predicted * c.measured > 0]
    points = np.array([[abs(claim.predicted), abs(claim.measured)] for claim in shown]).reshape(-1, 2)
    errors = np.array([claim.stderr for claim in shown])
    inside = points.max(axis=1, initial=0.0) < _FRAME
    low, high = 0.4 * points[inside].min(initial=1.0), 2.5 * points[inside].max(initial=1.0)
    with style():
        figure, axis = canvas(width=5.2, height=4.2)
        axis.plot([low, high], [low, high], color=INK, linewidth=0.8, zorder=1)
        axis.annotate("measured = predicted", (0.98, 0.38), xycoords="axes fraction", ha="right", fontsize=10)
        if not inside.all():
            text = "beyond the frame:\n" + "\n".join(shown[k].id for k in np.flatnonzero(~inside))
            axis.annotate(text, (0.03, 0.97), xycoords="axes fraction", va="top", fontsize=9)
        for method, (label, colour, marker) in _GROUPS.items():
            here = np.array([claim.method == method for claim in shown], dtype=bool)
            label = f"{label} ({here.sum()})"
            marks = axis.scatter(
                *points[here].T, s=49, marker=marker, edgecolors=colour, facecolors="none", linewidths=1.5, label=label
            )
            marks.set_urls([_card(claim) for claim in np.array(shown, dtype=object)[here]])
        failed = points[[claim.verdict == FAILS for claim in shown]]
        if len(failed):
            axis.plot(
                *failed.T,
                "x",
                color=INK,
                markersize=12,
                label=f"fails ({len(failed)} of {sum(c.verdict == FAILS for c in claims)})",
            )
        axis.set(xscale="log", yscale="log", xlabel="predicted by a formula", ylabel="measured independently")
        axis.set(xlim=(low, high), ylim=(low, high))
        axis.legend(loc="lower right")
    columns = {"predicted": points[:, 0], "measured": points[:, 1], "stderr": errors}
    alt = (
        f"Measured against predicted size of {len(shown)} claims on logarithmic axes: every mark lies on the diagonal."
        if not len(failed)
        else f"Measured against predicted size of {len(shown)} claims on logarithmic axes; all but "
        f"{len(failed)} lie on the diagonal."
    )
    return Figure("all_claims", figure, columns, alt, method="trained")


def explorable(drawings: list[str], claims: Iterable[Claim]) -> str:
    """The picture for the front page: each mark says its claim and is reached by arrow keys, one stop in a drawing.

    `book/assets/claims_picture.js` writes what the mark under pointer or focus says below the picture.
    """
    labels = {_card(claim): _label(claim) for claim in claims if claim.verdict != NOT_RUN}

    def link(found: re.Match) -> str:
        label, at = labels[html.unescape(found[1])], found[1].removeprefix(_CARDS)
        return f'<a href="claims.html{at}" tabindex="-1" aria-label="{label}"'

    linked = [re.sub(rf'<a xlink:href="({re.escape(_CARDS)}#[^"]*)"( target="_blank")?', link, svg) for svg in drawings]
    groups = [
        svg.replace('role="img"', 'role="group"', 1).replace('tabindex="-1"', 'tabindex="0"', 1) for svg in linked
    ]
    script = '<script defer src="../_static/claims_picture.js"></script>'
    return f'<div class="icl-all-claims">{"".join(groups)}<p aria-hidden="true"></p></div>{script}'


def _card(claim: Claim) -> str:
    return f"{_CARDS}#claim-{claim.id}"  # drawing escapes it


def _label(claim: Claim) -> str:
    return html.escape(
        f"{claim.id}: predicted {predicted_text(claim)}, measured {measured_text(claim)}, {claim.verdict}"
    )
