"""Chapter 7's protocols on models whose answers are known: which states, on which prompts, with which error."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl import probes
from icl.chapters.trained_transformers import probing, recipes, rivals, sequence_laws, study, weights
from icl.chapters.trained_transformers.sequence_laws import Curriculum
from icl.models.decoder import DecoderConfig
from icl.models.encoder import EncoderConfig
from icl.training import Schedule

DECODER = recipes.Recipe(
    "tiny", DecoderConfig(3, 5, 2, 1, 8), n=4, batch=4, curriculum=Curriculum((1, 3, 1), (3, 5, 1), 20)
)


class Noise(torch.nn.Module):
    """States that know nothing of the labels, from the prompts' own covariates."""

    norm = torch.nn.Identity()

    def read_out(self, states):
        return torch.zeros(*states.shape[:-1], 1)

    def states(self, X, y, queries):
        return [torch.sin(1000 * queries @ torch.linspace(1, 9, 60).reshape(2, 30))]


def test_probes_are_tested_on_other_prompts_than_they_are_fitted_on(rng):
    recipe = recipes.Recipe("tiny", EncoderConfig(2), n=3, queries=2)
    train, test = (probing.Queries.draw(recipe, 30, rng) for _ in range(2))
    found = probing.probe(Noise(), train, test)
    assert found.raw.shape == (1, 30, 2)
    assert (found.raw**2).mean() > 1.3 * (found.own**2).mean(), "60 targets, 30 weights: it fits only what it has seen"


def test_published_probes_take_the_last_layer_behind_the_layer_norm():
    raw, normed = np.zeros((3, 2, 2)), np.ones((3, 2, 2))
    found = probing.Probed(raw, normed, np.zeros((2, 2))).published
    assert found[:, 0, 0].tolist() == [0, 0, 1]


def test_a_decoder_s_states_lead_to_its_answers(rng, monkeypatch):
    monkeypatch.setattr(probing, "AT_ONCE", 4)  # of six sequences
    model = DECODER.build(rng).eval()
    model.read_out.bias.data.fill_(0.3)
    test = probing.Sequences.draw(DECODER, 6, rng)
    states = test.states(model)
    assert states.shape == (3, 6, 4, 8) and probing.outputs(model, states).shape == test.answers.shape == (6, 4)
    with torch.no_grad():
        answers = model(torch.from_numpy(test.X).float(), torch.from_numpy(test.y).float())[:, 1:]
    np.testing.assert_allclose(answers.numpy(), probing.outputs(model, states), rtol=1e-4, atol=1e-6)


def test_positions_matter_to_a_decoder(rng):
    model = DECODER.build(rng)
    X, y = torch.ones(1, 5, 3), torch.zeros(1, 5)
    with torch.no_grad():
        model.position[4] = torch.linspace(-1, 1, 8)
        answers = model(X, y)[0]
    assert abs(answers[2] - answers[1]) > 1e-3, "equal tokens, told apart by where they stand"


def test_the_curriculum_is_for_training_only(rng):
    model = DECODER.build(rng)
    assert DECODER.squared_errors(model, rng, 2, 0).shape == (2, 3)
    assert DECODER.squared_errors(model, rng, 2).shape == (2, 5)
    assert DECODER.squared_errors(model, rng, 2, 40).shape == (2, 5)


def test_trained_within_the_curriculum_and_tested_beyond_it(rng, tmp_path, monkeypatch):
    """Its first steps are on short sequences, the test of the trained model is on the longest."""
    shapes, forward = [], type(DECODER.build(rng)).forward
    monkeypatch.setattr(
        type(DECODER.build(rng)), "forward", lambda self, X, y: shapes.append(X.shape[1]) or forward(self, X, y)
    )
    monkeypatch.setattr(weights, "TEST_PROMPTS", 512)
    weights.train_recipe(replace(DECODER, schedule=Schedule(2, 1e-3)), 0, tmp_path)
    assert shapes == [3, 3, 5]


def test_early_in_the_curriculum_covariates_are_missing(rng, monkeypatch):
    seen = []
    model = DECODER.build(rng)
    monkeypatch.setattr(type(model), "forward", lambda self, X, y: seen.append(X) or y)
    DECODER.squared_errors(model, rng, 7, 0)
    assert (seen[0][..., 0] != 0).all() and (seen[0][..., 1:] == 0).all()


def test_all_lengths_are_trained(monkeypatch):
    rng = np.random.default_rng(1)
    recipe = recipes.Recipe("tiny", EncoderConfig(2, 1, 1, 4), n=3, queries=2, all_lengths=True)
    model, lengths = recipe.build(rng), []
    monkeypatch.setattr(type(model), "forward", lambda self, X, y, asked: lengths.append(X.shape[1]) or asked[..., 0])
    for _ in range(60):
        recipe.squared_errors(model, rng, 2)
    assert set(lengths) == {1, 2, 3}


