"""Chapter 4's pictures."""

import numpy as np

from icl.chapters.mlp_benefit.experiments import Trainings
from icl.chapters.mlp_benefit.false_valleys import TRAP, stuck_rate
from icl.chapters.mlp_benefit.gpt_sweep import Sweep
from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.search import Restarts
from icl.theory import bayes_risk
from icl.theory import mlp_benefit as theory

SHADES = (0.45, 0.7, 1.0)


def lengths_shown(n: int) -> list[int]:
    """Three context lengths around n."""
    return sorted({max(1, n // 4), n, 4 * n})


def gap(parameters: Parameters, measured: np.ndarray) -> Figure:
    """gap · (n+1)/|beta*|² against |beta*| and against n, with its bounds; `measured` rows are (|beta*|, n, value)."""
    d, n, sigma2 = parameters.d, parameters.n, parameters.sigma2
    sizes = np.geomspace(0.1, 1000, 81)
    ns = np.unique(np.geomspace(1, max(1000, 8 * n), 41).round().astype(int))
    columns, by_n = {"beta_norm": sizes}, (0.1, 3.0, 100.0)
    with style():
        figure, (left, right) = canvas(1, 2, height=3.6, sharey=True)
        for shade, m in zip(SHADES, lengths_shown(n), strict=False):
            attention, step = scaled_gap(d, m, sigma2, sizes), scaled_upper_bound(d, m, sigma2, sizes)
            left.plot(sizes, attention, color=COLOURS["attention_only"], alpha=shade, label=f"$n={m}$")
            left.plot(sizes, step, color=COLOURS["gd"], alpha=shade, linewidth=1.2, linestyle="--")
            columns |= {f"gap_n{m}": attention, f"upper_n{m}": step}
        columns["n"] = ns
        for shade, size in zip(SHADES, by_n, strict=True):
            curve = np.array([scaled_gap(d, int(m), sigma2, size) for m in ns])
            right.plot(ns, curve, color=COLOURS["attention_only"], alpha=shade, label=f"$\\|\\beta^*\\|={size:g}$")
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
                axis.plot(steps[kept], run.curve[kept], color=COLOURS[key], linewidth=0.8, alpha=0.45)
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
    rates, seeds = sweep.learning_rates, sweep.risks.shape[-1]
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
                # a column a rate: the large ones are chaotic, and may hide nothing that the small ones do
                columns |= {f"{('zero', 'mean')[i]}_{key}_{r:g}": row for r, row in zip(rates, risks, strict=True)}
            floors[i] = theory.lsa_minimum(law).risk, theory.ltb_minimal_risk(law), _bayes(law)
            for value, key in zip(floors[i], ("attention_only", "block", "bayes"), strict=True):
                if value > 0:  # without noise the Bayes risk is 0, which no logarithmic axis has
                    axis.axhline(value, color=COLOURS[key], linestyle="--", linewidth=1.1)
            axis.set(xscale="log", yscale="log", xlabel="peak learning rate", title=titles[i])
            axis.set_xticks(rates, [f"{rate:g}" for rate in rates])
            axis.minorticks_off()
        _plain_ticks(axes[0], *axes[0].get_ylim())
        axes[0].set(ylabel="test risk")
        for value, name in zip(floors[1], ("linear attention", "linear block", "Bayes"), strict=True):
            at, text = ((1, value), name) if value > 0 else ((1, axes[1].get_ylim()[0]), f"{name}: 0")
            axes[1].annotate(
                text, at, xycoords=axes[1].get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=9,
            )  # fmt: skip
        axes[1].legend(fontsize=9, loc="lower left", bbox_to_anchor=(0, 0.12))
    columns |= {"floor_lsa": floors[:, 0], "floor_ltb": floors[:, 1], "floor_bayes": floors[:, 2]}
    alt = (
        "Test risk of small GPTs against learning rate, for task mean zero and not; dots are seeds, lines their means,"
        " dashed lines the least risks of linear attention, of the linear block and of the Bayes predictor. The"
        " distance between the models with and without the MLP changes with the learning rate."
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


def attention_and_block(X: np.ndarray, y: np.ndarray, x: np.ndarray, beta: np.ndarray) -> Figure:
    """One prompt through attention alone and through the block that is GD-β from `beta` with Gamma = I, in numbers."""
    n, scores = len(X), X @ x
    starts = {"attention_only": 0 * beta, "block": beta}
    values = {key: y - X @ start for key, start in starts.items()}
    with style():
        figure, axes = canvas(1, 2, height=3.5)
        for axis, (key, start) in zip(axes, starts.items(), strict=True):
            axis.set(xlim=(-0.6, n + 0.6), ylim=(-0.6, 3.3), xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
            axis.set_title("attention" if key == "attention_only" else "attention, then the MLP")
            sum_at, answer_at = ((n - 1) / 2, 1.75), (n, 3.0)
            for i in range(n):
                _box(axis, (i, 0), f"{_column(X[i])}; {y[i]:g}")
                _arrow(axis, (i, 0.2), (sum_at[0] + (i - sum_at[0]) * 0.5, 1.53), COLOURS[key])
                product = f"{_times(values[key][i])} · {_times(scores[i])}"
                axis.text(i, -0.42, product, ha="center", va="center", fontsize=9.5, color=COLOURS[key])
            _box(axis, (n, 0), f"{_column(x)}; 0")
            total = values[key] @ scores / n
            _box(axis, sum_at, f"sum / {n} = {total:g}", COLOURS[key])
            own = start @ x
            _arrow(axis, (sum_at[0] + 0.55, 1.97), (answer_at[0] - 0.2, 2.72), COLOURS[key])
            _arrow(axis, (n, 0.2), (n, 2.75), COLOURS[key], dashed=not own)
            axis.text(n + 0.1, 1.5, f"{own:g}", fontsize=9.5, color=COLOURS[key], va="center")
            _box(axis, answer_at, f"{total + own:g}", COLOURS[key])
            axis.text(n - 0.22, 3.0, "answer", fontsize=9.5, ha="right", va="center")
    columns = {"score": scores} | {f"value_{key}": value for key, value in values.items()}
    columns |= {"answers": np.array([values[key] @ scores / n + start @ x for key, start in starts.items()])}
    alt = (
        "Two diagrams of one prompt. In both, each example sends its value times its score into a sum, which goes to the"
        " answer at the query. With attention alone nothing else arrives there; in the block the query's own covariates"
        " go there too, through w1, and the values are residuals."
    )
    return Figure("attention_and_block", figure, columns, alt)


def _times(value: float) -> str:
    return f"{value:g}" if value >= 0 else f"(−{-value:g})"


def _column(x: np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in x).replace("-", "−")


def _box(axis, at, text: str, colour: str = INK) -> None:
    box = dict(boxstyle="round,pad=0.35", facecolor="none", edgecolor=colour, linewidth=1.3)
    axis.text(*at, text, ha="center", va="center", fontsize=9.5, bbox=box)


def _arrow(axis, start, end, colour: str, *, dashed: bool = False) -> None:
    line = dict(arrowstyle="-|>", color=colour, linewidth=1.3, linestyle="--" if dashed else "-", shrinkA=0, shrinkB=0)
    axis.annotate("", end, start, arrowprops=line)


def number_one(one_head: np.ndarray, many_heads: np.ndarray) -> Figure:
    """Histograms over prompts of what attention returns for the number one, with one head and with any number."""
    edges = np.linspace(-0.5, 3.0, 71)
    centres = (edges[1:] + edges[:-1]) / 2
    columns = {"estimate": centres}
    with style():
        figure, axis = canvas(height=3.2)
        for name, estimates, key in (("one head", one_head, "attention_only"), ("any number", many_heads, "gd")):
            density = np.histogram(estimates, edges)[0] / (len(estimates) * np.diff(edges))
            axis.plot(centres, density, color=COLOURS[key], drawstyle="steps-mid", label=f"attention, {name} of heads"
                      if key == "gd" else "attention, one head")  # fmt: skip
            columns[name.replace(" ", "_")] = density
        axis.axvline(1, color=COLOURS["block"], linewidth=2.5, label="the block: always 1")
        axis.set(xlabel="estimate of the number one", ylabel="density over prompts", xlim=(-0.5, 3), ylim=(0, None))
        axis.legend(fontsize=9)
    alt = (
        "Densities over prompts of attention's estimate of the number one: wide with its mode below 1 for one head,"
        " narrower for any number of heads; a vertical line at 1 for the block."
    )
    return Figure("number_one", figure, columns, alt, method="monte-carlo")
