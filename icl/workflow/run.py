"""One chapter, executed by papermill: parameters in, notebook, ledger and figures out, whole or not at all."""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from icl.claims import dumps
from icl.files import write_atomically
from icl.parameters import Parameters, check_parameters
from icl.validation import InputError
from icl.workflow.layout import ROOT, WorkflowError
from icl.workflow.notebooks import check_pair, tidy

KERNEL = "python3"
# One thread: results then do not depend on the machine's cores, and two chapters share two cores.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def run_chapter(chapter: str, out: Path, parameters: Parameters | None = None) -> dict:
    """Execute a chapter and return its ledger (the content of `<out>/<chapter>.json`).

    Writes `<chapter>.ipynb`, `<chapter>.json`, `<chapter>.provenance.json` and the folder `<chapter>/` of figures
    into `out`. Raises InputError, before a kernel starts, for bad parameters, an unpaired notebook, a missing kernel or
    a folder that cannot be written; WorkflowError when a cell fails, leaving earlier results as they were.
    """
    parameters = parameters or check_parameters(chapter)
    notebook = check_pair(chapter)
    _check_kernel()
    out = _writable(Path(out))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{chapter}.") as scratch:
        executed = _execute(notebook, Path(scratch), parameters, failed=out / f"{chapter}.failed.ipynb")
        warnings = tidy(executed)
        if warnings:
            raise WorkflowError(f"{chapter} wrote to stderr, which a clean chapter does not: {warnings[0]}")
        ledger = json.loads(Path(scratch, f"{chapter}.json").read_text(encoding="utf-8"))
        write_atomically(Path(scratch, f"{chapter}.ipynb"), nbformat.writes(executed) + "\n")
        write_atomically(Path(scratch, f"{chapter}.provenance.json"), dumps(_provenance(time.perf_counter() - started)))
        _publish(Path(scratch), out, chapter)
    return ledger


def _execute(notebook: Path, scratch: Path, parameters: Parameters, failed: Path) -> nbformat.NotebookNode:
    output = scratch / "executed.ipynb"
    try:
        with _environment(ICL_OUT=str(scratch), **_ENVIRONMENT):
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
                stderr_file=sys.stderr if sys.stderr.isatty() else None,  # progress bars, live
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
    return nbformat.read(output, as_version=4)


def _publish(scratch: Path, out: Path, chapter: str) -> None:
    """Move the finished files into place; the ledger last, since its presence says that the rest is there."""
    figures = out / chapter
    (out / f"{chapter}.json").unlink(missing_ok=True)
    if figures.exists():
        shutil.rmtree(figures)
    if (scratch / chapter).exists():
        os.replace(scratch / chapter, figures)
    for suffix in (".ipynb", ".provenance.json", ".json"):
        os.replace(scratch / f"{chapter}{suffix}", out / f"{chapter}{suffix}")
    (out / f"{chapter}.failed.ipynb").unlink(missing_ok=True)


def _writable(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"cannot write to the folder {out}: {error.strerror}; choose another with --out.") from error
    return out.resolve()


def _check_kernel() -> None:
    try:
        KernelSpecManager().get_kernel_spec(KERNEL)
    except NoSuchKernel:
        raise InputError(
            f"there is no Jupyter kernel named {KERNEL!r}; "
            f"run `python -m ipykernel install --sys-prefix --name {KERNEL}`."
        ) from None


@contextlib.contextmanager
def _environment(**values):
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _provenance(seconds: float) -> dict:
    """What the numbers were made with; kept apart from them because it differs from run to run."""
    packages = ("numpy", "scipy", "torch", "matplotlib", "papermill", "ipykernel")
    return {
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "lock_sha256": hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest(),
    }
