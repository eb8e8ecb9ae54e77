"""Chapter 7's pictures of probed transformers."""

import numpy as np

from icl.chapters.trained_transformers.study import FIRST, ProbeWarning, Study
from icl.figures import COLOURS, INK, Figure, canvas, style

MODEL = COLOURS["trained_sampled"]


def training_curves(records: dict[str, dict]) -> Figure:
    """Thinned loss curves of trainings until flat, from their records: label → record."""
    columns, ends = {}, []
    with style():
        figure, axis = canvas(height=3.4)
        for shade, (label, record) in zip(np.linspace(1, 0.6, len(records)), records.items(), strict=True):
            curve = np.array(record["curve"])
            steps = record["steps"]["all"] * (np.arange(len(curve)) + 0.5) / len(curve)
            turn = np.flatnonzero(steps > record["steps"]["constant"])[:1]  # the first mean of falling rates
            axis.plot(steps, curve, color=MODEL, alpha=shade, label=label)
            axis.plot(steps[turn], curve[turn], "o", color=MODEL, alpha=shade)
            columns |= {f"step_{label}": steps, f"loss_{label}": curve, f"falling_{label}": steps[turn]}
            ends.append(record["test_error"])
        axis.set(yscale="log", xlabel="step", ylabel="loss", xlim=(0, None))
        axis.legend()
    columns["test_error"] = np.array(ends)
    alt = (
        "Training loss against step for three seeds, on a logarithmic axis: the curves fall together by three decades,"
        " and by one more once the rates fall."
    )
    return Figure("training_transformers", figure, columns, alt, method="trained")


def layer_errors(study: Study) -> Figure:
    """Error of every layer's ReadOut, before and behind the final LayerNorm, for each run."""
    columns = {"layer": study.layers}
    styles = {"raw": ("-", "o", "before the LayerNorm"), "normed": ("--", "s", "behind the LayerNorm")}
    with style():
        figure, axis = canvas(height=3.5)
        for variant, (line, marker, label) in styles.items():
            for run, errors in enumerate(study.errors(variant)):
                named = {"label": label} if run == 0 else {}
                axis.plot(study.layers, errors, line, marker=marker, markersize=4, color=MODEL, linewidth=1.3, **named)
                columns[f"{variant}_{run}"] = errors
        own = np.array([(run.own**2).mean() for run in study.runs])
        last = np.full(len(own), study.layers[-1])
        axis.plot(last, own, "*", color=INK, markersize=11, label="the model's own output", zorder=4)
        axis.set(yscale="log", xlabel="layer", ylabel="mean squared error")
        axis.set_xticks(study.layers)
        axis.legend(fontsize=9)
    columns["own"] = own
    alt = (
        "Probe error against layer on a logarithmic axis, three seeds, two kinds of probe. Errors fall by a factor of"
        " up to ten a layer until layer six; then they stall, and behind the last layer's LayerNorm fall once more."
    )
    return Figure("layer_errors", figure, columns, alt, method="trained")


def matched_steps(study: Study, *, name: str = "matched_steps") -> Figure:
    """Error-matched steps of Newton (left) and gradient descent (right, logarithmic) against the layer."""
    columns = {"layer": study.layers}
    with style():
        figure, axes = canvas(1, 2, height=3.5)
        for axis, algorithm, label in zip(axes, ("newton", "gd"), ("Newton steps", "gradient steps"), strict=True):
            found = study.matching(algorithm)
            low, high = found.interval()
            for run in range(len(found.steps)):
                steps, shift = found.steps[run], 0.12 * (run - (len(found.steps) - 1) / 2)
                bars = np.maximum([steps - low[run], high[run] - steps], 0)
                axis.errorbar(
                    study.layers + shift, steps, bars, fmt="o", markersize=4, color=COLOURS[algorithm], linewidth=1.1
                )
                columns |= {f"{algorithm}_{run}": steps, f"{algorithm}_low_{run}": low[run]}
                columns[f"{algorithm}_high_{run}"] = high[run]
            fitted = study.layers[FIRST:]
            mean = found.steps[:, FIRST:].mean(0)
            mean = np.log2(mean) if algorithm == "gd" else mean
            line = np.polyval(np.polyfit(fitted, mean, 1), fitted)
            axis.plot(fitted, 2**line if algorithm == "gd" else line, color=INK, linewidth=1.0, linestyle=":")
            axis.set(xlabel="layer", title=f"equal error: {label}")
            axis.set_xticks(study.layers)
        axes[1].set(yscale="log")
        ticks = [tick for tick in (1, 4, 16, 64, 256, 1024, 4096) if tick <= 2 * np.nanmax(high)]
        axes[1].set_yticks(ticks, [str(tick) for tick in ticks])
        axes[1].minorticks_off()
    alt = (
        "Two panels with the step count at which an algorithm's error equals the layer's, with intervals. Left, Newton:"
        " roughly a straight line. Right, gradient descent on a logarithmic axis: roughly a straight line too."
    )
    return Figure(name, figure, columns, alt, method="trained")


def probe_warning(found: ProbeWarning) -> Figure:
    """Errors after each layer of Design D: of the Newton step it holds, and of a linear probe of its state."""
    layers = np.arange(1, len(found.newton) + 1)
    with style():
        figure, axis = canvas(height=3.0)
        axis.plot(layers, found.newton, "-o", color=COLOURS["newton"], markersize=5, label="the Newton step it holds")
        axis.errorbar(
            layers, found.probe, 2 * found.probe_stderr, fmt="--s", color=MODEL, markersize=5, label="a linear probe"
        )
        axis.set(yscale="log", xlabel="layer", ylabel="mean squared error")
        axis.set_xticks(layers)
        axis.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
        axis.minorticks_off()
        axis.legend(fontsize=9)
    columns = {"layer": layers, "newton": found.newton, "probe": found.probe, "probe_stderr": found.probe_stderr}
    alt = (
        "Error against layer: the Newton steps' errors fall slowly; the probe's lie below them everywhere, more than"
        " ten times at layer two, and rise again at layer four."
    )
    return Figure("probe_warning", figure, columns, alt, method="monte-carlo")
