"""The Jupyter kernel that runs a chapter: whether there is one, and when it has to stop."""

import threading
import time

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import AsyncKernelManager
from traitlets import Any

from icl.validation import InputError

KERNEL = "python3"
_EVERY = 1.0  # seconds between two looks at whose turn it is


def check_kernel() -> None:
    """Raise InputError where Jupyter has no kernel named KERNEL."""
    try:
        KernelSpecManager().get_kernel_spec(KERNEL)
    except NoSuchKernel:
        raise InputError(
            f"there is no Jupyter kernel named {KERNEL!r}; "
            f"run `python -m ipykernel install --sys-prefix --name {KERNEL}`."
        ) from None


class ChapterKernel(AsyncKernelManager):
    """A kernel that is ended when its run has lost its turn.

    Its work would be dropped anyway; until then it would take the machine from the start that counts.
    """

    turn = Any(help="the Turn of the run").tag(config=True)

    async def start_kernel(self, **options):
        """Start the kernel and, in a thread, the watch over its run's turn."""
        await super().start_kernel(**options)
        threading.Thread(target=self._end_when_lost, args=(self.provisioner.process,), daemon=True).start()

    def _end_when_lost(self, process):
        while process.poll() is None:
            if self.turn.lost():
                return process.kill()
            time.sleep(_EVERY)
