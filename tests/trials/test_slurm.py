"""The atlas on a SLURM of one node; left out where SLURM is not installed, and the parts that need none are not."""

import sys
import time

import pytest

from press.layout import WorkflowError
from trials import slurm


@pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing() or "SLURM is here")
def test_a_disturbed_cluster_gives_the_bytes_of_a_local_run(tmp_path):
    took, wrong = slurm.disturbed_bytes(4, tmp_path)
    assert wrong == [] and took["points"] == 16 and took["jobs"] >= 5


def test_points_that_differ_are_named_and_costs_may(tmp_path):
    for name, value in (("one", "1"), ("other", "2")):
        folder = tmp_path / name / "points" / "chapter"
        folder.mkdir(parents=True)
        (folder / "00000.json").write_text("same")
        (folder / "00001.json").write_text(value)
        (folder / "00001.cost.json").write_text(value)
    (tmp_path / "one" / "chapter.csv").write_text("only here")
    told = slurm.differences(tmp_path / "one", tmp_path / "other")
    assert told == ["chapter.csv differs", "points/chapter/00001.json differs"]


def test_what_is_missing_is_told(monkeypatch):
    monkeypatch.setattr(slurm.shutil, "which", lambda name: None if name == "slurmd" else name)
    assert slurm.missing() == "slurmd not installed: apt-get install slurm-wlm munge"


def test_a_trial_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(slurm, "PATIENCE", 0.1)
    with pytest.raises(WorkflowError, match="in vain for nothing"):
        slurm.until(lambda: False, "nothing")
    ended = slurm.subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    began = time.monotonic()
    monkeypatch.setattr(slurm, "PATIENCE", 60)
    with pytest.raises(WorkflowError, match="in vain"):
        slurm.until(lambda: False, "a workflow that has ended", ended)
    assert time.monotonic() - began < 30
