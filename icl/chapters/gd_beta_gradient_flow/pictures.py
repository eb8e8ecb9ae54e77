"""Chapter 5's pictures of the risk: test length, bounds between GD-β and Bayes, rates."""

import numpy as np

from icl.chapters.gd_beta_gradient_flow.risk_ratios import RATE_LENGTHS, ContextRisks, power_law, snr_ratio
from icl.estimates import Estimate
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.prompts import PromptLaw
from icl.theory import bayes_rates, gd_beta
from icl.theory.bayes_risk import isotropic_bayes_risk


def length_generalisation(law: PromptLaw, measured: dict[int, Estimate]) -> Figure:
    """Risk at other test lengths of GD-β trained at n, beside GD-β trained for each length and the Bayes risk."""
    n, Gamma = law.n, gd_beta.optimal_gamma(law)
    lengths = _lengths(n)
    at = [gd_beta.at_length(law, int(m)) for m in lengths]
    kept = np.array([float(gd_beta.risk(test, law.beta_star, Gamma)) for test in at])
    tuned = np.array([gd_beta.minimal_risk(test) for test in at])
    bayes = np.array([isotropic_bayes_risk(law.d, int(m), law.sigma2) for m in lengths])
    m = np.array(sorted(measured))
    means, errors = (np.array([getattr(measured[k], part) for k in m]) for part in ("mean", "stderr"))
    with style():
        figure, axis = canvas(height=3.5)
        axis.plot(lengths, kept, color=COLOURS["gd"], label=f"GD-β trained at $n={n}$")
        axis.plot(lengths, tuned, color=COLOURS["gd"], linestyle="--", linewidth=1.4, label="GD-β trained for each")
        axis.plot(lengths, bayes, color=COLOURS["bayes"], label="ridge (Bayes)")
        axis.errorbar(m, means, 2 * errors, fmt="o", color=COLOURS["trained_sampled"], label="random prompts", zorder=4)
        axis.axvline(n, color=INK, linewidth=0.8, linestyle=":")
        axis.set(xscale="log", yscale="log", xlabel="context length at test", ylabel="risk", xlim=(1, lengths[-1]))
        if not (bayes > 0).all():  # no noise: the Bayes risk reaches 0
            axis.set_yscale("linear")
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    columns = {"length": lengths, "trained_at_n": kept, "trained_for_each": tuned, "bayes": bayes}
    columns |= {"measured_at": m, "measured": means, "measured_stderr": errors}
    alt = (
        "Risk against the context length at test. The curve of the model trained at n falls with length but levels off;"
        " retrained for each length it keeps falling, and ridge regression lies below both."
    )
    return Figure("length_generalisation", figure, columns, alt, method="monte-carlo")


def sandwich(law: PromptLaw, measured: dict[int, ContextRisks]) -> Figure:
    """Excess of GD-β and Bayes between the bounds of Corollary 6.2; the error of the deterministic equivalent."""
    d, sigma2, phi = law.d, law.sigma2, np.ones(law.d)
    lengths = _lengths(law.n)
    bounds = [bayes_rates.sandwich(phi, int(m), sigma2) for m in lengths]
    lower, step, upper = map(np.array, zip(*bounds, strict=True))
    bayes = np.array([isotropic_bayes_risk(d, int(m), sigma2) for m in lengths])
    equivalent = np.array([bayes_rates.deterministic_equivalent(phi, int(m), sigma2) for m in lengths])
    upper = np.where(np.isfinite(upper), upper, np.nan)
    at = np.array(sorted(measured))
    points = {
        key: np.array([[getattr(measured[k], key).mean, getattr(measured[k], key).stderr] for k in at])
        for key in ("gd_beta", "bayes")
    }
    with style():
        figure, (left, right) = canvas(1, 2, height=3.5, width_ratios=[1.6, 1])
        left.fill_between(lengths, lower, upper, color=INK, alpha=0.08, linewidth=0)
        left.plot(lengths, upper, color=INK, linewidth=0.9, linestyle="--")
        left.plot(lengths, lower, color=INK, linewidth=0.9, linestyle="--", label="bounds")
        left.plot(lengths, step, color=COLOURS["gd"], label="GD-β")
        left.plot(lengths, bayes - sigma2, color=COLOURS["bayes"], label="Bayes")
        for key, colour in (("gd_beta", "gd"), ("bayes", "bayes")):
            left.errorbar(at, points[key][:, 0], 2 * points[key][:, 1], fmt="o", color=COLOURS[colour], markersize=5)
        left.set(xscale="log", xlabel="context length $n$", ylabel="excess over $\\sigma^2$")
        if sigma2 > 0:
            left.set_yscale("log")
        left.legend(loc="lower left")
        error = 100 * (equivalent / np.where(bayes > 0, bayes, np.nan) - 1)
        right.set(xscale="log", xlim=lengths[[0, -1]], xlabel="context length $n$", title="deterministic equivalent")
        right.plot(lengths, error, color=COLOURS["bayes"])
        right.axhline(0, color=INK, linewidth=0.8, linestyle=":")
        right.set_ylabel("error of the risk, %")
    columns = {"n": lengths, "lower": lower, "gd_beta": step, "upper": upper, "bayes": bayes - sigma2}
    columns |= {"equivalent": equivalent - sigma2, "measured_at": at}
    columns |= {f"{key}_measured": values[:, 0] for key, values in points.items()}
    columns |= {f"{key}_stderr": values[:, 1] for key, values in points.items()}
    alt = (
        "Left: excess risk of GD-β and of the Bayes predictor against context length, between two dashed bounds, with"
        " measured points on both curves. Right: the error of the deterministic equivalent in per cent of the risk."
    )
    return Figure("sandwich", figure, columns, alt, method="monte-carlo")


