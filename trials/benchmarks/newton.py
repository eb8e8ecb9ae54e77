"""How fast all prefixes and all step counts are solved, as ratios against plain loops in one run, and the growth.

`make bench` writes benchmarks/newton.md. One thread; medians of repeated runs. Loops that would take minutes are run on
a part of the tasks or step counts, and the table says on which.
"""

from timing import once, seconds, write_tables  # sets one thread, before NumPy starts

# isort: split
import warnings

import numpy as np

from icl.solvers.prefixes import StepSizeWarning, decompose, gradient_descent, newton

TASKS, POSITIONS, D = 256, 41, 20  # the published protocol: prefixes of 0 to 40 pairs
NEWTON, GD, ETA = range(1, 24), range(1, 1301), 0.01


def sequences(tasks=TASKS, positions=POSITIONS, d=D):
    """Noise-free Gaussian prompts, X (tasks, positions, d) and y (tasks, positions)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((tasks, positions, d))
    return X, np.einsum("btd,bd->bt", X, rng.standard_normal((tasks, d)))


def at_once(X, y):
    """Seconds of the decomposition, of Newton, of gradient descent."""
    found = decompose(X, y)
    with warnings.catch_warnings(action="ignore", category=StepSizeWarning):  # the published step, at other sizes too
        return (
            seconds(lambda: decompose(X, y), 3),
            seconds(lambda: newton(found, NEWTON, alpha="frobenius"), 3),
            seconds(lambda: gradient_descent(found, GD, eta=ETA), 3),
        )


def newton_loop(X, y, steps):
    """A plain loop over prefixes and steps; X (B, T, d) all tasks at once, or one task (T, d). Predictions."""
    out = np.zeros((*y.shape, len(steps)))
    for t in range(1, y.shape[-1]):
        P, z, x = X[..., :t, :], y[..., :t, None], X[..., t, :]
        S, b = P.mT @ P, P.mT @ z
        M = S / np.linalg.norm(S @ S.mT, axis=(-2, -1), keepdims=True)
        for j in range(len(steps)):
            M = 2 * M - M @ S @ M
            out[..., t, j] = (x * (M @ b)[..., 0]).sum(-1)
    return out


def gd_loop(X, y, steps):
    """The same for gradient descent."""
    out = np.zeros((*y.shape, len(steps)))
    for t in range(1, y.shape[-1]):
        P, z, x = X[..., :t, :], y[..., :t, None], X[..., t, :]
        S, b = P.mT @ P, P.mT @ z
        w = np.zeros_like(b)
        for j in range(len(steps)):
            w = w - ETA * (S @ w - b)
            out[..., t, j] = (x * w[..., 0]).sum(-1)
    return out


def sweep():
    """The published sweep, 41 prefixes, d = 20, 256 tasks: 23 Newton and 1300 gradient steps, all answers kept."""
    X, y = sequences()
    whole, newton_time, gd_time = at_once(X, y)
    few = 4
    loops = {
        "loop over prefixes and steps, all tasks at once": (
            once(lambda: newton_loop(X, y, NEWTON))[1],
            once(lambda: gd_loop(X, y, GD))[1],
        ),
        f"loop over tasks, prefixes and steps (from {few} tasks)": (
            once(lambda: [newton_loop(*pair, NEWTON) for pair in zip(X[:few], y[:few], strict=True)])[1] * TASKS / few,
            once(lambda: [gd_loop(*pair, GD) for pair in zip(X[:few], y[:few], strict=True)])[1] * TASKS / few,
        ),
    }
    restarts = [sum(steps) / len(steps) for steps in (NEWTON, GD)]
    loops["as the first loop, restarted for each number of steps (computed from it)"] = tuple(
        time * factor for time, factor in zip(next(iter(loops.values())), restarts, strict=True)
    )
    together = whole + newton_time + gd_time
    yield "| way | Newton, s | gradient descent, s | together, s | ratio |"
    yield "|---|---|---|---|---|"
    yield (
        f"| all at once; {whole:.2f} s of it the eigendecompositions | {newton_time:.3f} | {gd_time:.2f} |"
        f" {together:.2f} | 1 |"
    )
    for name, (first, second) in loops.items():
        yield f"| {name} | {first:.1f} | {second:.1f} | {first + second:.0f} | {(first + second) / together:.0f} |"


def agreement():
    """The loop and the closed forms give the same answers: largest difference over 8 tasks, relative to the largest."""
    X, y = sequences(tasks=8)
    found = decompose(X, y)
    yield "| method | difference |"
    yield "|---|---|"
    for name, fast, slow in (
        ("Newton", newton(found, NEWTON, alpha="frobenius"), newton_loop(X, y, NEWTON)),
        ("gradient descent", gradient_descent(found, GD, eta=ETA), gd_loop(X, y, GD)),
    ):
        yield f"| {name} | {np.abs(fast - slow).max() / np.abs(slow).max():.0e} |"


def growth():
    """Growth with the number of tasks, of pairs and of covariates; all three parts, in seconds."""
    yield "| tasks | prefixes | d | eigendecompositions | Newton | gradient descent | together |"
    yield "|---|---|---|---|---|---|---|"
    sizes = [(tasks, 41, 20) for tasks in (64, 128, 256, 512)]
    sizes += [(256, positions, 20) for positions in (11, 21, 81)] + [(256, 41, d) for d in (5, 10, 40)]
    for size in sizes:
        times = at_once(*sequences(*size))
        cells = " | ".join(f"{time:.3f}" for time in (*times, sum(times)))
        yield f"| {size[0]} | {size[1]} | {size[2]} | {cells} |"


if __name__ == "__main__":
    write_tables("newton", "Speed of chapter 7's solvers", (sweep, agreement, growth))
