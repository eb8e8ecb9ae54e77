"""Chapter 5's drawings for the board: one prompt in task space, and why the flow finds the start."""

import numpy as np

from icl.figures import COLOURS, INK, Figure, canvas, style
from icl.theory import scalar_flow


def task_space(X: np.ndarray, y: np.ndarray, start: np.ndarray, Gamma: np.ndarray) -> Figure:
    """One prompt, X (n, 2) and y (n,): a step from 0, a step from `start` and least squares, over its squared error."""
    step = lambda beta: beta - Gamma @ X.T @ (X @ beta - y) / len(y)
    origin, best = np.zeros(2), np.linalg.lstsq(X, y)[0]
    points = {"zero": origin, "from_zero": step(origin), "start": start, "from_start": step(start), "squares": best}
    low, high = (bound(list(points.values()), axis=0) for bound in (np.min, np.max))
    room = np.ptp([low, high])  # the picture shows more where its room has another shape
    grid = [np.linspace(a - room, b + room, 161) for a, b in zip(low, high, strict=True)]
    plane = np.stack(np.meshgrid(*grid), axis=-1)
    error = ((plane @ X.T - y) ** 2).mean(-1)
    looks = {
        "zero": (r"$0$", "zero", (-12, -3)),
        "from_zero": ("one step from $0$", "zero", (4, -14)),
        "start": (r"$\beta^\ast$", "gd", (-14, 8)),
        "from_start": (r"one step from $\beta^\ast$", "gd", (3, 9)),
        "squares": ("least squares, the task", "least_squares", (-88, -18)),
    }
    with style():
        figure, axis = canvas(width=6.2, height=3.1)
        axis.contour(*grid, error, levels=[0.25, 1, 2.25, 4, 6.25], colors=[INK], linewidths=0.6, alpha=0.4)
        axis.ignore_existing_data_limits = True  # the rings go on beyond what is shown
        axis.update_datalim([low - 0.7, high + 0.7])
        for tail, head, colour in (("zero", "from_zero", "zero"), ("start", "from_start", "gd")):
            arrow = dict(arrowstyle="-|>", color=COLOURS[colour], linewidth=2, shrinkA=4, shrinkB=4, mutation_scale=14)
            axis.annotate("", points[head], xytext=points[tail], arrowprops=arrow)
        for name, (words, colour, where) in looks.items():
            marker = "*" if name == "squares" else "o"
            axis.plot(*points[name], marker, color=COLOURS[colour], markersize=13 if marker == "*" else 7)
            axis.annotate(words, points[name], xytext=where, textcoords="offset points", fontsize=10)
        axis.set(xlabel="first coordinate of the task", ylabel="second")
        axis.set_aspect("equal", adjustable="datalim")  # fills its room, and leaves its labels theirs
    columns = {axis_name: np.array([point[k] for point in points.values()]) for k, axis_name in enumerate(("x", "y"))}
    alt = (
        "The plane of tasks. An arrow from zero and an arrow from the mean task, each one step long, and a star where"
        " the prompt's squared error, drawn as rings, is least. The step from the mean task ends closer to the star."
    )
    return Figure("task_space", figure, columns, alt)


def flow_proof(d: int, n: int, sigma2: float, size: float) -> Figure:
    """Left: the pull on the start against the step, above its floor. Right: the start's error from three beginnings."""
    g = np.linspace(-0.15, 1.6, 141)
    parts = (1 - g) ** 2, 2 * g**2 / n
    floor, slowest = 2 / (n + 2), n / (n + 2)
    times = np.linspace(0, 1.5 * (n + 2), 241)
    begins = {"zero": (size, 0.0), "near": (0.1, (slowest, 0.0)), "far": (100.0, (slowest, 0.0))}
    paths = {name: scalar_flow.isotropic_flow(r, step, times, d, n, sigma2)[0] for name, (r, step) in begins.items()}
    shares = {name: path / path[0] for name, path in paths.items()}
    bound = np.exp(-4 * times / (n + 2))
    words = {"zero": r"from $\beta = 0$, $\Gamma = 0$", "near": "slowest step, near", "far": "slowest step, far"}
    colours = {"zero": "gd", "near": "trained_exact", "far": "bayes"}
    with style():
        figure, (left, right) = canvas(1, 2, height=3.5)
        left.plot(g, parts[0], color=COLOURS["bayes"], linewidth=1.4, label=r"$(1-g)^2$: too short a step")
        left.plot(g, parts[1], color=COLOURS["least_squares"], linewidth=1.4, label=r"$2g^2/n$: noise of the context")
        left.plot(g, sum(parts), color=COLOURS["gd"], label="their sum, the least pull")
        left.axhline(floor, color=INK, linewidth=0.9, linestyle="--", label=r"floor $2/(n+2)$")
        left.plot(slowest, floor, "o", color=COLOURS["gd"], markersize=6)
        left.set(xlabel=r"$g = e^\top G e$", ylabel=r"pull on $\beta$ along $e$", xlim=g[[0, -1]], ylim=(0, 1.9))
        left.legend(loc="upper right", fontsize=8.5)
        for name, share in shares.items():
            right.plot(times, share, color=COLOURS[colours[name]], label=words[name])
        right.plot(times, bound, color=INK, linewidth=1.2, linestyle="--", label=r"bound $e^{-4t/(n+2)}$")
        right.set(yscale="log", xlabel="time", ylabel=r"$\|\beta_t - \beta^\ast\|$, share of its start")
        right.set(xlim=times[[0, -1]], ylim=(1e-7, 3))
        right.legend(loc="lower left", fontsize=8.5)
    columns = {"g": g, "too_short": parts[0], "noise": parts[1], "time": times, "bound": bound} | shares
    alt = (
        "Left: two parabolas over the step, one least at 1 and one least at 0; their sum never falls below a dashed"
        " floor, which it touches at one point. Right: the error of the start against time on a logarithmic scale,"
        " from three beginnings, all below the dashed straight line of the bound; the one from far away runs along it."
    )
    return Figure("flow_proof", figure, columns, alt)
