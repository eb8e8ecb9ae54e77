"""What the benchmarks share: one thread, timing, a table on disk. Import it before NumPy.

Of several actions timed in turn a slow moment of the machine meets all. Processor time of the one thread is what the
clock would show if nothing else ran.
"""

import inspect
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import time
from pathlib import Path

import numpy as np

from icl.files import write_atomically
from press.run import processor

ROOT = Path(__file__).resolve().parents[2]
WALL, PROCESSOR = time.perf_counter, time.process_time


def once(action, clock=WALL):
    """(what `action` returns, its seconds), without a warm-up."""
    start = clock()
    result = action()
    return result, clock() - start


def in_turn(*actions, rounds=7, clock=PROCESSOR):
    """Seconds, (rounds, actions), after one warm-up of each."""
    for action in actions:
        action()
    return np.array([[once(action, clock)[1] for action in actions] for _ in range(rounds)])


def seconds(action, rounds=5, clock=WALL):
    """The median of `rounds` times of one action."""
    return float(np.median(in_turn(action, rounds=rounds, clock=clock)))


def least(action, rounds=5):
    """The least of `rounds` times of one action, in processor seconds."""
    return float(in_turn(action, rounds=rounds).min())


def compared(subject, baseline, rounds=7):
    """(least processor seconds of the subject, least of the baseline, median over rounds of baseline over subject)."""
    times = in_turn(subject, baseline, rounds=rounds)
    return *times.min(0), float(np.median(times[:, 1] / times[:, 0]))


def write_tables(name, title, parts):
    """Run the parts, generators of table rows, print them, and write them to this processor's part of the file.

    What trials/benchmarks/<name>.md tells of other processors stays: a ratio of one machine need not be another's.
    """
    lines = []
    for part in parts:
        print(inspect.getdoc(part))
        lines += [inspect.getdoc(part), ""]
        for line in part():
            print(line)
            lines.append(line)
        lines.append("")
    path = ROOT / "trials" / "benchmarks" / f"{name}.md"
    old = path.read_text(encoding="utf-8").split("\n## ")[1:] if path.exists() else []
    sections = dict(section.split("\n\n", 1) for section in old)  # by their headings
    sections[f"{processor()}, {os.cpu_count()} cores"] = "\n".join(lines).rstrip()
    told = "".join(f"\n## {machine}\n\n{text.rstrip()}\n" for machine, text in sorted(sections.items()))
    head = f"# {title}\n\nWritten by `make bench`, on one thread, for each processor it ran on.\n"
    write_atomically(path, head + told)
