"""Chapter 2's pictures."""

import numpy as np
from matplotlib.colors import TwoSlopeNorm

from icl.chapters.preconditioned_gd.experiments import Stability, turned
from icl.chapters.preconditioned_gd.task_laws import Regression
from icl.estimates import Estimate
from icl.figures import COLOURS, INK, SIGNED, Figure, canvas, style
from icl.prompts import PromptLaw, symmetric_root
from icl.theory import moments
from icl.theory import preconditioned_gd as theory


def one_prompt(H: np.ndarray, w: np.ndarray, steps: dict[str, np.ndarray], tips: dict[str, np.ndarray]) -> Figure:
    """Contours of the loss (b − w)'H(b − w) around the task w (2,), the `steps` "gd" and "preconditioned" (2,) from 0.

    Once as the data come, once whitened; `tips`, (B, 2), are the ends of the same two steps on other prompts.
    """
    views = {"tasks": np.eye(2), r"tasks, whitened: $H^{1/2} w$": symmetric_root(H)}
    labels = {"gd": "plain", "preconditioned": "preconditioned"}
    turn, columns = np.linspace(0, 2 * np.pi, 181), {}
    rounds = np.linalg.solve(symmetric_root(H), [np.cos(turn), np.sin(turn)])  # one unit of loss around w
    radius = np.sqrt(w @ H @ w)  # of the contour through 0
    with style():
        figure, axes = canvas(1, 2, height=3.9, sharey=True, width_ratios=[1, 1.7])
        for axis, (title, root), tag in zip(axes, views.items(), ("", "_whitened"), strict=True):
            centre = root @ w
            for size in (0.4, 0.7, 1.0):
                axis.plot(*(centre[:, None] + size * radius * root @ rounds), color=INK, linewidth=0.8, alpha=0.45)
            for kind, step in steps.items():
                end = root @ step
                axis.plot(*(tips[kind] @ root).T, ".", color=COLOURS[kind], markersize=2.5, alpha=0.6, zorder=1)
                arrow = dict(arrowstyle="-|>", color=COLOURS[kind], linewidth=2, shrinkA=0, shrinkB=0)
                axis.annotate("", end, (0, 0), arrowprops=arrow)
                columns |= {f"{kind}_step{tag}": end}
            axis.plot(*centre, "*", color=INK, markersize=10)
            axis.annotate("$w$", centre, xytext=(7, -4), textcoords="offset points")
            axis.plot(0, 0, "o", color=INK, markersize=3.5)
            reach = 1.08 * radius * np.abs(root @ rounds).max(1) + 0.1
            axis.set(title=title, aspect="equal", xlim=centre[0] + reach[0] * np.array([-1, 1]))
            axis.set(ylim=centre[1] + reach[1] * np.array([-1, 1]))
            columns |= {f"task{tag}": centre}
        for kind in steps:
            axes[0].plot([], [], color=COLOURS[kind], label=f"{labels[kind]} step")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9.5)
    columns |= {f"{kind}_end_{k + 1}": tips[kind][:, k] for kind in steps for k in (0, 1)}
    alt = (
        "Two panels of task space with contours of the loss around the task, ellipses on the left, circles on the right"
        " after whitening. From 0 the plain step leaves along the strong direction; the preconditioned step points"
        " straight at the task. Small dots, the ends of both steps on other prompts, scatter around the arrows' heads."
    )
    return Figure("one_prompt", figure, columns, alt, method="monte-carlo")


def weights(H: np.ndarray, scale: float, exact: np.ndarray, sampled: np.ndarray) -> Figure:
    """H, the learned Gamma and their product over `scale` = n eta*, I where Gamma is the inverse; all (d, d)."""
    shown = {"$H$": H, r"$\Gamma$, learned on samples": sampled, r"$H\,\Gamma\,/\,n\eta^*$": H @ sampled / scale}
    with style():
        figure, axes = canvas(1, 3, height=2.6)
        for axis, (name, matrix) in zip(axes, shown.items(), strict=True):
            top = np.abs(matrix).max()
            axis.pcolormesh(matrix, cmap=SIGNED, norm=TwoSlopeNorm(0, -1.4 * top, 1.4 * top), edgecolors="none")
            axis.set(title=name, xticks=[], yticks=[], aspect="equal")
            axis.invert_yaxis()
            axis.spines[:].set_visible(False)
            for (i, j), entry in np.ndenumerate(matrix if len(matrix) <= 6 else np.empty((0, 0))):
                text = f"{entry:.2f}".replace("-", "−").replace("−0.00", "0.00")
                axis.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7.5)
    columns = {"H": H, "exact_loss": exact, "samples": sampled, "product": H @ sampled / scale}
    alt = (
        "Three matrices with their entries: the covariance H, the preconditioner learned on samples, and their product,"
        " which is close to the identity matrix: ones on the diagonal, zeros elsewhere."
    )
    return Figure("weights", figure, {name: matrix.ravel() for name, matrix in columns.items()}, alt, method="trained")


def eigenvalues(law: PromptLaw, Gamma: np.ndarray) -> Figure:
    """The learned Gamma (d, d) along H's axes against H's eigenvalues, w ~ N(0, I), beside Newton's and ridge's."""
    h, Q = np.linalg.eigh(law.H)
    learned = np.diag(Q.T @ Gamma @ Q)
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
        axis.errorbar(at, means, 2 * errors, fmt="o", color=COLOURS["trained_exact"], label="trained matrix, measured")
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
            label="trained matrix, measured",
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
