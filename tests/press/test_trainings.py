"""What `make checkpoints` has left to train: nothing here, and of an empty folder everything, each once."""

import shutil

from click.testing import CliRunner

from icl.chapters.front_page import recipe as front
from icl.chapters.how_many_tasks import transformer as tasks
from icl.chapters.mlp_benefit import gpt_sweep
from icl.chapters.trained_transformers import recipes, weights
from press import trainings
from press.train_command import train


def test_the_repository_lacks_nothing():
    found = CliRunner().invoke(train, ["--missing"])
    assert found.exit_code == 0 and not found.stdout and "has every training's result" in found.stderr


def test_what_is_missing_is_said_as_the_command_takes_it(tmp_path, monkeypatch):
    kept = weights.FOLDER / weights.checkpoint_name("width_4_d3", 1)
    for module in (weights, tasks, front):
        monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(gpt_sweep, "RESULTS", tmp_path / "gpt_sweep.json")
    everything = [f"{name} --seed {seed}" for name, seed in recipes.SHIPPED]
    asked = trainings.missing()
    assert sorted(asked) == sorted([*everything, "gpt_sweep", "how_many_tasks", "front_page"])
    assert asked[0].startswith("pairs"), "what takes longest begins first"
    shutil.copy(kept, tmp_path)
    assert set(asked) - set(trainings.missing()) == {"width_4_d3 --seed 1"}
    for line in asked:
        told = train.make_context("train", line.split()).params
        assert f"{told['recipe']} --seed {told['seed']}".removesuffix(" --seed None") == line