def rates(power: list[ContextRisks], ratio: Estimate) -> Figure:
    """Left: excess under the power law against n. Right: risk of GD-β over Bayes against the noise, at d = n = 8."""
    lengths = np.unique(np.geomspace(RATE_LENGTHS[0], RATE_LENGTHS[-1], 25).round().astype(int))
    laws = [power_law(int(n)) for n in lengths]
    phi = gd_beta.spectrum(laws[0])
    exact = np.array([gd_beta.minimal_risk(law) - law.sigma2 for law in laws])
    shape = np.array([bayes_rates.rate(phi, (phi.sum() + 1) / (n + 1)) for n in lengths])
    noise = np.geomspace(1e-3, 100, 41)
    ratios = np.array([snr_ratio(float(s)) for s in noise])
    points = {
        key: np.array([[getattr(found, key).mean, getattr(found, key).stderr] for found in power])
        for key in ("gd_beta", "bayes")
    }
    with style():
        figure, (left, right) = canvas(1, 2, height=3.3)
        left.fill_between(lengths, shape / 2, 2 * shape, color=INK, alpha=0.08, linewidth=0)
        left.plot(lengths, exact, color=COLOURS["gd"], label="GD-β")
        left.plot(lengths, exact[0] * np.sqrt(lengths[0] / lengths), color=INK, linestyle=":", linewidth=1.2)
        for key, colour in (("gd_beta", "gd"), ("bayes", "bayes")):
            label = "Bayes" if key == "bayes" else None
            left.errorbar(
                RATE_LENGTHS, points[key][:, 0], 2 * points[key][:, 1], fmt="o", color=COLOURS[colour], label=label
            )
        left.set(xscale="log", yscale="log", xlabel="context length $n$", ylabel=r"excess, $\varphi_i = i^{-2}$")
        left.legend(loc="lower left")
        right.plot(noise, ratios, color=COLOURS["gd"])
        right.errorbar([0.01], [ratio.mean], [2 * ratio.stderr], fmt="o", color=COLOURS["trained_sampled"])
        right.axvline(8, color=INK, linewidth=0.8, linestyle=":")
        right.annotate(
            r"$\mathrm{tr}(H\Psi)$", (8, ratios.max()), xytext=(3, -4), textcoords="offset points", fontsize=9
        )
        right.axhline(1, color=INK, linewidth=0.8, linestyle=":")
        right.set(xscale="log", xlabel=r"noise $\sigma^2$", ylabel="risk: GD-β / Bayes", ylim=(0, None))
    columns = {"n": lengths, "gd_beta": exact, "sum_min": shape, "n_measured": RATE_LENGTHS}
    columns |= {f"{key}_measured": values[:, 0] for key, values in points.items()}
    columns |= {f"{key}_stderr": values[:, 1] for key, values in points.items()}
    columns |= {"sigma2": noise, "ratio": ratios, "ratio_measured": [ratio.mean], "ratio_stderr": [ratio.stderr]}
    alt = (
        "Left: on doubly logarithmic axes the excess risks under a power law fall along a line of slope minus one half,"
        " inside the grey band of the bounds. Right: the ratio of GD-β's risk to the Bayes risk is near 1 for strong"
        " noise and grows steeply as the noise falls."
    )
    return Figure("rates", figure, columns, alt, method="monte-carlo")


def _lengths(n: int) -> np.ndarray:
    return np.unique(np.r_[np.geomspace(1, max(200, 4 * n), 33).round().astype(int), n])
