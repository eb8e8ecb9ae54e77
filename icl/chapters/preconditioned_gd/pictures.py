"""Chapter 2's pictures."""

import numpy as np

from icl.chapters.preconditioned_gd.experiments import Stability, turned
from icl.chapters.preconditioned_gd.task_laws import Regression
from icl.estimates import Estimate
from icl.figures import COLOURS, INK, Figure, canvas, heat_maps, style
from icl.models.effective import EffectiveParameters
from icl.prompts import PromptLaw
from icl.search import preconditioner
from icl.theory import moments
from icl.theory import preconditioned_gd as theory


def weights(target: np.ndarray, exact: EffectiveParameters, sampled: EffectiveParameters) -> Figure:
    """The preconditioner Gamma: predicted, learned on the exact loss, learned on samples."""
    matrices = {"predicted": target, "exact loss, L-BFGS": preconditioner(exact)}
    matrices["samples, Adam"] = preconditioner(sampled)
    with style():
        figure, _, columns = heat_maps(matrices, height=2.5)
    alt = (
        "Three heat maps of the preconditioner side by side: predicted, learned on the exact loss and learned"
        " on samples. All three show the same pattern of entries."
    )
    return Figure("weights", figure, columns, alt, method="trained")


def eigenvalues(law: PromptLaw, exact: EffectiveParameters) -> Figure:
    """Gamma along H's axes against H's eigenvalues, w ~ N(0, I): shrinkage, beside Newton's and ridge's."""
    h, Q = np.linalg.eigh(law.H)
    learned = np.diag(Q.T @ preconditioner(exact) @ Q)
    n, tau = law.n, moments.tau(law)
    grid = np.geomspace(h[0] / 3, h[-1] * 3, 121)
    newton, ridge, best = 1 / grid, n / (n * grid + law.sigma2), n / ((n + 1) * grid + tau)
    with style():
        figure, axis = canvas(height=3.5)
        axis.plot(grid, newton, color=INK, linewidth=1.0, linestyle=":", label="$1/h$, Newton")
        axis.plot(grid, ridge, color=INK, linewidth=1.2, linestyle="-.", label=r"$n/(nh+\sigma^2)$, the noise alone")
        axis.plot(grid, best, color=COLOURS["preconditioned"], label=r"$n/((n+1)h+\tau)$, predicted")
        axis.plot(h, learned, "o", color=COLOURS["trained_exact"], label="learned, exact loss", zorder=3)
        axis.set(xscale="log", yscale="log", xlabel="eigenvalue $h$ of $H$", ylabel=r"eigenvalue of $\Gamma$")
        axis.legend(loc="upper right", fontsize=9)
    columns = {"h": grid, "newton": newton, "true_noise": ridge, "predicted": best, "h_learned": h, "learned": learned}
    alt = (
        "Eigenvalues of the preconditioner against those of H on logarithmic axes. Newton's line rises as h falls; the"
        " predicted curve bends away from it and levels off; learned eigenvalues lie on the predicted curve."
    )
    return Figure("eigenvalues", figure, columns, alt)


def only_second_moment(target: np.ndarray, found: dict[str, Regression]) -> Figure:
    """Entries of the best preconditioner for three task laws against the predicted entries."""
    predicted = target.ravel()
    markers = {"Gaussian": "o", "sparse": "s", "Rademacher": "^"}
    columns = {"predicted": predicted}
    with style():
        figure, axis = canvas(height=3.5)
        low, high = predicted.min(), predicted.max()
        margin = 0.08 * max(high - low, abs(high))
        axis.plot([low - margin, high + margin], [low - margin, high + margin], color=INK, linewidth=0.8)
        for k, (name, regression) in enumerate(found.items()):
            entries, errors = regression.Gamma.mean.ravel(), regression.Gamma.stderr.ravel()
            shift = (k - 1) * 0.012 * max(high - low, abs(high))
            axis.errorbar(
                predicted + shift, entries, 2 * errors, fmt=markers[name], color=COLOURS["preconditioned"],
                markersize=5, markerfacecolor="none", linewidth=1.2, label=f"{name} tasks",
            )  # fmt: skip
            columns |= {name.lower(): entries, f"{name.lower()}_stderr": errors}
        axis.set(xlabel=r"entry of $\Gamma^\ast$, predicted", ylabel="entry found by regression")
        axis.legend(loc="upper left")
    alt = (
        "Entries of the best preconditioner found by regression against the predicted entries, for Gaussian, sparse and"
        " Rademacher tasks; all points lie on the diagonal within their error bars."
    )
    return Figure("only_second_moment", figure, columns, alt, method="monte-carlo")


