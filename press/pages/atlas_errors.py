"""Whether the error bars of the atlas are honest: its Monte Carlo errors together, and claim by claim."""

import math

import numpy as np
from scipy.stats import kstest, norm

from icl.chapters import CHAPTERS, catalogue
from icl.figures import COLOURS, INK, Figure, canvas, style
from press.atlas.kept import ERRORS, Atlas
from press.atlas.table import Line, decided

_DIGITS = 1e-9  # of a number, more than the tables' ten digits lose
UNKNOWN = "Not explained yet."  # of what has no reason
_FEWEST, _ASTRAY = 50, 4  # errors of one claim that are looked at, and standard errors by which they may be off


def sampled(atlas: Atlas) -> list[tuple[str, str, int, float]]:
    """(chapter, claim, point, error in standard errors) of every Monte Carlo equality that its error alone decides."""
    found = []
    for chapter, lines in atlas.lines.items():
        known = catalogue(chapter)
        for line in decided(lines):
            equal = line.stderr > 0 and known[line.claim]["relation"] == "equal"
            if equal and math.isfinite(line.measured) and _free(line, known[line.claim]):
                found.append((chapter, line.claim, line.point, (line.measured - line.predicted) / line.stderr))
    return found


def errors(atlas: Atlas) -> tuple[Figure, str]:
    """Normalised errors of Monte Carlo equalities beside the normal law, and the sentence that says how they fit."""
    found = sampled(atlas)
    every = np.array([z for *_, z in found])
    named = {claim for claim, z in _by_claim(found).items() if _off(z)}
    edges = np.linspace(-5, 5, 41)
    counts = np.histogram(np.clip(every, -4.999, 4.999), edges)[0]
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    density = counts / max(len(every), 1) / width
    with style():
        figure, axis = canvas(height=3.0)
        axis.bar(middle, density, width=0.9 * width, color=COLOURS["bayes"], label="measured")
        axis.plot(middle, norm.pdf(middle), color=INK, label="normal law")
        axis.set(xlabel="(measured − predicted) / standard error; the last bars hold all beyond", ylabel="density")
        axis.legend()
    beyond = {k: 100 * float((abs(every) > k).mean()) if len(every) else 0.0 for k in (2, 3, 5)}
    said = (
        f"{len(every):,} Monte Carlo measurements of equalities, in their standard errors. Beyond 2, 3 and 5 lie "
        f"{beyond[2]:.2f} %, {beyond[3]:.2f} % and {beyond[5]:.3f} %; the normal law has 4.55 %, 0.27 % and 0.00006 %."
    )
    rest = [one for one in found if one[:2] not in named]
    if found:
        said += " Claims of a point share prompts. "
        said += f"Of one a point the Kolmogorov–Smirnov distance to the normal law is {_normality(found)}"
        said += f", and {_normality(rest)} without the claims that are named below." if named and rest else "."
    columns = {"middle": middle, "density": density, "normal": norm.pdf(middle)}
    alt = "Histogram of normalised Monte Carlo errors beside the density of the normal law."
    return Figure("atlas_errors", figure, columns, alt, method="monte-carlo"), said


def astray(atlas: Atlas) -> str:
    """The claims whose errors together do not have mean 0 or mean square 1, a row each, and why."""
    many = _by_claim(sampled(atlas))
    rows = ["| chapter | claim | errors | mean | mean square | because |", "|---|---|--:|--:|--:|---|"]
    for (chapter, claim), z in many.items():
        if _off(z):
            why = atlas.reasons.get(claim + ERRORS, UNKNOWN)
            shown = f"{z.mean():.2f} | {(z**2).mean():.2f}".replace("-", "−")
            rows.append(f"| {CHAPTERS[chapter].number} | `{claim}` | {len(z)} | {shown} | {why} |")
    said = (
        "A bias that no single problem shows would show here. "
        f"Of the {len(many)} claims that have {_FEWEST} such errors or more, {len(rows) - 2} have a mean off 0, or a "
        f"mean square off 1, by more than {_ASTRAY} standard errors."
    )
    return "\n".join([said, "", *(rows if len(rows) > 2 else []), ""])


def _by_claim(found: list[tuple[str, str, int, float]]) -> dict[tuple[str, str], np.ndarray]:
    """(chapter, claim) → its errors, where there are enough of them."""
    of_claim: dict[tuple[str, str], list[float]] = {}
    for chapter, claim, _, z in found:
        of_claim.setdefault((chapter, claim), []).append(z)
    return {claim: np.array(z) for claim, z in of_claim.items() if len(z) >= _FEWEST}


def _off(z: np.ndarray) -> bool:
    """Whether errors, (K,), are not those of a normal law as far as mean and mean square tell."""
    return max(abs(z.mean()) * np.sqrt(len(z)), abs((z**2).mean() - 1) * np.sqrt(len(z) / 2)) > _ASTRAY


def _normality(found: list[tuple[str, str, int, float]]) -> str:
    """Kolmogorov's and Smirnov's distance, of one claim of each point: claims of a point share prompts."""
    of_point: dict[tuple[str, int], list[float]] = {}
    for chapter, _, point, z in found:
        of_point.setdefault((chapter, point), []).append(z)
    test = kstest([some[point % len(some)] for (_, point), some in of_point.items()], "norm")
    return f"{test.statistic:.3f} ({len(of_point):,} points, p = {test.pvalue:.2g})"


def _free(line: Line, entry: dict) -> bool:
    """Whether the tolerance is small beside the standard error, so that the error alone decides."""
    return entry["atol"] + (entry["rtol"] + _DIGITS) * abs(line.predicted) <= 0.1 * line.stderr
