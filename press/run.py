"""One chapter, executed by papermill: parameters in, notebook, ledger and figures out, whole or not at all."""

import contextlib
import importlib.metadata
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from icl.chapters import catalogue, check_parameters, citations, read_ledger
from icl.files import dumps, read_sealed, sealed, sha256, write_atomically
from icl.parallel import cores
from icl.parameters import Parameters
from icl.validation import InputError
from press.layout import ROOT, WorkflowError
from press.notebooks import check_pair, tidy
from press.output import check_own, note, output_folder, publish, workplace
from press.sources import digests

KERNEL = "python3"
logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it logs as an error, it raises as well
# One thread: results then do not depend on the machine's cores, and two chapters share two cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run_chapter(
    chapter: str, out: Path, parameters: Parameters | None = None, *, environment: dict[str, str | None] | None = None
) -> dict:
    """Execute a chapter and return its ledger (the content of `<out>/<chapter>.json`).

    Writes `<chapter>.ipynb`, `<chapter>.json`, `<chapter>.provenance.json` and the folder `<chapter>/` of figures
    into `out`; `environment` changes the kernel's environment variables (None: unset). Raises InputError, before a
    kernel starts, for bad parameters or ICL_CORES, a claim of an unknown paper, an unpaired notebook, a missing kernel,
    a folder that cannot be written or holds files of the same names that no run made; WorkflowError when a cell fails,
    leaving earlier results as they were, or when the folder was cleared meanwhile. A second run of the same chapter
    into the same folder waits for the first.
    """
    parameters = parameters or check_parameters(chapter)
    for entry in catalogue(chapter).values():
        citations.papers(entry["source"])  # refuses a paper that the bibliography does not have
    cores()  # refuses a bad ICL_CORES before a kernel starts
    notebook = check_pair(chapter)
    _check_kernel()
    out = output_folder(out)
    check_own(out, chapter)
    with workplace(out, chapter) as mine:
        made_of = digests(chapter)  # before the kernel reads them: what changes meanwhile makes the run stale
        started = time.perf_counter()
        failed = out / f"{chapter}.failed.ipynb"
        note(out, chapter, [failed.name])
        executed = _execute(notebook, mine.scratch, parameters, failed, environment or {})
        warnings = tidy(executed)
        if warnings:
            raise WorkflowError(f"{chapter} wrote to stderr, which a clean chapter does not: {warnings[0]}")
        ledger = _seal(mine.scratch, chapter, nbformat.writes(executed) + "\n")
        provenance = dumps(_provenance(time.perf_counter() - started) | {"sources": made_of})
        write_atomically(mine.scratch / f"{chapter}.provenance.json", provenance)
        mine.check()
        check_own(out, chapter)
        publish(mine.scratch, out, chapter)
    return ledger


class _QuietKernel(AsyncKernelManager):
    """A kernel whose own stderr, unlike its cells', is not shown: stopped early, it prints where its threads were."""

    async def start_kernel(self, **options):
        await super().start_kernel(stderr=subprocess.DEVNULL, **options)


def _check_kernel() -> None:
    try:
        KernelSpecManager().get_kernel_spec(KERNEL)
    except NoSuchKernel:
        raise InputError(
            f"there is no Jupyter kernel named {KERNEL!r}; "
            f"run `python -m ipykernel install --sys-prefix --name {KERNEL}`."
        ) from None


def _seal(scratch: Path, chapter: str, notebook: str) -> dict:
    """Write the executed notebook, and the ledger once more: it vouches for the notebook too. Returns the ledger."""
    read_ledger(scratch, chapter)
    path = scratch / f"{chapter}.json"
    write_atomically(path.with_suffix(".ipynb"), notebook)
    write_atomically(path, sealed(read_sealed(path) | {"notebook": sha256(notebook)}))
    return read_ledger(scratch, chapter)


def _execute(
    notebook: Path, scratch: Path, parameters, failed: Path, environment: dict, *, starts: int = 3
) -> nbformat.NotebookNode:
    output = scratch / "executed.ipynb"
    try:
        with environed(**ONE_THREAD | environment | {"ICL_OUT": str(scratch)}):
            papermill.execute_notebook(
                str(notebook),
                str(output),
                parameters=parameters.model_dump(),
                kernel_name=KERNEL,
                language="python",
                cwd=str(scratch),
                start_timeout=180,
                progress_bar=False,
                autosave_cell_every=0,
                record_timing=False,
                coalesce_streams=True,  # where what is printed breaks into pieces depends on the machine's load
                stderr_file=sys.stderr if sys.stderr.isatty() else None,  # progress bars, live
                kernel_manager_class=_QuietKernel,
                config=Config(KernelManager={"transport_encryption": "auto"}),
            )
    except PapermillExecutionError as error:
        shutil.copy(output, failed)
        source = error.source.strip().splitlines()
        raise WorkflowError(
            f"{notebook.stem} failed in cell {error.cell_index} ({source[0] if source else 'empty'}): "
            f"{error.ename}: {error.evalue} (the notebook up to there: {failed})"
        ) from None
    except DeadKernelError:
        raise WorkflowError(f"{notebook.stem}: the kernel died; most often it ran out of memory.") from None
    except RuntimeError as error:
        # Before its first cell: two kernels that start at once can be given the same port, and one dies of it.
        if starts > 1:
            return _execute(notebook, scratch, parameters, failed, environment, starts=starts - 1)
        raise WorkflowError(
            f"{notebook.stem}: the kernel does not start ({error}); `python -m ipykernel_launcher` shows why."
        ) from None
    return nbformat.read(output, as_version=4)


@contextlib.contextmanager
def environed(**values: str | None):
    """Environment variables for what runs inside; None unsets one. They are put back."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _provenance(seconds: float) -> dict:
    """What the numbers were made with; kept apart from them because it differs from run to run."""
    packages = ("numpy", "scipy", "torch", "matplotlib", "papermill", "ipykernel")
    return {
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "lock_sha256": sha256((ROOT / "requirements.lock").read_bytes()),
    }


def processor() -> str:
    """The processor's name where the system tells it, else its architecture."""
    try:
        names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), flags=re.M)
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
