"""Signs of life: start, still running, done; the usual time is the last one, else the committed one."""

import time

import pytest

from press import progress


@pytest.fixture
def said(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "BUILD", tmp_path)
    monkeypatch.setattr(progress, "committed_provenance", lambda profile, chapter: {"seconds": 36.0})
    return []


def test_a_long_run_shows_that_it_lives_and_is_remembered(said):
    begun = time.monotonic()
    with progress.shown("ch", "quick", said.append, remember=True, every=0.05):
        while len(said) < 3 and time.monotonic() < begun + 30:  # a busy machine comes to it late
            time.sleep(0.01)
    took = time.monotonic() - begun
    seconds = range(int(took) + 2)
    assert said[0] == "ch: running, usually 36 s …"
    assert all(line in [f"ch: still running after {s} s, usually 36 s …" for s in seconds] for line in said[1:-1])
    assert said[-1] in [f"ch: done after {s} s, usually 36 s." for s in seconds]
    assert 2 <= len(said[1:-1]) <= took / 0.05
    assert 0.1 <= progress.usual_seconds("quick", "ch") <= took + 0.05  # kept to a tenth


def test_a_failure_and_other_parameters_are_not_remembered(said):
    with progress.shown("ch", "quick", said.append, remember=False):
        pass
    with pytest.raises(RuntimeError), progress.shown("ch", "quick", said.append, remember=True):
        raise RuntimeError
    assert progress.usual_seconds("quick", "ch") == 36.0 and not said[-1].startswith("ch: done")


def test_nothing_is_said_of_a_time_nobody_knows(said, monkeypatch):
    monkeypatch.setattr(progress, "committed_provenance", lambda profile, chapter: None)
    with progress.shown("ch", "quick", said.append, remember=False):
        pass
    assert said[0] == "ch: running …"
