"""`python -m trials slurm`: the atlas on a SLURM cluster of one node, disturbed, ends with the bytes of a local run.

Daemons of Debian's `slurm-wlm` and `munge`, started here on the loopback device, by root, and stopped again. A machine
that has a configuration of SLURM already is left alone. Snakemake submits through its official executor plugin
(`pip install '.[cluster]'`).
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from icl.files import read_json
from press.layout import ROOT, WorkflowError
from trials.same import record

CHAPTERS = ("02_preconditioned_gd", "03_nonlinear_targets", "07_trained_transformers", "11_when_depth_pays")
PATIENCE = 1200  # seconds that any one thing may take
HANGS = 240  # seconds without a job after which a workflow hangs; its plugin asks for states every 180 at most
_DAEMONS = ("munged", "slurmctld", "slurmd")
CONFIGURATION = Path("/etc/slurm/slurm.conf")  # where jobs look: the plugin takes SLURM's variables from them
_CONF = """ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
MinJobAge=3600
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """What keeps the trial from running here, in words; empty where nothing does."""
    lacking = [name for name in (*_DAEMONS, "sbatch") if shutil.which(name) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed: apt-get install slurm-wlm munge"
    if find_spec("snakemake_executor_plugin_slurm") is None:
        return "the executor plugin is not installed: pip install '.[cluster]'"
    if CONFIGURATION.exists() or CONFIGURATION.is_symlink():
        return f"{CONFIGURATION} is there: the machine belongs to a cluster"
    return "" if os.geteuid() == 0 else "the daemons are started by root"


class Cluster:
    """One node, this machine; its files are in `folder`."""

    def __init__(self, folder: Path):
        self.folder, self.host = folder, socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        ports = [_free_port(), _free_port()]
        conf = _CONF.format(host=self.host, folder=folder, ports=ports, cores=os.cpu_count())
        (folder / "slurm.conf").write_text(conf, encoding="utf-8")
        CONFIGURATION.parent.mkdir(exist_ok=True)
        CONFIGURATION.symlink_to(folder / "slurm.conf")
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o600)

    def start_all(self) -> None:
        """Raises WorkflowError where the node does not come up."""
        files = [f"--{part}-file={self.folder}/munge.{part}" for part in ("key", "pid", "log", "seed")]
        files.append(f"--socket={self.folder}/munge.socket")
        subprocess.run(["munged", "--force", *files], check=True)
        subprocess.run(["slurmctld"], check=True)
        subprocess.run(["slurmd"], check=True)
        until(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"), "the node to come up")

    def stop(self, daemon: str) -> None:
        """End a daemon by the number in its own file, and wait for it."""
        path = self.folder / ("munge.pid" if daemon == "munged" else f"{daemon}.pid")
        if not path.exists():
            return
        number = int(path.read_text())
        os.kill(number, signal.SIGTERM)
        until(lambda: not Path(f"/proc/{number}").exists(), f"{daemon} to end")

    def ask(self, *command: str) -> str:
        """What a SLURM command prints; empty where it fails."""
        return subprocess.run(command, capture_output=True, text=True).stdout

    def jobs(self) -> dict[str, dict[str, str]]:
        """Job → its state and times, of all that were ever submitted."""
        found = {}
        for line in self.ask("scontrol", "-o", "show", "jobs").splitlines():
            fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
            if "JobId" in fields:
                found[fields["JobId"]] = fields
        return found


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A running cluster, whose files are in `folder`, which must be new."""
    one = Cluster(folder)
    try:
        one.start_all()
        yield one
    finally:
        one.ask("scancel", "--user=root")
        for daemon in reversed(_DAEMONS):
            one.stop(daemon)
        CONFIGURATION.unlink()


def disturbed(points: int) -> list[str]:
    """`disturbed_bytes` in a folder of its own, recorded in results/measurements; returns what is wrong."""
    with tempfile.TemporaryDirectory(prefix="icl-slurm-") as folder:
        found, wrong = disturbed_bytes(points, Path(folder))
    record("slurm", found | {"wrong": len(wrong)})
    return wrong


def disturbed_bytes(points: int, folder: Path) -> tuple[dict[str, float], list[str]]:
    """Run the atlas of CHAPTERS on the cluster, disturbed, and then here: what it took, and what is not as it should.

    One job is killed with -9 in the middle; the node is drained while jobs wait, the controller stopped and started,
    the node resumed. Raises WorkflowError where a run does not end.
    """
    there, here, wrong = folder / "cluster", folder / "local", []
    for out in (there, here):
        _icl("atlas", *CHAPTERS, "--points", str(points), "--plan", "--out", str(out))
    began = time.perf_counter()
    with cluster(folder / "slurm") as slurm:
        run = _submit(slurm, there)
        done = lambda: {path: path.stat().st_mtime_ns for path in there.glob("points/*/*[0-9].json")}
        until(lambda: len(done()) > 2, "the first points", run)
        finished = done()
        running = [job for job, one in slurm.jobs().items() if one["JobState"] == "RUNNING"]
        _kill_a_worker()
        until(lambda: any(slurm.jobs()[job]["JobState"] != "RUNNING" for job in running), "the killed job's end", run)
        slurm.ask("scontrol", "update", f"NodeName={slurm.host}", "State=DRAIN", "Reason=trial")
        until(lambda: "drain" in slurm.ask("sinfo", "-h", "-o", "%T"), "the node to be drained", run)
        slurm.stop("slurmctld")
        time.sleep(20)
        subprocess.run(["slurmctld"], check=True)
        until(lambda: slurm.ask("sinfo", "-h", "-o", "%T"), "the controller to answer", run)
        slurm.ask("scontrol", "update", f"NodeName={slurm.host}", "State=RESUME")
        run, hung = _seen_through(slurm, run, there)
        jobs, after = slurm.jobs(), done()
    if run.returncode:
        words = (there / "snakemake.log").read_text(encoding="utf-8").splitlines()[-12:]
        raise WorkflowError("the workflow failed on the cluster:\n" + "\n".join(words))
    seconds = time.perf_counter() - began
    wrong += [f"{path} was finished and computed again" for path, when in finished.items() if after.get(path) != when]
    states = [job["JobState"] for job in jobs.values()]
    groups = len(list(there.glob("groups/*")))
    if states.count("COMPLETED") < groups:
        wrong.append(f"{states.count('COMPLETED')} jobs were completed through SLURM, for {groups} groups")
    if len(states) - states.count("COMPLETED") != 1:
        wrong.append(f"{len(states) - states.count('COMPLETED')} jobs did not complete; one was killed")
    _icl("atlas", *CHAPTERS, "--points", str(points), "--out", str(here))
    wrong += differences(there, here)
    took = {"points": len(after), "jobs": len(states), "killed": 1, "hung": hung, "seconds": round(seconds)}
    return took | {"overhead_seconds": _overhead(there, jobs)}, wrong


def differences(one: Path, other: Path) -> list[str]:
    """Tables and points, costs apart, that are not the same bytes in both folders."""
    names = {path.relative_to(out) for out in (one, other) for path in out.rglob("*")
             if path.suffix in (".csv", ".json") and not path.name.endswith(".cost.json")}  # fmt: skip
    same = lambda name: all((out / name).exists() for out in (one, other)) and (
        (one / name).read_bytes() == (other / name).read_bytes())  # fmt: skip
    return [f"{name} differs" for name in sorted(names) if not same(name)]


def until(holds: Callable[[], object], what: str, run: subprocess.Popen | None = None) -> None:
    """Wait until `holds()`; raises WorkflowError after PATIENCE, or when `run` ends before."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > PATIENCE or (run is not None and run.poll() is not None):
            raise WorkflowError(f"the trial waited in vain for {what}.")
        time.sleep(0.5)


def _seen_through(slurm: Cluster, run: subprocess.Popen, out: Path) -> tuple[subprocess.Popen, int]:
    """Wait for the end; where the workflow hangs, kill it and give the same command again: its last run, how often.

    The plugin hangs when it asks for states while the controller is away: it takes `sacct`, which without accounting
    answers nothing (version 2.8).
    """
    hung, began = 0, (quiet := time.monotonic())
    while run.poll() is None:
        if any(job["JobState"] in ("PENDING", "RUNNING") for job in slurm.jobs().values()):
            quiet = time.monotonic()
        if time.monotonic() - began > PATIENCE:
            raise WorkflowError("the trial waited in vain for the end of the workflow.")
        if time.monotonic() - quiet > HANGS:
            run.kill()
            run.wait()
            run, hung, quiet = _submit(slurm, out), hung + 1, time.monotonic()
        time.sleep(1)
    return run, hung


def _submit(slurm: Cluster, out: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/slurm", "--nolock", "--config",
               f"atlas={out}", "--slurm-logdir", str(out / "logs"), "--slurm-init-seconds-before-status-checks", "5",
               "--seconds-between-status-checks", "5", "--", "atlas"]  # fmt: skip
    with open(out / "snakemake.log", "w", encoding="utf-8") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def _kill_a_worker() -> None:
    """kill -9 one process that decides points for SLURM: one whose environment names a job."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = ((path / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if (
            b"atlas-group" in command
            and command[1:3] == [b"-m", b"icl"]
            and any(part.startswith(b"SLURM_JOB_ID=") for part in environment)
        ):
            os.kill(int(path.name), signal.SIGKILL)
            return
    raise WorkflowError("no process decides points for SLURM.")


def _overhead(out: Path, jobs: dict[str, dict[str, str]]) -> float:
    """Mean seconds of a completed job that are spent on something else than points."""
    clocks = [job["RunTime"].split(":") for job in jobs.values() if job["JobState"] == "COMPLETED"]
    took = [3600 * int(hours) + 60 * int(minutes) + int(seconds) for hours, minutes, seconds in clocks]
    points = sum(read_json(path)["seconds"] for path in out.glob("points/*/*.cost.json"))
    return round((sum(took) - points) / max(len(took), 1), 1)


def _icl(*arguments: str) -> None:
    if subprocess.run([sys.executable, "-m", "icl", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL).returncode:
        raise WorkflowError(f"`python -m icl {' '.join(arguments)}` failed.")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