def other_lengths(law: PromptLaw, Gamma: np.ndarray, lengths, measured: dict[int, Estimate]) -> Figure:
    """Risk against the context length at test, for training at n, beside retraining at each length."""
    laws = [PromptLaw(int(k), law.H, law.Psi, law.beta_star, law.sigma2) for k in lengths]
    kept = np.array([theory.risk(Gamma, at) for at in laws])
    retrained = np.array([theory.minimal_risk(at) for at in laws])
    at = np.array(sorted(measured))
    means, errors = (np.array([getattr(measured[k], part) for k in at]) for part in ("mean", "stderr"))
    with style():
        figure, axis = canvas(height=3.5)
        axis.plot(lengths, kept, color=COLOURS["preconditioned"], label=f"trained at $n={law.n}$, predicted")
        axis.plot(
            lengths, retrained, color=COLOURS["preconditioned"], linestyle="--", label="retrained at every length"
        )
        axis.errorbar(
            at, means, 2 * errors, fmt="o", color=COLOURS["trained_exact"], label="trained attention, measured"
        )
        axis.axvline(law.n, color=INK, linewidth=0.8, linestyle=":")
        axis.axhline(law.sigma2, color=INK, linewidth=0.8, linestyle=":")
        axis.annotate(
            r"noise $\sigma^2$", (lengths[0], law.sigma2), xytext=(0, 3), textcoords="offset points", fontsize=9
        )
        axis.set(xscale="log", xlabel="context length at test", ylabel="risk")
        axis.set_ylim(0, 1.15 * max(moments.tau(law), means.max()))
        axis.legend(loc="upper right", fontsize=9)
    columns = {"length": np.asarray(lengths, float), "kept": kept, "retrained": retrained}
    columns |= {"measured_at": at.astype(float), "measured": means, "measured_stderr": errors}
    alt = (
        "Risk against the context length at test. The model trained at n improves with longer contexts but levels off;"
        " retrained models go on to the noise level. Measured points lie on the predicted curve."
    )
    return Figure("other_lengths", figure, columns, alt, method="trained")


def transfer(law: PromptLaw, Gamma: np.ndarray, measured: dict[float, Estimate]) -> Figure:
    """Risk of the model trained on H against the angle by which H is turned at test."""
    angles = np.linspace(0, np.pi / 2, 91)
    at = lambda angle: PromptLaw(law.n, turned(law.H, angle), law.Psi, law.beta_star, law.sigma2)
    kept = np.array([theory.risk(Gamma, at(angle)) for angle in angles])
    plain = np.array([theory.plain_gd(at(angle))[1] for angle in angles])
    best = np.array([theory.minimal_risk(at(angle)) for angle in angles])
    where = np.array(sorted(measured))
    means, errors = (np.array([getattr(measured[k], part) for k in where]) for part in ("mean", "stderr"))
    with style():
        figure, axis = canvas(height=3.5)
        axis.plot(np.degrees(angles), kept, color=COLOURS["preconditioned"], label="trained on $H$, predicted")
        axis.plot(
            np.degrees(angles),
            best,
            color=COLOURS["preconditioned"],
            linestyle="--",
            label="retrained on the turned $H$",
        )
        axis.plot(np.degrees(angles), plain, color=COLOURS["gd"], label="plain GD, best step")
        axis.errorbar(
            np.degrees(where), means, 2 * errors, fmt="o", color=COLOURS["trained_exact"],
            label="trained attention, measured",
        )  # fmt: skip
        axis.set(xlabel="angle by which $H$ is turned at test, degrees", ylabel="risk", xlim=(-2, 92))
        axis.set_xticks(range(0, 91, 15))
        axis.axhline(moments.tau(law), color=COLOURS["zero"], linewidth=1.4, label="predict 0")
        axis.set_yscale("log")
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    columns = {"angle": angles, "kept": kept, "retrained": best, "plain_gd": plain}
    columns |= {"measured_at": where, "measured": means, "measured_stderr": errors}
    alt = (
        "Risk against the angle by which the covariance is turned at test: the trained preconditioner's risk rises with"
        " the angle, retraining and plain gradient descent stay level. Measured points lie on the predicted curve."
    )
    return Figure("transfer", figure, columns, alt, method="trained")


def stability(here: Stability, lengths, ratios: list[Estimate], bounds) -> Figure:
    """eta* beside 2 / lambda_max: over prompts, and its mean against the context length."""
    means = np.array([ratio.mean for ratio in ratios])
    errors = np.array([ratio.stderr for ratio in ratios])
    counts, edges = np.histogram(here.ratios, bins=60)
    density = counts / counts.sum() / np.diff(edges)
    with style():
        figure, (left, right) = canvas(1, 2, height=3.2)
        left.stairs(density, edges, fill=True, color=COLOURS["preconditioned"], alpha=0.55)
        left.axvline(1, color=INK, linewidth=1.0, linestyle="--")
        left.set(xlabel=r"$\eta^\ast\lambda_{\max}/2$ of one prompt", yticks=[], xlim=(0, max(1.15, edges[-1])))
        left.spines["left"].set_visible(False)
        left.set_title("over random prompts")
        right.plot(lengths, bounds, color=INK, linewidth=1.0, linestyle=":", label="bound")
        right.errorbar(lengths, means, 2 * errors, fmt="o-", color=COLOURS["preconditioned"], label="measured")
        right.axhline(1, color=INK, linewidth=1.0, linestyle="--")
        right.set(xscale="log", xlabel="context length $n$", ylim=(0, 1.1), title="mean")
        right.legend(loc="lower right")
    columns = {"edge": edges, "density": density, "n": np.asarray(lengths, float), "mean": means}
    columns |= {"mean_stderr": errors, "bound": np.asarray(bounds)}
    alt = (
        "Left: histogram over prompts of the step times half the largest eigenvalue; most lie below 1, where gradient"
        " descent is stable. Right: its mean against context length stays below 1 and below a dotted bound."
    )
    return Figure("stability", figure, columns, alt, method="monte-carlo")
