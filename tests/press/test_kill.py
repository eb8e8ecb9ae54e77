"""`kill -9` at 20 random moments of a training: the next start ends with the bytes of an undisturbed one."""

import functools
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from icl import checkpoints, search
from icl.chapters.mlp_benefit.query_losses import query_errors
from icl.models.gpt import GPT, GPTConfig
from icl.prompts import PromptLaw
from icl.training import Schedule, train
from icl.validation import InputError
from press.layout import ROOT

KILLS = 20
# A process with one thread that has all loaded and forks at once: this one has threads, and a fork of it could wait for
# a lock that nobody will give back. It reads a training and a path and starts a child, reads a signal, sends it, and
# prints how the child ended.
NURSERY = """
import os, sys, threading
from test_kill import TRAININGS, torch
from tqdm import tqdm
tqdm.set_lock(threading.RLock())  # its default is shared between forks: a child killed while it writes would keep it
torch.set_num_threads(1)
for name in ("linear", "gpt"):
    TRAININGS[name](sys.argv[1] + name)  # what the first one loads, no child has to
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            name, _, path = line.rstrip("\\n").partition(" ")
            TRAININGS[name](path)
            code = 0
        finally:
            os._exit(code)
    os.kill(child, int(sys.stdin.readline()))
    print(os.waitpid(child, 0)[1], flush=True)
"""
SCHEDULE = Schedule(150, 0.02, clip=1.0)


def trained(path) -> str:
    """Train to the end from `path`, if it is there; returns a digest of weights and curve."""
    rng = np.random.default_rng(5)
    model = search.LinearSelfAttention(3, rng=rng, init="label_path", dtype=torch.float32)
    law = PromptLaw.isotropic(3, 8, 0.25)

    def loss(step):
        batch = law.sample(rng, 32)
        X, y, x, target = (torch.from_numpy(p).float() for p in (batch.X, batch.y, batch.x_query, batch.y_query))
        return ((model.effective(law.n).predict(X, y, x) - target) ** 2).mean()

    curve = train(model, loss, SCHEDULE, rng=rng, checkpoint=path, every=3)
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    return hashlib.sha256(curve.tobytes() + weights).hexdigest()


def gpt_trained(path, pause=0.0) -> None:
    """Train a GPT as chapter 4 does, but saved every third step, each step after a pause in seconds."""
    rng, law = np.random.default_rng(5), PromptLaw.isotropic(2, 4, 0.1, np.ones(2))
    model = GPT(GPTConfig(2, 4), rng=rng, start="fan_in")

    def loss(step):
        time.sleep(pause)
        return query_errors(model, law, 8, 8, rng).mean()

    schedule = Schedule(31, 1e-2, 1.0, warm_up=5, decay_from=20, muon=1e-2)
    train(model, loss, schedule, rng=rng, label="killed", checkpoint=Path(path), every=3)


TRAININGS = {"linear": trained, "gpt": gpt_trained, "slow-gpt": functools.partial(gpt_trained, pause=0.1)}


class Nursery:
    """Starts one training at a time in a process of its own."""

    def __init__(self, path):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "press")])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, path],
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def start(self, path, training="linear") -> None:
        """Start one of TRAININGS from `path`."""
        print(training, path, file=self.process.stdin, flush=True)

    def end(self, sent: int = 0) -> int:
        """Send the child a signal, 0 for none, and wait for it; returns its status as os.waitpid gives it."""
        print(int(sent), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    nursery = Nursery(tmp_path_factory.mktemp("nursery") / "warm")
    yield nursery
    nursery.process.communicate(timeout=60)


def test_twenty_kills(nursery, tmp_path):
    undisturbed = trained(tmp_path / "whole")
    nursery.start(tmp_path / "whole")  # nothing left to do: when this is over, the nursery is ready
    assert nursery.end() == 0
    began = time.perf_counter()
    nursery.start(tmp_path / "timed")
    assert nursery.end() == 0
    seconds = time.perf_counter() - began
    path, moments, kept = tmp_path / "killed", random.Random(7), 0
    for _ in range(KILLS):
        nursery.start(path)
        time.sleep(moments.uniform(0, seconds / 4))
        nursery.end(signal.SIGKILL)
        if path.exists():  # whole, however the moment fell
            step = checkpoints.load(path)[1]["step"]
            assert step >= kept, "work was lost"
            kept = step
    assert 0 < kept, "no kill fell after a first save"
    assert trained(path) == undisturbed
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_an_orphan_does_no_harm(nursery, tmp_path):
    """A first process lives on and writes to the same checkpoint while a second one trains."""
    undisturbed = trained(tmp_path / "whole")
    nursery.start(tmp_path / "shared")
    try:
        assert trained(tmp_path / "shared") == undisturbed
    finally:
        nursery.end(signal.SIGKILL)
    assert trained(tmp_path / "shared") == undisturbed


def test_kill_9_in_the_middle_of_a_gpt_training(nursery, tmp_path):
    whole, killed = tmp_path / "whole.safetensors", tmp_path / "killed.safetensors"
    nursery.start(whole, "gpt")
    assert nursery.end() == 0
    nursery.start(killed, "slow-gpt")
    patience = time.monotonic() + 60
    while not killed.exists() and time.monotonic() < patience:
        time.sleep(0.01)
    time.sleep(0.15)
    assert os.WTERMSIG(nursery.end(signal.SIGKILL)) == signal.SIGKILL
    half, record = checkpoints.load(killed)  # whole or not at all: what lies there can be read
    assert 0 < record["step"] < 31 and torch.isnan(half["curve"][record["step"] :]).all()
    nursery.start(killed, "gpt")
    assert nursery.end() == 0
    assert killed.read_bytes() == whole.read_bytes()


def test_temporary_files_are_never_taken_for_whole(tmp_path):
    """What a kill leaves beside the file has another name, and half of it under the right name is refused."""
    trained(tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    (tmp_path / ".c.abc").write_bytes(content[: len(content) // 2])
    assert trained(tmp_path / "c")
    Path(tmp_path / "c").write_bytes(content[: len(content) // 2])
    try:
        trained(tmp_path / "c")
    except InputError as error:
        assert "not an intact checkpoint" in str(error)
    else:
        raise AssertionError("half a file was taken for a whole one")
