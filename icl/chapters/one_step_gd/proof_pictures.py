"""Chapter 1's drawings on the board: one prompt in the plane, and the symmetry proof."""

import numpy as np

from icl.figures import COLOURS, INK, Figure, canvas, heat_maps, style


def prompt_in_the_plane(X: np.ndarray, y: np.ndarray, w: np.ndarray, eta: float) -> Figure:
    """The arrows y_i x_i of a prompt in two dimensions, head to tail up to X'y, the step eta X'y, and the task w."""
    arrows = y[:, None] * X
    corners = np.vstack([np.zeros(2), arrows.cumsum(0)])
    total, step = corners[-1], eta * corners[-1]
    with style():
        figure, axis = canvas(height=3.9)
        for k, (start, end) in enumerate(zip(corners, corners[1:], strict=False), 1):
            _arrow(axis, start, end, COLOURS["bayes"], 1.6)
            aside = np.array([start[1] - end[1], end[0] - start[0]]) / np.linalg.norm(end - start)  # to the left of it
            _name(axis, (start + end) / 2, f"$y_{k} x_{k}$", 14 * aside, "center", COLOURS["bayes"])
        axis.plot(*np.array([[0, 0], total]).T, color=COLOURS["gd"], linewidth=1.2, linestyle=":")
        _name(axis, total, r"$X^\top y$: their sum", (4, -38), "right", COLOURS["gd"])
        _arrow(axis, [0, 0], w, INK, 1.6)
        _name(axis, w, "task $w$", (-10, 9), "left", INK)
        _arrow(axis, [0, 0], step, COLOURS["gd"], 3.2)
        _name(axis, step, r"$\eta^\ast X^\top y$: the step", (0, -13), "left", COLOURS["gd"])
        axis.plot(0, 0, "o", color=INK, markersize=4)
        axis.set(aspect="equal", xlabel="first coordinate", ylabel="second coordinate")
        axis.margins(0.1)
    columns = {"x_1": X[:, 0], "x_2": X[:, 1], "y": y, "sum_1": corners[1:, 0], "sum_2": corners[1:, 1]}
    columns |= {"step": step, "task": w}
    alt = (
        "A plane with arrows. The examples' arrows, label times covariate, are laid head to tail and end at X'y; a"
        " short arrow along the same line is the gradient step; the task's arrow points nearly the same way."
    )
    return Figure("prompt_in_the_plane", figure, columns, alt)


def _arrow(axis, start, end, colour, width):
    """An arrow from `start` to `end`; an invisible line makes the axes reach both."""
    axis.plot(*np.array([start, end]).T, alpha=0)
    head = dict(arrowstyle="-|>,head_width=0.28,head_length=0.5", color=colour, linewidth=width, shrinkA=0, shrinkB=0)
    axis.annotate("", end, start, arrowprops=head)


def _name(axis, at, text, shift, align, colour):
    axis.annotate(text, at, xytext=shift, textcoords="offset points", ha=align, va="center", color=colour)


# Rows of a symmetric tensor at d = 2: pairs of token entries (x_1, x_2, y), by how many covariates they hold.
PAIRS = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
NAMES = ["$x_1 x_1$", "$x_1 x_2$", "$x_2 x_2$", "$x_1 y$", "$x_2 y$", "$y\\,y$"]


def tensor_blocks(tensors: dict[str, np.ndarray]) -> Figure:
    """Tensors T_abj at d = 2, (3, 3, 2) each, as six rows (the pairs a, b) by two columns: what each average leaves."""
    rows = {
        name: np.array([(T[a, b] + T[b, a]) / (1 if a != b else 2) for a, b in PAIRS]) for name, T in tensors.items()
    }
    with style():
        figure, axes, columns = heat_maps(rows, height=3.6)
        for axis, block in zip(axes, rows.values(), strict=True):
            axis.tick_params(length=0)
            axis.set_xticks([0.5, 1.5], ["$x_1$", "$x_2$"])
            axis.hlines([3, 5], 0, 2, color=INK, linewidth=0.8)
            for first, last in ((0, 3), (3, 5), (5, 6)):
                if np.abs(block[first:last]).max() < 1e-12:  # crossed out
                    axis.plot([0, 2], [first, last], [0, 2], [last, first], color=INK, linewidth=0.8)
        axes[0].set_yticks(np.arange(6) + 0.5, NAMES)
    alt = (
        "Three heat maps of six rows and two columns. The first, one head, is coloured everywhere. In the second,"
        " averaged with its mirror image, the three rows with two covariates and the row with none are crossed out. In"
        " the third, averaged over all turns of the square, the remaining block is a multiple of the identity."
    )
    return Figure("tensor_blocks", figure, columns, alt)
