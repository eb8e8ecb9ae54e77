"""Numbers in words: means to the first digit of their standard error, distances in percent, large counts."""

import html
import math

from icl.estimates import Estimate

ROUNDING = 1e-7  # below it a distance is arithmetic's, not the model's


def share(distance: Estimate) -> str:
    """A distance in percent, to the first digit of its standard error."""
    if distance.mean < ROUNDING:
        return "rounding"
    return "over 1000 %" if distance.mean > 10 else f"{pair(distance, 100)} %"


def pair(found: Estimate, times: float = 1.0) -> str:
    """A mean with its standard error, to the first digit of the error; four digits where there is none to speak of."""
    mean, error = times * found.mean, times * found.stderr
    if abs(mean) > 1e6:
        return "over a million"
    if not error > 1e-4 * abs(mean):
        return f"{mean:.4g}"
    error = float(f"{error:.1g}")
    digits = -math.floor(math.log10(error))
    return f"{mean:.{max(digits, 0)}f} ± {error:.1g}" if digits < 7 else f"{mean:.1e} ± {error:.0e}"


def many(count: float) -> str:
    """A count to two digits."""
    if count > 1e9:
        return "over a billion"
    return f"{float(f'{count:.2g}'):,.0f}"


def markup(text: str) -> str:
    """A name or sentence as HTML, with its index lowered."""
    return html.escape(text).replace("λ_max", "λ<sub>max</sub>")


def drawn(text: str) -> str:
    """A name as matplotlib writes it, with its index lowered."""
    return text.replace("λ_max²", r"$\lambda_{\mathrm{max}}^2$").replace("λ_max", r"$\lambda_{\mathrm{max}}$")
