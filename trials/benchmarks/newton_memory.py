"""How much memory chapter 6 takes: `make bench` writes benchmarks/newton_memory.md."""

from timing import ROOT, write_tables  # sets one thread, before NumPy starts

# isort: split
import resource
import subprocess
import sys
import tempfile

ALLOWED = 4096  # MiB


def chapter():
    """The whole chapter, `quick`: memory of the largest process, which is the kernel."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "icl", "run", "06_newton_transformers", "--out", scratch]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield "| peak memory, MiB | allowed, MiB |"
    yield "|---|---|"
    yield f"| {peak:.0f} | {ALLOWED} |"


if __name__ == "__main__":
    write_tables("newton_memory", "Memory of chapter 6", (chapter,))
