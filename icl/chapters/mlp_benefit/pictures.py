"""Chapter 4's pictures."""

import numpy as np

from icl.chapters.mlp_benefit.experiments import Trainings
from icl.chapters.mlp_benefit.false_valleys import TRAP, stuck_rate
from icl.chapters.mlp_benefit.gpt_sweep import RATES, Sweep
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.search import Restarts
from icl.theory import bayes_risk
from icl.theory import mlp_benefit as theory

SHADES = (0.6, 0.8, 1.0)


def lengths_shown(n: int) -> list[int]:
    """Three context lengths around n."""
    return sorted({max(1, n // 4), n, 4 * n})


def gap(parameters: Parameters, measured: np.ndarray) -> Figure:
    """gap · (n+1)/|beta*|² against |beta*| and against n, with its bounds; `measured` rows are (|beta*|, n, value)."""
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    sizes = np.geomspace(0.1, 1000, 81)
    ns = np.unique(np.geomspace(1, max(1000, 8 * n), 41).round().astype(int))
    columns, by_n = {"beta_norm": sizes}, (0.1, 3.0, 100.0)
    look = lambda shade: dict(color=COLOURS["attention_only"], alpha=shade, linewidth=2.2 * shade)
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6, sharey=True)
        for shade, m in zip(SHADES, lengths_shown(n), strict=False):
            attention, step = scaled_gap(d, m, sigma2, sizes), scaled_upper_bound(d, m, sigma2, sizes)
            left.plot(sizes, attention, label=f"$n={m}$", **look(shade))
            left.plot(sizes, step, color=COLOURS["gd"], alpha=shade, linewidth=1.2, linestyle="--")
            columns |= {f"gap_n{m}": attention, f"upper_n{m}": step}
        columns["n"] = ns
        for shade, size in zip(SHADES, by_n, strict=True):
            curve = np.array([scaled_gap(d, int(m), sigma2, size) for m in ns])
            right.plot(ns, curve, label=f"$\\|\\beta^*\\|={size:g}$", **look(shade))
            columns[f"gap_beta{size:g}"] = curve
        left.plot(measured[:, 0], measured[:, 2], "o", color=COLOURS["trained_exact"], zorder=4, label="L-BFGS")
        for axis in (left, right):
            axis.axhline(1, color=INK, linewidth=1.0, linestyle=":")
            axis.set(xscale="log", ylim=(0, None))
            axis.legend(fontsize=9, loc="best")
        left.set(xlabel=r"size of the mean task $\|\beta^*\|$", ylabel=r"gap $\cdot\,(n+1)/\|\beta^*\|^2$")
        right.set(xlabel="context length $n$")
        right.annotate("lower bound", (ns[0], 1), xytext=(2, -11), textcoords="offset points", fontsize=9)
    columns |= {"measured_beta_norm": measured[:, 0], "measured_n": measured[:, 1], "measured": measured[:, 2]}
    alt = (
        "Two panels with the gap in units of its lower bound. Left, against the size of the mean task: flat, then"
        " falling to a lower plateau, above a dotted line at 1 and below dashed curves of one step from 0, which join"
        " it for large means. Right, against the context length: the curves rise and level off, lower for a large mean."
    )
    return Figure("gap", figure, columns, alt)


def scaled_gap(d: int, n: int, sigma2: float, size):
    """gap · (n+1) / size², exact, H = Psi = I."""
    block = theory.ltb_minimal_risk(PromptLaw.isotropic(d, n, sigma2))
    return (theory.isotropic_lsa_risk(d, n, sigma2, size) - block) * (n + 1) / np.square(size)


def scaled_upper_bound(d: int, n: int, sigma2: float, sizes) -> np.ndarray:
    """The same for one gradient step from 0."""
    laws = [PromptLaw.isotropic(d, n, sigma2, np.full(d, size / np.sqrt(d))) for size in sizes]
    return np.array([theory.upper_bound(law) / theory.lower_bound(law) for law in laws])


def training_curves(law: PromptLaw, attention: Trainings, block: Trainings) -> Figure:
    """Loss against step of both architectures, on samples and on the exact loss, with the two floors."""
    floors = theory.lsa_minimum(law).risk, theory.ltb_minimal_risk(law)
    steps = np.arange(1, len(attention.exact.curve) + 1)
    kept = np.unique(np.geomspace(1, len(steps), 160).round().astype(int)) - 1
    columns = {"step": steps[kept]}
    with style():
        figure, axis = canvas(height=3.6)
        named = {"attention_only": ("without MLP", attention), "block": ("with MLP", block)}
        for (key, (label, runs)), floor in zip(named.items(), floors, strict=True):
            for k, run in enumerate(runs.sampled):
                axis.plot(steps[kept], run.curve[kept], color=COLOURS[key], linewidth=0.8, alpha=0.7)
                columns[f"{key}_sampled_{k}"] = run.curve[kept]
            axis.plot(steps[kept], runs.exact.curve[kept], color=COLOURS[key], label=label)
            columns[f"{key}_exact"] = runs.exact.curve[kept]
            axis.axhline(floor, color=COLOURS[key], linestyle="--", linewidth=1.3)
        axis.set(xscale="log", yscale="log", xlabel="step", ylabel="loss", xlim=(1, len(steps)))
        _plain_ticks(axis, *axis.get_ylim())
        axis.legend()
    alt = (
        "Loss against training step for attention with and without the MLP. Each falls onto its own dashed floor, the"
        " floor with the MLP lying lower; thin jittering curves on samples follow the smooth ones on the exact loss."
    )
    return Figure("training_curves", figure, columns, alt, method="trained")


def gpt_sweep(sweep: Sweep) -> Figure:
    """Every GPT of the sweep: test risk against learning rate, zero task mean and not, with and without the MLP."""
    rates, seeds = np.array(RATES), sweep.risks.shape[-1]
    titles = ("task mean 0", r"task mean of size $\|\beta^*\|$")
    columns, floors = {}, np.empty((2, 3))
    with style():
        figure, axes = canvas(1, 2, height=3.7, sharey=True)
        for i, (axis, law) in enumerate(zip(axes, sweep.laws, strict=True)):
            for j, (key, label) in enumerate((("block", "GPT with MLP"), ("attention_only", "GPT without"))):
                risks = sweep.risks[i, j]
                spread = rates[:, None] * (0.95 if j == 0 else 1.05) * np.ones(seeds)
                axis.plot(spread.ravel(), risks.ravel(), "o", color=COLOURS[key], alpha=0.7, markersize=5.5)
                axis.plot(rates, np.exp(np.log(risks).mean(-1)), color=COLOURS[key], label=label)
                columns |= {f"{('zero', 'mean')[i]}_{key}_{r:g}": row for r, row in zip(rates, risks, strict=True)}
            floors[i] = theory.lsa_minimum(law).risk, theory.ltb_minimal_risk(law), _bayes(law)
            for value, key in zip(floors[i], ("attention_only", "block", "bayes"), strict=True):
                axis.axhline(value, color=COLOURS[key], linestyle="--", linewidth=1.1)
            axis.set(xscale="log", yscale="log", xlabel="peak rate of Muon", title=titles[i])
            axis.set_xticks(rates, [f"{rate:g}" for rate in rates])
            axis.minorticks_off()
        _plain_ticks(axes[0], *axes[0].get_ylim())
        axes[0].set(ylabel="test risk")
        for value, name in zip(floors[1], ("linear attention", "linear block", "Bayes"), strict=True):
            axes[1].annotate(
                name, (1, value), xycoords=axes[1].get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=9,
            )  # fmt: skip
        axes[1].legend(fontsize=9, loc="upper right", bbox_to_anchor=(1, 0.9))
    columns |= {"floor_lsa": floors[:, 0], "floor_ltb": floors[:, 1], "floor_bayes": floors[:, 2]}
    alt = (
        "Test risk of small GPTs against Muon's rate, for task mean zero and not; dots are seeds, lines their means,"
        " dashed lines the least risks of linear attention, of the linear block and of the Bayes predictor. The"
        " distance between the models with and without the MLP changes with the rate."
    )
    return Figure("gpt_sweep", figure, columns, alt, method="trained")


def _plain_ticks(axis, low: float, high: float) -> None:
    """Ticks 1, 2, 5, 10, … on a logarithmic y axis from low to high, or 1, 10, … where that would be too many."""
    digits = (1, 2, 5) if high < 1e3 * low else (1,)
    ticks = [digit * 10.0**k for k in range(-9, 10) for digit in digits]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def _bayes(law: PromptLaw) -> float:
    return bayes_risk.isotropic_bayes_risk(law.d, law.n, law.sigma2)


def landscape(ends: dict[float, Restarts]) -> Figure:
    """Left: the block's profile on the circle of its false valley. Right: where random starts end."""
    valleys = theory.ltb_valleys(TRAP)
    best, false = valleys[0], valleys[-1]
    angles = np.linspace(0, np.pi / 2, 181)
    curve = theory.Profile(TRAP, block=True)(np.multiply.outer(np.sin(angles), false.axis), np.cos(angles))
    scales = np.array(list(ends))
    global_rate, false_rate = ([stuck_rate(found, valley.risk) for found in ends.values()] for valley in (best, false))
    with style():
        figure, (left, right) = canvas(1, 2, height=3.3, width_ratios=[1.3, 1])
        left.plot(angles, curve, color=INK)
        left.plot(0, best.risk, "*", color=COLOURS["gd"], markersize=14, clip_on=False, zorder=4)
        left.plot(false.angle, false.risk, "o", color=COLOURS["zero"], markersize=8, zorder=4)
        left.annotate("GD-β", (0, best.risk), xytext=(9, 9), textcoords="offset points", fontsize=9)
        left.annotate(
            "false valley",
            (false.angle, false.risk),
            xytext=(0, -12),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=9,
        )
        left.set(xlabel=r"angle $\varphi$", ylabel="least risk at that angle", xlim=(0, np.pi / 2))
        left.set_xticks([0, np.pi / 4, np.pi / 2], ["0", "π/4", "π/2"])
        for rates, key, label in ((global_rate, "gd", "global minimum"), (false_rate, "zero", "false valley")):
            shares, errors = (np.array([getattr(rate, part) for rate in rates]) for part in ("mean", "stderr"))
            right.errorbar(scales, shares, errors, fmt="o-", color=COLOURS[key], label=label, capsize=3)
        right.set(xscale="log", xlabel="scale of the first weights", ylabel="share of starts", ylim=(0, 1))
        right.set_xticks(scales, [f"{scale:g}" for scale in scales])
        right.minorticks_off()
        right.legend(fontsize=9)
    columns = {"angle": angles, "profile": curve, "scale": scales}
    for name, rates in (("global", global_rate), ("false", false_rate)):
        columns |= {f"{name}_share": np.array([rate.mean for rate in rates])}
        columns |= {f"{name}_stderr": np.array([rate.stderr for rate in rates])}
    alt = (
        "Left: the block's least risk against an angle has its global minimum at 0 and a shallow valley near a right"
        " angle. Right: for three scales of the first weights, the shares of starts that end in each, with error bars."
    )
    return Figure("landscape", figure, columns, alt)
