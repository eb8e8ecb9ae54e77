"""Chapter 4's picture and table of the trainings behind Table 1."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icl.chapters.mlp_benefit import table1
from icl.claims import to_its_error
from icl.figures import COLOURS, Figure, canvas, style


def curves(path: Path = table1.RESULTS) -> Figure:
    """Training loss of every run in the file against the step, beside the printed losses and knowing the mean alone."""
    found, known = table1.runs(path), float(table1.SIZES["d"])  # tr(H Psi): left of a label whose mean task is known
    columns = {"of_the_mean": np.array([known])}
    with style():
        figure, axes = canvas(1, 2, height=3.7, sharex=True, sharey=True)
        for axis, mean in zip(axes, sorted({entry.mean for entry in table1.ENTRIES.values()}), strict=True):
            axis.axhline(known, color=COLOURS["zero"], linewidth=1.3, label="the mean alone")
            for id, entry in table1.ENTRIES.items():
                if entry.mean != mean:
                    continue
                colour = COLOURS["block" if entry.mlp else "attention_only"]
                axis.axhline(entry.printed, color=colour, linewidth=1.1, linestyle="--")
                for seed, run in found.get(id, {}).items():
                    label = ("with MLP" if entry.mlp else "without") if seed == min(found[id]) else None
                    axis.plot(run["steps"], run["curve"], color=colour, linewidth=1.5, label=label)
                    name = f"{id.removeprefix('table1.')}_{seed}"
                    columns |= {f"{name}_step": np.array(run["steps"]), name: np.array(run["curve"])}
            axis.set(yscale="log", xlabel="step", title=f"task mean {mean:g} in each coordinate")
        axes[0].set(ylabel="training loss")
        axes[0].legend(fontsize=9, loc="upper right", bbox_to_anchor=(1, 0.9))
    alt = (
        "Training loss of GPT-2s with and without the MLP against the step, for task mean zero and a vector of tens,"
        " with a dashed line at each printed test loss and a grey line for the loss of knowing the mean task alone."
    )
    return Figure("table1_curves", figure, columns, alt)


HEAD = (
    *("task mean", "MLP", "printed", "seed"),
    *("test loss, raw", "divided by d, in 10⁻⁴", "steps", "core minutes", "settled"),
)


@dataclass(frozen=True)
class ResultTable:
    """A table on the page, and as text: the head, and rows of as many cells."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def _repr_html_(self) -> str:
        row = lambda cells: "<tr>" + "".join(
            f'<td data-label="{name}">{cell}</td>' for name, cell in zip(self.head, cells, strict=True)
        ) + "</tr>"  # fmt: skip
        head, body = "".join(f"<th>{name}</th>" for name in self.head), "".join(map(row, self.rows))
        return f'<table class="icl-claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        return "\n".join(" | ".join(row) for row in (self.head, *self.rows))


def trainings(path: Path = table1.RESULTS) -> ResultTable:
    """Every training of Table 1 in the file at `path`, a row each; an entry without one has a row that says so."""
    found, rows = table1.runs(path), []
    for id, entry in table1.ENTRIES.items():
        named = (f"{entry.mean:g}", "with" if entry.mlp else "without", f"{entry.printed:g}")
        for seed, run in found.get(id, {}).items():
            raw = to_its_error(run["loss"], run["stderr"])
            divided, _, _ = to_its_error(1e4 * run["loss_per_dimension"], 1e4 * run["stderr_per_dimension"]).split()
            cost = f"{run['steps'][-1]:,}", f"{run['core_seconds'] / 60:.0f}"
            rows.append((*named, str(seed), raw, divided, *cost, "yes" if run["settled"] else "no"))
        if id not in found:
            rows.append((*named, "–", *["no training yet"] * 2, *["–"] * 3))
    return ResultTable(HEAD, rows)
