"""A claim at a glance: where the measurement lies in what is allowed around the prediction, and the verdict.

The unit of every strip is what the claim allows, tolerance and five standard errors, so that all read alike: the
prediction in the middle, the allowed band half-way to either edge, for a bound to the edge on the side that keeps it.
What lies beyond the edge is an arrowhead there.
"""

import html
import math
import re
from collections.abc import Iterable

from icl.claims import NOT_RUN, STANDARD_ERRORS, Claim, allowance, predicted_text, shown_number, verdict_mark
from press.line_breaks import joined

_WIDTH, _HEIGHT, _EDGE = 240, 20, 2.0  # pixels, and what is allowed at the edge
_BEYOND = 1.9  # where an arrowhead stands
CARRIED = '<span class="icl-carried">carried</span>'
_SET = {  # pattern → markup, again and again until nothing changes: exponents in exponents
    r"`([^`]+)`": r"<code>\1</code>",
    r"(?<=\d)e-(?=\d)": "e−",
    r"(?<=[|)⁺])(?=²)": "\N{WORD JOINER}",
    r"(?<![A-Za-z0-9_.])([A-Za-zα-ωΑ-Ω])_([A-Za-z0-9]+)": r"\1<sub>\2</sub>",
    r"\^\(([^()]*)\)": r"<sup>\1</sup>",
    r"\^(½|\w)": r"<sup>\1</sup>",
}
_KEYS = {
    '<path class="tick" d="M12 2V18"/>': "predicted",
    '<path class="error" d="M1 10H23"/><circle class="measured" cx="12" cy="10" r="4.5"/>': "measured ± 5 std. errors",
    '<rect class="allowed" y="4" width="24" height="12"/>': "allowed",
    '<rect class="open" y="4" width="24" height="12"/>': "undecided",
    '<path class="near" d="M8 6 16 14M16 6 8 14"/>': "near miss, the most natural wrong formula",
    '<path class="measured" d="M8 5 17 10 8 15Z"/>': "beyond the edge",
}
LEGEND = "".join(
    f'<span><svg viewBox="0 0 24 20" aria-hidden="true">{shape}</svg> {words}</span> ' for shape, words in _KEYS.items()
)
LEGEND = f'<p class="icl-legend">{LEGEND}<span>{CARRIED} from a long training that the book ships</span></p>'


def strip(claim: Claim) -> str:
    """The drawing, with its words for a screen reader; nothing for a claim that was not run."""
    if claim.verdict == NOT_RUN:
        return ""
    at, error = _place(claim, claim.measured), _share(claim, STANDARD_ERRORS * claim.stderr)
    parts = [_band(claim), f'<path class="tick" d="M{_x(0):g} 2V18"/>']
    if claim.near is not None:
        parts.append(_mark(_place(claim, claim.near), "near"))
    if error and math.isfinite(at):
        parts.append(f'<path class="error" d="M{_x(at - error):.1f} 10H{_x(at + error):.1f}"/>')
    parts.append(_mark(at, "measured"))
    return (
        f'<svg class="icl-band icl-{claim.verdict}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{_words(at)}">{"".join(parts)}</svg>'
    )


def strips(claims: Iterable[Claim], carried: Iterable[str], details) -> str:
    """The claims as lines that unfold: name, strip, what is allowed, verdict; behind it `details(claim)`."""
    return "".join(
        f'<details class="icl-strip"><summary>{code(claim.id)}{_middle(claim)}'
        f"<span>{verdict_mark(claim)} {CARRIED if claim.id in carried else ''}</span></summary>"
        f"{details(claim)}</details>"
        for claim in claims
    )


def code(id: str) -> str:
    """A claim's id, which a narrow column breaks between its parts and not inside a word."""
    return f"<code>{re.sub(r'(?<=[._])(?=[a-z])', '<wbr>', html.escape(id))}</code>"


def said(words: str) -> str:
    """What a claim says, as HTML: subscripts and powers set as such, code as code, minus signs."""
    text = joined(html.escape(words))
    for pattern, markup in _SET.items():
        while (changed := re.sub(pattern, markup, text)) != text:
            text = changed
    return text


def allowed_text(claim: Claim) -> str:
    """What the claim allows, as a number around the prediction or beyond a bound."""
    if not allowance(claim):
        return "no difference" if claim.relation == "equal" else f"{predicted_text(claim)}, no more"
    most = shown_number(allowance(claim), 2)
    sign = {"equal": "±", "at most": "+", "at least": "−"}[claim.relation]
    return f"{predicted_text(claim)} {sign} {most}"


def _middle(claim: Claim) -> str:
    if claim.verdict == NOT_RUN:
        return f'<span class="icl-reason">{said(claim.reason)}</span>'
    return f'{strip(claim)}<span class="icl-allowed">{allowed_text(claim)}</span>'


def _share(claim: Claim, difference: float) -> float:
    """A difference in units of what is allowed; without any allowance the least difference is beyond all."""
    if allowed := allowance(claim):
        return difference / allowed
    return math.copysign(math.inf, difference) if difference else 0.0


def _place(claim: Claim, value: float) -> float:
    return _share(claim, value - claim.predicted)


def _x(place: float) -> float:
    return _WIDTH / 2 * (1 + min(max(place, -_EDGE), _EDGE) / _EDGE)


def _band(claim: Claim) -> str:
    """What is allowed; of a bound, what keeps it and, paler, what leaves it undecided."""
    if claim.relation == "equal":
        return _box("allowed", -1, 1) if allowance(claim) else ""
    kept, away = _share(claim, claim.tolerance), 1.0 if allowance(claim) else 0.0
    side = 1 if claim.relation == "at most" else -1
    return _box("allowed", -side * _EDGE, side * kept) + (_box("open", side * kept, side * away) if kept < away else "")


def _box(name: str, start: float, end: float) -> str:
    left, right = sorted((_x(start), _x(end)))
    return f'<rect class="{name}" x="{left:g}" y="4" width="{right - left:g}" height="12"/>'


def _mark(at: float, name: str) -> str:
    """A mark at its place, or an arrowhead where that is beyond the edge; none for what is no number."""
    if math.isnan(at):
        return ""
    side, x = math.copysign(1, at), _x(min(max(at, -_BEYOND), _BEYOND))
    if abs(at) > _BEYOND:
        return f'<path class="{name} beyond" d="M{x - 4 * side:g} 5 {x + 5 * side:g} 10 {x - 4 * side:g} 15Z"/>'
    if name == "near":
        return f'<path class="near" d="M{x - 4:.1f} 6 {x + 4:.1f} 14M{x + 4:.1f} 6 {x - 4:.1f} 14"/>'
    return f'<circle class="measured" cx="{x:.1f}" cy="10" r="4.5"/>'


def _words(at: float) -> str:
    if math.isnan(at):
        return "the measurement is no number"
    if not math.isfinite(at):
        return "the measurement differs, where no difference is allowed"
    where = "above" if at > 0 else "below"
    return (
        f"measured {shown_number(abs(at), 2)} times what is allowed {where} the prediction" if at else "no difference"
    )
