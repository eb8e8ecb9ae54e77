"""The front page's training at a tiny size, and the shipped checkpoint: intact, replayable, as good as said."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from icl.chapters.front_page import law, recipe
from icl.models.encoder import EncoderConfig
from icl.settling import Plan, states
from icl.validation import InputError
from press import trainings
from press.cli import commands

PLAN = Plan(1e-2, 1e-2, stretch=20, most=2, decay=0.5)
TINY = recipe.Recipe(EncoderConfig(2, layers=2, heads=2, width=8), batch=8, queries=4, plan=PLAN)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(recipe, "SLICE", 10)
    monkeypatch.setattr(recipe, "FITTED", 20)
    monkeypatch.setattr(recipe, "TESTED", 200)


@pytest.fixture(scope="module")
def shipped():
    return recipe.load()


def test_a_training_is_the_same_again_and_goes_on_where_it_was(tmp_path):
    whole = recipe.train_checkpoint(TINY, 3, tmp_path / "a", state=tmp_path / "a.safetensors")
    state = tmp_path / "b.safetensors"
    assert recipe.train_checkpoint(TINY, 3, tmp_path / "b", state=state, minutes=1e-9) is None
    parts = recipe.train_checkpoint(TINY, 3, tmp_path / "b", state=state)
    assert whole.read_bytes() == parts.read_bytes() and len(states(state)) == 2
    other = recipe.train_checkpoint(TINY, 4, tmp_path / "a", state=tmp_path / "c.safetensors")
    assert other.name != whole.name and other.read_bytes() != whole.read_bytes()


def test_a_checkpoint_of_another_recipe_or_seed_is_refused(tmp_path):
    path = recipe.train_checkpoint(TINY, 0, tmp_path, state=tmp_path / "s.safetensors")
    found = recipe.load(tmp_path, TINY)
    assert found.record["steps"] == {"constant": 40, "all": 60} and found.model.read_out.weight.dtype == torch.float64
    with pytest.raises(InputError, match="is of another recipe or seed"):
        recipe.load(tmp_path, replace(TINY, batch=9))
    path.rename(tmp_path / "front_page-seed1.safetensors")
    with pytest.raises(InputError, match="is of another recipe or seed"):
        recipe.load(tmp_path, TINY, seed=1)


def test_the_command_trains_keeps_and_says_how_well(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "RECIPE", TINY)
    monkeypatch.setattr(trainings.weights, "STATES", tmp_path / "states")
    monkeypatch.setattr(recipe.load, "__defaults__", (tmp_path, TINY, 0))
    lines = [list(trainings.train_front_page(0, tmp_path)) for _ in range(2)]
    assert "above Bayes, who errs by" in lines[0][0] and "there already" in lines[1][0]
    assert not list((tmp_path / "states").glob("*.safetensors")), "nothing is left of what was under way"
    done = CliRunner().invoke(commands, ["train", "front_page", "--out", str(tmp_path)])
    assert done.exit_code == 0 and "there already" in done.output


def test_the_shipped_weights_are_small_and_were_settled(shipped):
    path = recipe.FOLDER / "front_page-seed0.safetensors"
    assert path.stat().st_size < 400_000
    record = shipped.record
    assert len(record["first_losses"]) == recipe.REPLAYED and record["curve"][-1] < 0.4 * record["curve"][0]
    assert record["last_stretches"]["flat"], "at constant rates, more steps had stopped to help"
    constant, decay = record["steps"]["constant"], recipe.RECIPE.plan.decay
    assert record["steps"]["all"] == constant + round(decay * constant)


def test_the_shipped_training_replays(shipped):
    """Its first losses come from the seed; another seed's are others."""
    found = recipe.replay(recipe.RECIPE, 0, 4)
    np.testing.assert_allclose(found, shipped.record["first_losses"][:4], rtol=1e-3)
    assert np.abs(recipe.replay(recipe.RECIPE, 1, 4) / found - 1).max() > 0.01


def test_the_recorded_risks_are_found_again_on_other_prompts(shipped, rng):
    """And the transformer beats one layer, as its later layers beat its earlier ones."""
    risks, again = shipped.record["risks"], recipe.measured(shipped, rng)
    for name, risk in risks.items():
        if name != "prompts":
            assert abs(risk["mean"] - again[name]["mean"]) < 5 * np.hypot(risk["stderr"], again[name]["stderr"]), name
    layers = shipped.model.config.layers
    assert risks["prompts"] == 24_000 and risks[f"layer_{layers}"]["mean"] < 0.1 * risks["one_layer"]["mean"]
    assert risks[f"layer_{layers}"]["mean"] < risks["layer_2"]["mean"] < risks["layer_1"]["mean"]
    excess = law.one_layer_risk() - risks["bayes"]["mean"]
    stderr = np.hypot(risks["one_layer"]["stderr"], risks["bayes"]["stderr"])
    assert abs(risks["one_layer"]["mean"] - excess) < 5 * stderr, "the exact risk of one layer"


def test_layers_are_read_by_their_read_outs_and_the_last_by_its_own_head(shipped, rng):
    prompts = law.draw(rng, 5, 4, 3)
    found = shipped.answers(prompts.X, prompts.y, prompts.x_query)
    X, y, asked = map(torch.from_numpy, (prompts.X, prompts.y, prompts.x_query))
    np.testing.assert_array_equal(found[-1], shipped.model(X, y, asked).detach().numpy())
    first = shipped.model.states(X, y, asked)[1].detach().numpy()
    expected = first @ shipped.readouts.weights[0] + shipped.readouts.intercepts[0]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