def test_tests_are_drawn_from_another_stream_than_training():
    training, test = weights.generators(4)
    assert training.standard_normal() != test.standard_normal()


@pytest.mark.parametrize("name, seed", [pair for pair in recipes.SHIPPED if pair not in (("base", 0), ("pairs", 0))])
def test_every_shipped_training_replays(name, seed, monkeypatch):
    """Weights, laws, lengths and noise are all in the first losses; the second one sees the first step."""
    count = 2 if name.startswith("pairs") else 4  # their steps take a second
    monkeypatch.setattr(weights, "REPLAYED", count)
    recipe = recipes.RECIPES[name]
    _, record = weights.load_model(weights.FOLDER, recipe, seed)
    near = 1e-2 if recipe.products else 1e-3
    np.testing.assert_allclose(weights.replay(exact(recipe), seed), record["first_losses"][:count], rtol=near)


def test_the_published_size_begins_as_it_was_begun():
    """Its first loss; a step takes half a minute on some processors, and smaller ones show above what a step does."""
    recipe = recipes.RECIPES["pairs"]
    _, record = weights.load_model(weights.FOLDER, recipe, 0)
    _, loss, _ = weights.begin(exact(recipe), 0)
    with torch.no_grad():
        assert loss(0).item() == pytest.approx(record["first_losses"][0], rel=1e-2)


def exact(recipe):
    """Without bfloat16, which rounds as the machine has it, if it has it."""
    return replace(recipe, products="")


def test_noise_is_held_against_neither_side(rng):
    recipe = replace(recipes.RECIPES["base"], law="noisy")
    test = probing.Queries.draw(recipe, 4000, rng)
    second = probing.newton(test)
    noise, extra = sequence_laws.NOISE**2, rng.standard_normal(test.answers.shape)
    worse = second.residuals[[3]] + np.sqrt(noise) * extra  # twice the noise
    found = [probing.match([worse], second, rng, logarithmic=False, noise=part).steps[0, 0] for part in (0, noise)]
    by_hand = [(second.residuals**2).mean((1, 2)) - part for part in (0, noise)]
    expected = [probes.matched_steps([(worse**2).mean() - part], second.steps, curve) for part, curve in
                zip((0, noise), by_hand, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-9)


def test_seeds_that_differ_widen_the_error():
    steps = np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    draws = np.repeat(steps[None], 9, axis=0)  # bootstrap samples without spread: what is left is the seeds'
    found = probing.Matching(steps, draws).statistic(lambda found: found.mean(-1))
    assert found.mean == 3 and found.stderr == pytest.approx(1)  # 2, 4: standard deviation √2, over √2
    one = probing.Matching(steps[:1], draws[:, :1]).statistic(lambda found: found.mean(-1))
    assert one.stderr == 0


def test_levels_and_advantages_by_hand():
    table = lambda *rows: np.array(rows)
    first = table([0.1, 0.2], [0.9, 0.3], [0.5, 0.6])
    found = probing.Similarity(np.arange(2), first, np.stack([first] * 3))
    second = first - np.array([[0.0], [0.2], [0.2]])  # layer 0 does not count
    rival = probing.Similarity(np.arange(2), second, np.stack([second] * 3))
    assert study.least_level([found], 1).mean == pytest.approx(0.6)
    assert study.advantage([found], [rival], 1).mean == pytest.approx(0.2)
    np.testing.assert_array_equal(found.best()[0], [1, 0, 1])


def test_steps_of_growth():
    steps = np.array([[9.0, 9.0, 1.0, 2.0, 4.0]])  # layers 0 and 1 do not count
    assert study.growth(steps) == pytest.approx(1.5)
    assert study.exponentiality(steps) == pytest.approx(1) and study.preference(steps) == pytest.approx(1 - 27 / 28)


def test_ratios_and_noise_levels(rng, monkeypatch):
    above, below = np.full((50, 3), 2.0), np.ones((50, 3))
    assert rivals.ratio(above, below, rng).mean == 4
    runs = rivals.ratio(np.stack([above, 2 * above]), below, rng)
    assert runs.mean == 10 and runs.stderr == pytest.approx(6)  # 4 and 16; every prompt alike
    monkeypatch.setattr(sequence_laws, "NOISE", 1.0)
    recipe = recipes.RECIPES["noisy"]
    test = probing.Queries.draw(recipe, 3000, rng)
    own = rivals.prefixes.least_squares(test.prefixes) - test.answers
    found = study.Study(recipe, test, [probing.Probed(own[None], own[None], own)], 1)
    bayes, least = rivals.noise_levels(found)
    # least squares at n = 10, d = 5: sigma² d / (n − d − 1) above the noise
    assert 0 < bayes < 0.7 * least and least == pytest.approx(5 / 4, rel=0.3)
